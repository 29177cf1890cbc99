"""
Finished files as a stream: every line a record, identified by its path (as `file_names` writes it) and byte offset.

A file is taken as it is when it is discovered; its size and time of change go into the source offset, so a replay gives
the same records. A file that was read to its end and is gone leaves the offset with the next batch, but for a note.
Plain files are cut into ranges at arbitrary bytes: a line belongs to the range in which its first byte lies. A gzip
file is one range. A file that changes after it was discovered is refused, and so is one that comes to the path of one
that was read: path and offset would no longer name the same lines.
"""

import errno
import glob
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ingest.api import RECORD_SCHEMA, IngestError, PositionLostError, SourceUnavailableError
from ingest.spark.streaming.file_names import path_of, text_of
from ingest.spark.streaming.removed_files import RemovedFiles
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS, COLUMNS

BATCH_BYTES = 64 * 1024 * 1024  # of files in one micro-batch: some seconds of work, and bounded memory
RANGE_BYTES = 16 * 1024 * 1024  # of one task: several tasks for two cores even with one large file
KEPT_BYTES = 16 * 1024 * 1024  # of one line, refused or not: what a dead letter of it may hold

_GONE = (FileNotFoundError, NotADirectoryError)
"""What says that nothing is at that place; any other error tells nothing."""

Files = dict[str, dict[str, int]]
"""Text of a path -> {size, mtime_ms, position}: bytes up to `position` have been read."""
Offset = dict[str, Any]
"""The files as Spark writes them, and under "forgotten" (no path: those begin with a slash) the notes of those gone."""


@dataclass
class FileRange(InputPartition):
    """The lines of one file, by the text of its path, whose first byte lies in [start, stop)."""

    path: str
    size: int
    mtime_ms: int
    start: int
    stop: int


class FilesDataSource(DataSource):
    """Spark's view of the source; its one option `path` is a file, a folder or a glob."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "attr2hbase_files"

    def schema(self) -> str:
        """Columns of a record."""
        return RECORD_SCHEMA

    def streamReader(self, schema: StructType) -> "FilesReader":  # noqa: ARG002, N802 - Spark's signature
        """The reader Spark asks for offsets, ranges and records."""
        return FilesReader(self.options["path"], int(self.options["max_event_bytes"]))


class FilesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets, ranges and records of a set of files."""

    def __init__(self, path: str, max_event_bytes: int) -> None:
        self._path = path
        self._max_event_bytes = max_event_bytes
        self._target: Files | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Nothing has been read."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """So much of the files in one micro-batch."""
        return ReadMaxBytes(BATCH_BYTES)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix what a `--once` run reads."""
        self._target = discovered(self._path, {})

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Where the next micro-batch ends: files in the order of their paths, until the limit is reached."""
        files, forgotten = _files(start), RemovedFiles(start.get("forgotten", ""))
        if self._target is None:
            known = discovered(self._path, files)
        else:
            for path in self._target.keys() & files.keys():
                _check_same(path, files[path], self._target[path])
            # one that is gone half read is in none but the first, and reading it will tell
            known = files | self._target
        room = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        end = {path: dict(file) for path, file in files.items()}
        for path in sorted(known):
            if path not in end:
                if _is_gone(path):
                    continue  # since it was listed; a batch that has it could not be read
                _check_new(path, forgotten)
            file = end.setdefault(path, known[path] | {"position": 0})
            left = file["size"] - file["position"]
            if left == 0:
                continue
            if room is not None and room <= 0:
                if file["position"] == 0:
                    del end[path]
                break
            step = left if room is None or path.endswith(".gz") else min(left, room)
            file["position"] += step
            room = None if room is None else room - step
        if end == files:
            return start
        # only with something to read: an offset that is another one makes a batch
        gone = self._gone(files)
        notes = forgotten.and_also(sorted(gone))
        return {path: file for path, file in end.items() if path not in gone} | ({"forgotten": notes} if notes else {})

    def _gone(self, files: Files) -> set[str]:
        """
        Files that were read to their end and are there no more: an offset is written with each batch, and grows.

        Files of a `--once` run's target stay, or they would be found anew.
        """
        if any(file["position"] < file["size"] and _is_gone(path) for path, file in files.items()):
            # a batch that will be refused; their whole folder may be away for a while
            return set()
        may_go = files.keys() - (self._target or {}).keys()
        has_others: dict[Path, bool] = {}
        return {
            path
            for path in may_go
            if files[path]["position"] == files[path]["size"] and _is_gone(path) and _has_others(path, has_others)
        }

    def partitions(self, start: Offset, end: Offset) -> list[FileRange]:
        """Ranges for the tasks of one micro-batch."""
        ranges = []
        for path, file in sorted(_files(end).items()):
            begin = start.get(path, {}).get("position", 0)
            width = file["size"] if path.endswith(".gz") else RANGE_BYTES
            for first in range(begin, file["position"], max(width, 1)):
                stop = min(first + width, file["position"])
                ranges.append(FileRange(path, file["size"], file["mtime_ms"], first, stop))
        return ranges

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Records of one range, in batches bounded by rows and bytes."""
        piece = cast("FileRange", partition)
        check_unchanged(piece.path, {"size": piece.size, "mtime_ms": piece.mtime_ms})
        offsets: list[int] = []
        lines: list[bytes] = []
        held = 0
        try:
            for offset, line in lines_of(piece, self._max_event_bytes):
                offsets.append(offset)
                lines.append(line)
                held += len(line)
                if len(lines) == ARROW_ROWS or held >= ARROW_BYTES:
                    yield _arrow(piece, offsets, lines)
                    offsets, lines, held = [], [], 0
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            # for good: the file may not change any more
            raise PositionLostError(
                f'"{piece.path}" cannot be unpacked: {error}', hint="move it and the checkpoint away and start anew"
            ) from error
        except OSError as error:
            raise _unread(piece.path, error) from error
        if lines:
            yield _arrow(piece, offsets, lines)


def _files(offset: Offset) -> Files:
    return {path: file for path, file in offset.items() if path != "forgotten"}


def discovered(path: str, known: Files) -> Files:
    """
    The files a path names, with their size and time as they were when first seen.

    A file is asked once, so what goes away meanwhile is either there with all that is asked, or not there.

    Raises:
        PositionLostError: a file that was read before has changed.
        SourceUnavailableError: one cannot be asked.
    """
    found: Files = {}
    for name, now in _listed(path):
        if name in known:
            _check_same(name, known[name], now)
        else:
            found[name] = now | {"position": 0}
    return found | known


def check_unchanged(path: str, known: dict[str, int]) -> None:
    """
    Refuse a file that is not what its offsets were taken from.

    Raises:
        PositionLostError: it has another size or time, or is gone.
        SourceUnavailableError: it cannot be asked.
    """
    try:
        status = path_of(path).stat()
    except OSError as error:
        raise _unread(path, error) from error
    _check_same(path, known, _measures(status))


def _unread(path: str, error: OSError) -> IngestError:
    if isinstance(error, _GONE):
        return PositionLostError(f'"{path}" is gone before all of it was read', hint="put it back, or start anew")
    return SourceUnavailableError(
        f'"{path}" cannot be read: {error.strerror or error}',
        hint="the pipeline resumes once its user may read the file and the disk returns it",
    )


def _measures(status: os.stat_result) -> dict[str, int]:
    return {"size": status.st_size, "mtime_ms": status.st_mtime_ns // 1_000_000}


def _check_same(path: str, known: dict[str, int], now: dict[str, int]) -> None:
    if (now["size"], now["mtime_ms"]) != (known["size"], known["mtime_ms"]):
        then = _instant(known["mtime_ms"])
        raise PositionLostError(
            f'"{path}" has changed since it was taken: {known["size"]} bytes of {then} then, '
            f"{now['size']} bytes of {_instant(now['mtime_ms'])} now",
            hint="the files source reads finished files: give what is new a file of its own, and this one its old "
            f"bytes and time of change ('touch -d {then} FILE'); or move it away, if it had been read to its end",
        )


def _check_new(path: str, forgotten: RemovedFiles) -> None:
    if path in forgotten:
        raise PositionLostError(
            f'"{path}" is there again: a file of this path was read to its end, and had been moved away or deleted',
            hint="an event is identified by path and offset, so those of a second file would be written over those of "
            "the first: give a new file a name of its own, and move the old one away if it was put back",
        )


def _is_gone(path: str) -> bool:
    """Whether a file is known not to be there; a disk that does not answer tells nothing."""
    try:
        path_of(path).stat()
    except OSError as error:
        return isinstance(error, _GONE)
    return False


def _has_others(path: str, known: dict[Path, bool]) -> bool:
    """Whether the nearest folder above it that is there has anything in it: the empty one may wait for its disk."""
    try:
        folder = next(parent for parent in path_of(path).parents if parent.is_dir())
        if folder not in known:
            with os.scandir(folder) as entries:
                known[folder] = next(entries, None) is not None
    except OSError:
        return False
    return known[folder]


def _instant(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lines_of(piece: FileRange, max_event_bytes: int) -> Iterator[tuple[int, bytes]]:
    """
    (offset, line without its end) of a range.

    A line is whole up to KEPT_BYTES even where decoding will refuse it, so that its dead letter holds all of it. A
    longer one is cut there, because a file without a line end must not fill the memory.
    """
    with _opened(piece.path) as file:
        offset = 0
        if piece.start > 0:
            # the range begins inside a line unless the byte before it ends one
            file.seek(piece.start - 1)
            offset = piece.start - 1 + _skip_line(file)
        unbounded = piece.path.endswith(".gz")
        while unbounded or offset < piece.stop:
            line = file.readline(max(max_event_bytes, KEPT_BYTES) + 2)
            if not line:
                return
            length = len(line)
            if not line.endswith(b"\n"):
                length += _skip_line(file)
            yield offset, line.removesuffix(b"\n").removesuffix(b"\r")
            offset += length


def _skip_line(file: IO[bytes]) -> int:
    skipped = 0
    while piece := file.readline(1 << 20):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _opened(path: str) -> IO[bytes]:
    file = path_of(path)
    return cast("IO[bytes]", gzip.open(file, "rb")) if path.endswith(".gz") else file.open("rb", buffering=1 << 20)


def _listed(path: str) -> Iterator[tuple[str, dict[str, int]]]:
    """The texts of files that a path names, and their size and time of change."""
    for name in _names(path):
        file = Path(name)
        if file.name.startswith((".", "_")):
            continue
        try:
            status = file.stat()
        except OSError as error:
            if isinstance(error, _GONE) or error.errno == errno.ELOOP:
                continue  # moved since, or a link that leads nowhere
            raise _unread(text_of(file), error) from error
        if stat.S_ISREG(status.st_mode):
            yield text_of(file.resolve()), _measures(status)


def _names(path: str) -> list[str]:
    """What is in a folder, what a glob stands for, or the one file; may be gone again."""
    if os.path.isdir(path):  # noqa: PTH112 - a glob is text, not a path
        try:
            return [os.path.join(path, name) for name in os.listdir(path)]  # noqa: PTH118, PTH208 - the same
        except OSError as error:
            raise _unread(path, error) from error
    return glob.glob(path) if glob.has_magic(path) else [path]  # noqa: PTH207 - patterns may be absolute


def _arrow(piece: FileRange, offsets: list[int], lines: list[bytes]) -> pa.RecordBatch:
    count = len(lines)
    headers = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
    columns: list[Any] = [
        pa.array([piece.path] * count, pa.string()),
        pa.array([0] * count, pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array([b""] * count, pa.binary()),
        pa.array(lines, pa.binary()),
        pa.array([piece.mtime_ms] * count, pa.int64()),
        pa.array([()] * count, headers),
    ]
    return pa.RecordBatch.from_arrays(columns, names=COLUMNS)
