"""Archives that a test writes without Spark."""

import gzip
import itertools
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq

from ingest.api import Batch, Event, Origin, TaskSpec, WriteCounts
from ingest.api.source import DEFAULT_EVENT_BYTES
from sinks.archive.columns import columns_of, row_maker
from sinks.archive.committing import ArchiveCommitter
from sinks.archive.layout import ArchiveFormat, PartitionRule
from sinks.archive.partition import Partition, partitions
from sinks.archive.sink import ArchiveSettings
from sinks.archive.task_writer import ArchiveWriter
from sinks.files.root import Root
from tests.support.clock import Clock
from tests.support.crashing_root import ReplaceableRoot

DAY_MS = int(datetime(2015, 12, 10, tzinfo=UTC).timestamp() * 1000)
"""The partition 20151210 begins."""
START_S = 1449784608
"""In it."""
WRITER = "p+archive"
SETTINGS = ArchiveSettings.model_validate({"root": "unused", "table": "customer"})

_attempts = itertools.count()


def event(number: int, *, time_ms: int = DAY_MS + 1) -> Event:
    """An event of a topic, with its number as offset and body."""
    return Event(b"%d" % number, timestamp_ms=time_ms, origin=Origin("t", 0, number))


class Writer:
    """
    The sink after one start of its pipeline.

    Args:
        root: of the table.
        now_s: of its clock.

    Attributes:
        driver_root: the root as the committer has it; that of the tasks is another one.
    """

    def __init__(
        self, root: Root, now_s: int = START_S, *, settings: ArchiveSettings = SETTINGS, is_replay: bool = False
    ) -> None:
        self.root = root
        self.settings = settings
        self.clock = Clock(now_s * 1000)
        suffix = settings.format.suffix
        self.driver_root = ReplaceableRoot(root)
        self.committer = ArchiveCommitter(
            self.driver_root,
            WRITER + "+replay" * is_replay,
            suffix,
            is_replay=is_replay,
            clock_ms=self.clock,
            poll_s=3600,
        )
        self.committer.recover()

    def flush(self, time_ms: int, *parts: Sequence[Event], name: str = "") -> tuple[Batch, list[bytes]]:
        """Run the tasks of a micro-batch; its name is its time, or that of its first run."""
        batch = Batch(name or str(time_ms), time_ms, f"attempt-{next(_attempts)}")
        prepared = self.committer.prepare(batch, ())
        results = []
        for number, part in enumerate(parts):
            writer = self.task_writer()
            writer.begin(TaskSpec(batch, task_id=f"{number}-{next(_attempts)}"), prepared, WriteCounts())
            for each in part:
                writer.write(each)
            results.append(writer.flush().payload)
        return batch, results

    def run(self, time_ms: int, *parts: Sequence[Event]) -> None:
        """Run a micro-batch up to its acknowledgement."""
        self.committer.commit(*self.flush(time_ms, *parts))

    def task_writer(self) -> ArchiveWriter:
        """The writer of a worker process."""
        settings = self.settings
        return ArchiveWriter(
            self.root,
            settings.rule,
            settings.format,
            columns_of(settings.columns),
            row_maker(settings.columns),
            settings.times,
            DEFAULT_EVENT_BYTES,
        )


def files_of(root: Root, partition: Partition, version_id: int) -> list[str]:
    """Names of the files of rows in a version."""
    return [entry.name for entry in root.entries(partition.path(version_id)) if entry.name.startswith("part-")]


def rows_in(root: Root, partition: Partition, version_id: int) -> list[dict[str, Any]]:
    """The rows of a version."""
    found: list[dict[str, Any]] = []
    for name in files_of(root, partition, version_id):
        with root.open(partition.path(version_id, name)) as file:
            if name.endswith(ArchiveFormat.PARQUET.suffix):
                found += pq.read_table(file).to_pylist()
            else:
                found += [json.loads(line) for line in gzip.decompress(file.read()).splitlines()]
    return found


def bodies_in(root: Root) -> list[bytes]:
    """The column `body`, as text, of all rows that readers see."""
    pointed = [(each, each.current()) for each in partitions(root, PartitionRule()).values()]
    rows = [row for each, current in pointed if current is not None for row in rows_in(root, each, current)]
    return [row["body"].encode() for row in rows]


def offsets_in(root: Root, partition: Partition, version_id: int) -> list[int]:
    """The offsets of the rows of a version, sorted."""
    return sorted(row["_offset"] for row in rows_in(root, partition, version_id))


def visible(root: Root) -> dict[str, list[int]]:
    """Partition -> the offsets that readers see now."""
    found = {}
    for value, partition in partitions(root, PartitionRule()).items():
        current = partition.current()
        if current is not None:
            found[value] = offsets_in(root, partition, current)
    return found
