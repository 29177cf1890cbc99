"""
The batch log of a pipeline: which offsets each durable micro-batch contained, and at which time it wrote.

A checkpoint retains its last batches only, and without their first offsets. The log is kept outside of the checkpoint,
so that batches can be replayed after the checkpoint was replaced.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson

from ingest.api import IntegrityError, TopicPartition
from ingest.durable import StatePath, file_errors
from ingest.durable.append_log import AppendLog, lines_of

FORMAT = b"attr2hbase batches 1"
"""The first line of each file."""
DAY_MS = 86_400_000
_SUFFIX = ".batches"

OffsetRanges = Mapping[TopicPartition, tuple[int, int]]
"""(topic, partition) -> first offset, and the offset after the last one."""


def offsets_in(ranges: OffsetRanges) -> int:
    """Number of offsets; that of the records may be smaller, as after a transaction or a compaction."""
    return sum(end - begin for begin, end in ranges.values())


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """
    A durable micro-batch, which may not be acknowledged yet.

    Attributes:
        number: Spark's, under the checkpoint of that time; a new checkpoint starts at 0 again.
        time_ms: the batch time, which identifies the batch; it rises with every batch.
        ranges: of the partitions that had records.
        topic_ids: topic -> its id; a topic is missing if its id was unknown.
        updated: tables with deferred updates that it wrote.
    """

    number: int
    time_ms: int
    ranges: OffsetRanges
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    updated: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        """The batch as a line of the log."""
        offsets: dict[str, dict[str, tuple[int, int]]] = {}
        for (topic, partition), bounds in self.ranges.items():
            offsets.setdefault(topic, {})[str(partition)] = bounds
        content = {"batch": self.number, "time": self.time_ms, "offsets": offsets, "ids": dict(self.topic_ids)}
        return orjson.dumps(content | ({"updated": self.updated} if self.updated else {}))

    @classmethod
    def from_json(cls, line: bytes) -> "LoggedBatch":
        """The batch of a line that `to_json` wrote."""
        content = orjson.loads(line)
        ranges = {
            (topic, int(partition)): (begin, end)
            for topic, partitions in content["offsets"].items()
            for partition, (begin, end) in partitions.items()
        }
        return cls(content["batch"], content["time"], ranges, content["ids"], tuple(content.get("updated", ())))


class BatchLog:
    """
    The batch log in a folder: one file for each day of batch times, in UTC, with one line for each batch.

    One process appends, the one that holds the checkpoint's lock; any process may read meanwhile. A batch that ran
    again has two lines of the same time, and the last one counts. On a cluster, a driver that was suspended may append
    its line late, after those of later batches.

    Args:
        folder: created by the first `append`.
        keep_ms: minimum age at which a file is removed, by the newest batch time.
    """

    def __init__(self, folder: StatePath, keep_ms: int = 7 * DAY_MS) -> None:
        self._folder = folder
        self._keep_ms = keep_ms
        self._file: AppendLog | None = None

    def append(self, batch: LoggedBatch) -> None:
        """
        Log a batch; durable when this returns. The first batch of a day also removes old files.

        Raises:
            StoreUnavailableError: not possible now; the caller repeats the call.
            IntegrityError: the disk fails, or the file has a newer format.
        """
        path = self._folder / f"{_day(batch.time_ms)}{_SUFFIX}"
        if self._file is None or self._file.path != path:
            self.close()
            first = next(lines_of(path), None)
            if first is not None:
                _check_format(path, first)
            self._remove_before(batch.time_ms - self._keep_ms)
            file = AppendLog(path)
            if first is None:
                file.append(FORMAT)
            self._file = file
        self._file.append(batch.to_json())

    def batches(self) -> Iterator[LoggedBatch]:
        """
        All batches by their time, each once.

        Raises:
            IntegrityError: a file is damaged or has another format.
            StoreUnavailableError: a file cannot be read now.
        """
        for path in self._files():
            yield from _batches_of(path)

    def newest(self) -> LoggedBatch | None:
        """
        The newest batch; None for an empty log.

        Raises:
            IntegrityError: a file is damaged or has another format.
            StoreUnavailableError: a file cannot be read now.
        """
        for path in reversed(self._files()):
            newest = deque(_batches_of(path), maxlen=1)
            if newest:
                return newest[0]
        return None

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _remove_before(self, time_ms: int) -> None:
        """Remove the files of the days that ended before a time."""
        oldest = _day(time_ms)
        for path in self._files():
            if path.stem < oldest:
                with file_errors(path):
                    path.unlink(missing_ok=True)

    def _files(self) -> list[StatePath]:
        with file_errors(self._folder):
            try:
                return sorted(path for path in self._folder.iterdir() if path.suffix == _SUFFIX)
            except FileNotFoundError:
                return []


def _batches_of(path: StatePath) -> Iterator[LoggedBatch]:
    """The batches of a file by their time, each once."""
    lines = lines_of(path)
    _check_format(path, next(lines, FORMAT))
    # two drivers that start a file both write its first line; lines take less memory than batches
    newest = {orjson.loads(line)["time"]: line for line in lines if line != FORMAT}
    for _, line in sorted(newest.items()):
        yield LoggedBatch.from_json(line)


def _check_format(path: StatePath, first: bytes) -> None:
    if first != FORMAT:
        raise IntegrityError(
            f'the batch log "{path}" has the format "{first.decode(errors="replace")}", '
            f'this version reads "{FORMAT.decode()}"',
            hint="use the version of attr2hbase that wrote it",
        )


def _day(time_ms: int) -> str:
    return datetime.fromtimestamp(max(time_ms, 0) / 1000, UTC).strftime("%Y-%m-%d")
