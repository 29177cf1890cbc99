"""
What a pipeline has acknowledged, read from its checkpoint without the product's own code: the tests' second opinion.

Spark's files: `offsets/N` is planned, `commits/N` acknowledged; ours: `times/N`.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Batch:
    """
    One micro-batch.

    Attributes:
        starts, ends: partition -> first offset, offset after the last.
    """

    number: int
    time_ms: int
    starts: dict[int, int]
    ends: dict[int, int]


class CheckpointReader:
    """The checkpoint folder of one pipeline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plans(self) -> list[int]:
        """Numbers of batches that were planned."""
        return self._numbers("offsets")

    def commits(self) -> list[int]:
        """Numbers of batches that were acknowledged."""
        return self._numbers("commits")

    def is_inside_a_batch(self) -> bool:
        """Whether a batch has begun and not been acknowledged; Spark may have planned one that has not begun."""
        planned = max(self.plans(), default=-1)
        return planned > max(self.commits(), default=-1) and planned in self._numbers("times")

    def ends(self, number: int, topic: str) -> dict[int, int]:
        """Partition -> offset after the last of a batch."""
        lines = (self.folder / "offsets" / str(number)).read_text().split("\n")
        return {int(partition): offset for partition, offset in json.loads(lines[2]).get(topic, {}).items()}

    def acknowledged(self, topic: str) -> dict[int, int]:
        """Partition -> offset before which everything is acknowledged."""
        commits = self.commits()
        return self.ends(commits[-1], topic) if commits else {}

    def batches(self, topic: str, start: int = 0) -> Iterator[Batch]:
        """
        CheckpointReader batches in order; Spark must not have thrown any away.

        Args:
            topic: a topic.
            start: the offset each partition begins with.
        """
        before: dict[int, int] = {}
        for number in self.commits():
            ends = self.ends(number, topic)
            starts = {partition: before.get(partition, start) for partition in ends}
            yield Batch(number, self.time_ms(number), starts, ends)
            before = ends

    def time_ms(self, number: int) -> int:
        """The time of a batch."""
        return int((self.folder / "times" / str(number)).read_text())

    def set_time(self, number: int, time_ms: int) -> None:
        """Choose the time of a batch before it runs."""
        path = self.folder / "times" / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(time_ms))

    def forget_commit(self) -> int:
        """Take back the newest acknowledgement, as if the process had died just before it; the batch's number."""
        number = self.commits()[-1]
        for name in (str(number), f".{number}.crc"):
            (self.folder / "commits" / name).unlink(missing_ok=True)
        return number

    def remove(self) -> None:
        """Lose the whole checkpoint."""
        shutil.rmtree(self.folder)

    def _numbers(self, name: str) -> list[int]:
        folder = self.folder / name
        return (
            sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()) if folder.exists() else []
        )
