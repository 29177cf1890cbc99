"""
The acknowledged micro-batches of a pipeline, read from its checkpoint without the product's code.

Files of Spark: `offsets/N` for planned, `commits/N` for acknowledged batches. File of attr2hbase: `times/N`.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Batch:
    """
    One micro-batch.

    Attributes:
        starts: partition -> first offset.
        ends: partition -> offset after the last record.
    """

    number: int
    time_ms: int
    starts: dict[int, int]
    ends: dict[int, int]


def acknowledge(folder: Path, number: int, ends: Mapping[str, Mapping[int, int]]) -> None:
    """Write Spark's files of an acknowledged batch; topic -> partition -> offset after the last record."""
    for name, text in (("offsets", f"v1\n{{}}\n{json.dumps(ends)}"), ("commits", "v1\n{}")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / str(number)).write_text(text)


class CheckpointReader:
    """Reads the checkpoint folder of one pipeline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plans(self) -> list[int]:
        """Numbers of planned batches."""
        return self._numbers("offsets")

    def commits(self) -> list[int]:
        """Numbers of acknowledged batches."""
        return self._numbers("commits")

    def is_inside_a_batch(self) -> bool:
        """Whether a batch has started and is not acknowledged; a planned batch may not have started yet."""
        planned = max(self.plans(), default=-1)
        return planned > max(self.commits(), default=-1) and planned in self._numbers("times")

    def ends(self, number: int, topic: str) -> dict[int, int]:
        """Partition -> offset after the last record of a batch."""
        lines = (self.folder / "offsets" / str(number)).read_text().split("\n")
        return {int(partition): offset for partition, offset in json.loads(lines[2]).get(topic, {}).items()}

    def acknowledged(self, topic: str) -> dict[int, int]:
        """Partition -> offset below which everything is acknowledged."""
        commits = self.commits()
        return self.ends(commits[-1], topic) if commits else {}

    def batches(self, topic: str, start: int = 0) -> Iterator[Batch]:
        """
        Acknowledged batches in order; Spark must not have deleted any.

        Args:
            topic: name of the topic.
            start: first offset of each partition.
        """
        before: dict[int, int] = {}
        for number in self.commits():
            ends = self.ends(number, topic)
            starts = {partition: before.get(partition, start) for partition in ends}
            yield Batch(number, self.time_ms(number), starts, ends)
            before = ends

    def time_ms(self, number: int) -> int:
        """Time of a batch."""
        return int((self.folder / "times" / str(number)).read_text())

    def start_after(self, time_ms: int) -> None:
        """Let the times of the next batches be after this one."""
        path = self.folder / "times" / "floor"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(time_ms))

    def forget_plan(self, number: int) -> None:
        """Delete the plan of a batch that is not acknowledged, as a power cut may do."""
        for name in (str(number), f".{number}.crc"):
            (self.folder / "offsets" / name).unlink(missing_ok=True)

    def set_time(self, number: int, time_ms: int) -> None:
        """Set the time of a batch."""
        path = self.folder / "times" / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(time_ms))

    def forget_commit(self) -> int:
        """Delete the newest commit, as if the process was killed before it; returns the number of the batch."""
        number = self.commits()[-1]
        for name in (str(number), f".{number}.crc"):
            (self.folder / "commits" / name).unlink(missing_ok=True)
        return number

    def remove(self) -> None:
        """Delete the checkpoint."""
        shutil.rmtree(self.folder)

    def _numbers(self, name: str) -> list[int]:
        folder = self.folder / name
        return (
            sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()) if folder.exists() else []
        )
