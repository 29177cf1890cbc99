"""The task's half of the sink: a file of rows for each partition, under the staging folder of the attempt."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from ingest.api import (
    Event,
    IngestError,
    SinkResult,
    SinkWriter,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.api.errors import SinkFailedError
from ingest.durable import file_errors
from sinks.archive.columns import Column, Row
from sinks.archive.event_times import EventPartitions, EventTimes
from sinks.archive.layout import ArchiveFormat, PartitionRule
from sinks.archive.row_files import RowFile, new_row_file
from sinks.archive.staging import StagedPart, pack
from sinks.files.root import Root
from sinks.writing.record_bytes import RecordBytes, max_record_bytes

_ROWS = 16_384
"""Of a row group; a task has one in memory for each partition."""
_BYTES = 32 << 20
"""Of all rows in memory."""


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
        file_format: of the files.
        columns: in the order of the values of a row.
        row_of: makes the row of an event, and tells about how many bytes it takes.
        times: which events fail because of their times.
        max_event_bytes: of the source.
    """

    def __init__(
        self,
        root: Root,
        rule: PartitionRule,
        file_format: ArchiveFormat,
        columns: Sequence[Column],
        row_of: Callable[[Event], tuple[Row, int]],
        times: EventTimes,
        max_event_bytes: int,
    ) -> None:
        self._root = root
        self._record_bytes = RecordBytes(max_record_bytes(max_event_bytes))
        self._format = file_format
        self._columns = columns
        self._partitions = EventPartitions(rule, times, row_of)
        self._counts = WriteCounts()
        self._folder = ""
        self._task = ""
        self._pending: dict[str, _Pending] = {}
        self._bytes = 0
        self._parts: dict[str, _OpenPart] = {}

    @property
    def event_calls(self) -> Sequence[Callable[..., object]]:
        """What makes the row of one event; the rows are written for many events at once."""
        return (self._partitions.placed,)

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start the files of a task; those of an abandoned flush cycle are discarded."""
        self.close()
        self._counts = counts
        self._folder, self._task = prepared.decode(), spec.task_id
        self._partitions.begin(spec.batch.time_ms)
        self._record_bytes.begin()

    def write(self, event: Event) -> None:
        """Buffer the row of an event."""
        folder, row, size = self._partitions.placed(event)
        if event.origin.fan_out:
            self._record_bytes.add(event.origin, size)
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
        return SinkResult(pack(staged))

    def close(self) -> None:
        """Discard what is not flushed."""
        parts, self._parts = self._parts, {}
        self._pending, self._bytes = {}, 0
        for part in parts.values():
            with contextlib.suppress(Exception):  # the files are discarded anyway
                part.rows.close()
            with contextlib.suppress(_DiscardedError, OSError):
                part.opened.__exit__(_DiscardedError, _DiscardedError(), None)

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
    Report errors with their disposition: none of them is the fault of the event that is written just now.

    Raises:
        StoreUnavailableError: the file system does not answer; or the time limit, which is no `Exception`, has
            interrupted a write after the call timeout of the attempt. The batch runs again, with a longer one.
        IngestError: `sink_failed`: a defect of this product; it stops the pipeline, and nothing is acknowledged.
    """
    try:
        with file_errors(root):
            yield
    except (KeyboardInterrupt, MemoryError, IngestError):
        raise
    except Exception as error:
        raise SinkFailedError(
            f'a file of the archive in "{root}" was not written: {type(error).__name__}: {error}',
            hint="report the bug; nothing of the batch is acknowledged",
        ) from error
    except BaseException as error:
        raise StoreUnavailableError(
            f'a file of the archive in "{root}" was not written: {type(error).__name__}: {error}',
            hint="check that the file system is fast enough; the batch runs again, with more time",
        ) from error
