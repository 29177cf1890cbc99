"""The task's half of the sink: a file of rows for each partition, under the staging folder of the attempt."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

import orjson

from ingest.api import (
    Event,
    IngestError,
    MappingError,
    SinkResult,
    SinkWriter,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.formats.times import moment
from sinks.archive.columns import PLACE, Column, Row
from sinks.archive.layout import NO_TIME, ArchiveFormat, PartitionRule
from sinks.archive.row_files import RowFile, new_row_file
from sinks.files.root import Root, root_errors

_ROWS = 16_384
"""Of a row group; a task has one in memory for each partition."""
_BYTES = 32 << 20
"""Of all rows in memory."""
_TIME = [column.name for column in PLACE].index("_time")
_HOUR_MS = 3_600_000
"""Patterns of partitions have nothing shorter than an hour."""
_MOST_HOURS = 10_000
"""Cached partitions; a bound, since times come from the data."""


class EventTimes(NamedTuple):
    """
    The event times that an archive accepts.

    Attributes:
        late_ms: an event that is older than this before the batch time fails.
        early_ms: an event that is newer than this after the batch time fails.
        keeps_no_time: events without a time go to a partition of their own; else they fail.
    """

    late_ms: int
    early_ms: int
    keeps_no_time: bool


class StagedPart(NamedTuple):
    """
    A file of rows that a task has staged.

    Attributes:
        partition: the folder of its partition.
        path: below the root.
    """

    partition: str
    path: str


class _Pending:
    """Rows of a partition that are in memory, and about their bytes."""

    __slots__ = ("rows", "size")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.size = 0


class _OpenPart:
    """The file of a partition that is being written."""

    def __init__(self, path: str, file: BinaryIO, rows: RowFile, opened: ExitStack) -> None:
        self.path = path
        self.file = file
        self.rows = rows
        self.opened = opened


class ArchiveWriter(SinkWriter):
    """
    Writes the rows of a task.

    Args:
        root: of the table.
        rule: names the partitions.
        columns: in the order of the values of a row.
        row_of: makes the row of an event, and tells about how many bytes it takes.
        times: which events fail because of their times.
    """

    def __init__(
        self,
        root: Root,
        rule: PartitionRule,
        file_format: ArchiveFormat,
        columns: Sequence[Column],
        row_of: Callable[[Event], tuple[Row, int]],
        times: EventTimes,
    ) -> None:
        self._root = root
        self._rule = rule
        self._format = file_format
        self._columns = columns
        self._row_of = row_of
        self._times = times
        self._no_time = rule.folder_of(NO_TIME)
        self._folders: dict[int, str] = {}
        self._counts = WriteCounts()
        self._folder = ""
        self._task = ""
        self._oldest_ms = self._newest_ms = 0
        self._pending: dict[str, _Pending] = {}
        self._bytes = 0
        self._parts: dict[str, _OpenPart] = {}

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start the files of a task; those of an abandoned flush cycle are discarded."""
        self.close()
        self._counts = counts
        self._folder, self._task = prepared.decode(), spec.task_id
        self._oldest_ms = max(1, spec.batch.time_ms - self._times.late_ms)  # before it is no event time
        self._newest_ms = spec.batch.time_ms + self._times.early_ms

    def write(self, event: Event) -> None:
        """Buffer the row of an event."""
        time_ms = event.timestamp_ms
        folder = self._folders.get(time_ms // _HOUR_MS) if self._oldest_ms <= time_ms <= self._newest_ms else None
        if folder is None:
            folder = self._folder_of(time_ms)
        row, size = self._row_of(event)
        if folder == self._no_time:
            row = (*row[:_TIME], None, *row[_TIME + 1 :])
        pending = self._pending.get(folder)
        if pending is None:
            pending = self._pending[folder] = _Pending()
        pending.rows.append(row)
        pending.size += size
        self._bytes += size
        if len(pending.rows) >= _ROWS:
            self._write_rows(folder)
        elif self._bytes >= _BYTES:
            self._write_all()

    def flush(self) -> SinkResult:
        """Make the files durable, and report them."""
        self._write_all()
        staged = []
        for folder, part in sorted(self._parts.items()):
            with _to_disk(self._root):
                part.rows.close()
                self._counts.bytes += part.file.tell()
                part.opened.close()
            staged.append(StagedPart(folder, part.path))
        self._parts = {}
        return SinkResult(orjson.dumps([list(part) for part in staged]))

    def close(self) -> None:
        """Discard what is not flushed."""
        parts, self._parts = self._parts, {}
        self._pending, self._bytes = {}, 0
        for part in parts.values():
            with contextlib.suppress(Exception):  # the files are discarded anyway
                part.rows.close()
            with contextlib.suppress(_DiscardedError, OSError):
                part.opened.__exit__(_DiscardedError, _DiscardedError(), None)

    def _folder_of(self, time_ms: int) -> str:
        if time_ms <= 0:
            return self._without_time(time_ms)
        if time_ms < self._oldest_ms:
            raise MappingError(
                f"the time of the event, {moment(time_ms)}, is before the earliest allowed, {moment(self._oldest_ms)}",
                code="late_event",
                hint="raise `late` of the sink, then replay the dead letter",
            )
        hour = time_ms // _HOUR_MS
        folder = self._folders.get(hour)
        if folder is None:
            try:
                folder = self._rule.folder_of(self._rule.value_of(time_ms))
            except (ValueError, OverflowError, OSError):
                return self._without_time(time_ms)
            if len(self._folders) >= _MOST_HOURS:
                self._folders.clear()
            self._folders[hour] = folder
        if time_ms > self._newest_ms:
            raise MappingError(
                f"the time of the event, {moment(time_ms)}, is after the latest allowed, {moment(self._newest_ms)}",
                code="early_event",
                hint="raise `early` of the sink, then replay the dead letter",
            )
        return folder

    def _without_time(self, time_ms: int) -> str:
        if self._times.keeps_no_time:
            return self._no_time
        raise MappingError(f"{time_ms} ms is no event time that names a partition", code="no_event_time")

    def _write_all(self) -> None:
        for folder in list(self._pending):
            self._write_rows(folder)

    def _write_rows(self, folder: str) -> None:
        pending = self._pending.pop(folder)
        rows = pending.rows
        self._bytes -= pending.size
        with _to_disk(self._root):
            part = self._parts.get(folder)
            if part is None:
                part = self._parts[folder] = self._open(folder)
            part.rows.write(rows)
        self._counts.write_calls += 1
        self._counts.rows_sent += len(rows)
        self._counts.cells += len(rows) * len(self._columns)

    def _open(self, folder: str) -> _OpenPart:
        path = f"{self._folder}/{folder}/{self._task}.{self._format.suffix}"
        self._root.make_folder(f"{self._folder}/{folder}")
        opened = ExitStack()
        file = opened.enter_context(self._root.new_file(path))
        return _OpenPart(path, file, new_row_file(file, self._format, self._columns), opened)


class _DiscardedError(Exception):
    """Ends the block of a file, so it does not appear."""


@contextlib.contextmanager
def _to_disk(root: Root) -> Iterator[None]:
    """
    Report errors of the file system with their disposition.

    Any other, such as the time limit of an event during a write, leaves an incomplete file: the batch runs again.
    """
    try:
        with root_errors(root):
            yield
    except (KeyboardInterrupt, IngestError):
        raise
    except BaseException as error:
        raise StoreUnavailableError(
            f'a file of the archive in "{root}" was not written: {type(error).__name__}: {error}',
            hint="check that the file system is fast enough; the batch runs again",
        ) from error
