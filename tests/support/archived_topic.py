"""A topic whose records a service archives by day, and what must be in the archive."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from kafka import TopicPartition

from sinks.archive.layout import PartitionRule
from sinks.archive.partition import Partition
from sinks.files.opening import open_root
from tests.support.archives import DAY_MS, rows_in
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service

PIPELINE, TABLE = "logs", "customer"
FIRST_DAY, SECOND_DAY = "20151210", "20151211"
_DAY = 24 * 3_600_000
_CHUNK = 20_000


class ArchivedTopic:
    """
    A topic of two partitions with records of several days, in turns.

    Args:
        kafka: that has it.
        folder: of the pipeline file.
        days: number of days.
        archive: root of the archive; a folder beside the file by default.

    Attributes:
        count: number of records that were produced.
    """

    def __init__(self, kafka: Kafka, folder: Path, *, days: int = 2, archive: str = "") -> None:
        self.kafka = kafka
        self.days = days
        self.topic = kafka.create_topic("archived", partitions=2)
        self.group = unique("group")
        self.folder = folder
        self.count = 0
        self._archive = archive or str(folder / "archive")
        self.root = open_root(f"{self._archive}/{TABLE}")

    def content(self, label: str = "old", **spark: Any) -> dict[str, Any]:
        """The pipeline file; `label` is in the rows that it writes."""
        columns = {"name": "%{body}", "label": label}
        return {
            "spark": spark,
            "pipelines": {
                PIPELINE: {
                    "source": {"kafka": {"brokers": self.kafka.brokers, "topics": [self.topic], "group": self.group}},
                    "sinks": [
                        {"archive": {"root": self._archive, "table": TABLE, "late": "36500d", "columns": columns}}
                    ],
                }
            },
        }

    def produce(self, count: int) -> None:
        """More records; number i is of day i % days, in partition i // days % 2."""
        for first in range(self.count, self.count + count, _CHUNK):
            numbers = range(first, min(first + _CHUNK, self.count + count))
            self.kafka.produce(self.topic, [self._given(number) for number in numbers])
        self.count += count

    def _given(self, number: int) -> Given:
        day, partition = number % self.days, number // self.days % 2
        return Given(str(number), partition=partition, timestamp_ms=DAY_MS + day * _DAY + number)

    def ends(self) -> dict[int, int]:
        """Partition -> offset after the last record."""
        return self.kafka.ends(self.topic)

    def delete_before(self, offset: int) -> None:
        """Delete the first records of each partition, as Kafka's retention does."""
        with self.kafka.admin() as admin:
            admin.delete_records({TopicPartition(self.topic, partition): offset for partition in (0, 1)})

    def numbers(self, day: int) -> list[int]:
        """The records of a day."""
        return list(range(day, self.count, self.days))

    def value(self, day: int) -> str:
        """The value of the partition of a day."""
        return PartitionRule().value_of(DAY_MS + day * _DAY)

    def partition(self, day: int) -> Partition:
        """The partition of a day."""
        return Partition(self.root, f"dt={self.value(day)}")

    def labels(self, day: int) -> Counter[str]:
        """Label -> number of rows that readers see."""
        return Counter(row["label"] for row in self.rows(day))

    def rows(self, day: int) -> list[dict[str, Any]]:
        """The rows that readers see."""
        partition = self.partition(day)
        current = partition.current()
        return [] if current is None else rows_in(self.root, partition, current)

    def assert_complete(self) -> None:
        """Each record is in the current version of its day, once."""
        for day in range(self.days):
            found = sorted(int(row["name"]) for row in self.rows(day))
            assert found == self.numbers(day), _difference(found, self.numbers(day))


def rerun(service: Service, day: str, *options: str, code: int = 0, command: str = "archive rerun") -> dict[str, Any]:
    """The JSON output of a re-run; {"error": …} if it fails as expected."""
    done = service.ingest(command, TABLE, "--dt", day, "--output", "json", *options, timeout_s=900.0)
    assert done.returncode == code, done.stdout + done.stderr
    content: dict[str, Any] = json.loads(done.stdout) if code == 0 else {"error": done.stderr}
    return content


def _difference(found: list[int], expected: list[int]) -> str:
    counts = Counter(found)
    counts.subtract(expected)
    return f"more or fewer than once: {dict(list((+counts).items())[:5])}, {dict(list((-counts).items())[:5])}"
