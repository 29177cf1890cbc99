"""
Finished files as a stream: each line is a record, as `ingest.sources.lines` defines it.

- The source offset contains the size and modification time of a file at its discovery, so a replay gives the same
  records. What is added after that is not read, so a file that is written to has the lines up to its discovery.
- A last line without a line end is read once its file has not changed for a while (see `unfinished_lines`).
- A plain file is split into ranges at arbitrary bytes: a line belongs to the range that contains its first byte. A gzip
  file is one range, and is decompressed once before it is planned: all of it is read, or nothing.
- A file that is damaged, changes or is removed has a dead letter by place (see `file_entries`), and the other files are
  read. So has a new file at the path of a removed one: path and offset would no longer identify the same lines.
- A file that was read to its end and then removed is dropped from the offset with the next batch; only a hash of its
  path remains (see `removed_files`).
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ingest.api import RECORD_SCHEMA, Encoding, RecordPlace, SourceUnavailableError, UnreadError
from ingest.sources.file_names import path_of
from ingest.sources.lines import (
    GONE,
    PARTITION,
    RemovedFileError,
    UnreadableFileError,
    files_at,
    is_gzip,
    lines_of,
)
from ingest.spark.streaming.file_batches import line_batch, unread_batch
from ingest.spark.streaming.file_entries import (
    Entry,
    Files,
    Unread,
    check_unchanged,
    entry_after_change,
    entry_after_removal,
    entry_at_a_known_path,
    is_planned,
    is_same,
    new_entry,
    unread_of,
)
from ingest.spark.streaming.removed_files import RemovedFiles
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS
from ingest.spark.streaming.unfinished_lines import UnfinishedLines

BATCH_BYTES = 64 * 1024 * 1024  # of files in one micro-batch: some seconds of work in bounded memory
RANGE_BYTES = 16 * 1024 * 1024
"""
Size of a range: even one large file gives several tasks. Part of the format of checkpoints (`checkpoint.FORMAT`): with
another size a micro-batch that runs again after an upgrade has other splits.
"""
UNREAD_BYTES = 64 * 1024  # that a file which is not read counts in a micro-batch: a thousand dead letters at most
CHANGED_AGAIN_S = 600.0  # between dead letters of one file that keeps changing, such as a log that is written to

Offset = dict[str, Any]
"""The files, and under the key "forgotten" (not a path: those start with a slash) the hashes of removed ones."""


@dataclass
class FileRange(InputPartition):
    """
    The lines of a file whose first byte is in [start, stop), or in their place the dead letter of the file.

    `path` is text as in `file_names`.
    """

    path: str
    size: int
    mtime_ms: int
    start: int
    stop: int
    unread: Unread | None = None
    tail: str | None = None

    @property
    def first_place(self) -> RecordPlace:
        """The first place of the range as a split."""
        return self.path, PARTITION, self.start

    @property
    def entry(self) -> Entry:
        """The state of the file at its discovery."""
        return {"size": self.size, "mtime_ms": self.mtime_ms, "tail": self.tail}


class FilesDataSource(DataSource):
    """Spark's data source; its options are `path`, `max_event_bytes`, `max_records`, `first_offset` and `encoding`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "attr2hbase_files"

    def schema(self) -> str:
        """The columns of a record."""
        return RECORD_SCHEMA

    def streamReader(self, schema: StructType) -> "FilesReader":  # noqa: ARG002, N802 - Spark's signature
        """The reader of offsets, ranges and records."""
        limit = self.options.get("max_records")
        return FilesReader(
            self.options["path"],
            int(self.options["max_event_bytes"]),
            None if limit is None else int(limit),
            json.loads(self.options.get("first_offset", "{}")),
            encoding=Encoding(self.options.get("encoding", Encoding.UTF8)),
        )


class FilesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """
    Offsets, ranges and records of a set of files.

    Args:
        path: a file, a folder or a glob.
        max_event_bytes: see `ingest.sources.lines.lines_in`.
        max_records: maximum number of lines of a micro-batch, which are then counted when it is planned; None without
            one. A gzip file is read as a whole, and ends the micro-batch.
        first_offset: where a query without a checkpoint starts; None if no file has been read.
        clock: monotonic seconds.
        encoding: of the files, see `ingest.sources.lines.lines_in`.
        unfinished: their last lines that may go on.
    """

    def __init__(
        self,
        path: str,
        max_event_bytes: int,
        max_records: int | None = None,
        first_offset: Offset | None = None,
        clock: Callable[[], float] = time.monotonic,
        encoding: Encoding = Encoding.UTF8,
        unfinished: UnfinishedLines | None = None,
    ) -> None:
        self._path = path
        self._unfinished = unfinished or UnfinishedLines(encoding)
        self._max_event_bytes = max_event_bytes
        self._encoding = encoding
        self._max_records = max_records
        self._first_offset = first_offset or {}
        self._clock = clock
        self._changed_again_s: dict[str, float] = {}
        self._target: Files | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint starts."""
        return self._first_offset

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The maximum size of one micro-batch."""
        return ReadMaxBytes(BATCH_BYTES)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the files that a `--once` run reads."""
        self._target = dict(files_at(self._path))

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """
        The end of the next micro-batch: files in the order of their paths, up to the limit.

        Each file is examined with one call, so a file that is removed meanwhile is either absent or has both size and
        time. A `--once` run waits here for last lines that may go on, and reads what is there then.

        Raises:
            SourceUnavailableError: a file cannot be examined now.
        """
        end = self._end_after(start, limit)
        if end is start and self._target is not None and self._unfinished.wait():
            self._target |= {path: now for path, now in files_at(self._path) if path in self._unfinished}
            end = self._end_after(start, limit)
        return end

    def _end_after(self, start: Offset, limit: ReadLimit) -> Offset:
        """As `latestOffset`, without waiting; `start` itself if there is nothing to read."""
        files, removed = _files(start), RemovedFiles(start.get("forgotten", ""))
        found = dict(files_at(self._path)) if self._target is None else self._target
        room = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        lines_left = self._max_records
        end = {path: dict(file) for path, file in files.items()}
        for path in sorted(found.keys() | files.keys()):
            if (room is not None and room <= 0) or lines_left == 0:
                break
            if not self._has_more(path, files.get(path), found.get(path)):
                continue
            file = self._entry(path, files.get(path), found.get(path), removed)
            if "unread" in file:
                length, lines = UNREAD_BYTES, 1
            else:
                remaining = self._unfinished.end_of(path, file) - file["position"]
                if remaining <= 0:
                    continue
                length = remaining if room is None or is_gzip(path) else min(remaining, room)
                length, lines = self._first_lines(path, file["position"], length, lines_left)
                file["position"] += length
            end[path] = file
            room = None if room is None else room - length
            lines_left = None if lines_left is None else lines_left - lines
        if end == files:
            return start
        # only together with new lines: a changed offset alone would start an empty batch
        gone = self._gone(files)
        hashes = removed.with_paths(sorted(gone))
        present = {path: file for path, file in end.items() if path not in gone}
        return present | ({"forgotten": hashes} if hashes else {})

    def _has_more(self, path: str, file: Entry | None, now: Entry | None) -> bool:
        """
        Whether something of a file is to be planned.

        Args:
            path: of the file.
            file: its entry; None if it is new.
            now: its size and time; None if it does not exist.
        """
        if file is None:
            # an empty file alone would start an empty batch; one that was removed since it was listed is not there
            has_lines = now is not None and now["size"] > 0 and not self._unfinished.is_rest(path, now, 0)
            return has_lines and not _is_gone(path)
        if now is None:
            return not is_planned(file)
        if is_same(file, now):
            return not (is_planned(file) or self._unfinished.is_rest(path, now, file["position"]))
        if "unread" not in file:
            return True
        at_s = self._clock()
        if at_s - self._changed_again_s.get(path, -CHANGED_AGAIN_S) < CHANGED_AGAIN_S:
            return False
        self._changed_again_s[path] = at_s
        return True

    def _entry(self, path: str, file: Entry | None, now: Entry | None, removed: RemovedFiles) -> Entry:
        """The entry of a file of which something is to be planned; arguments as in `_has_more`."""
        if file is None:
            assert now is not None  # noqa: S101 - for mypy: it exists
            return entry_at_a_known_path(path, now) if path in removed else new_entry(path, now, self._encoding)
        if now is not None:
            return dict(file) if is_same(file, now) else entry_after_change(path, file, now, self._encoding)
        return entry_after_removal(path, file) if _is_removed(path) else dict(file)

    def _first_lines(self, path: str, start: int, length: int, count: int | None) -> tuple[int, int]:
        """
        Bytes and number of the first lines of a range, at most `count`; a gzip file counts as that many.

        Without a `count` the lines are not counted, nor is a file that cannot be read as it was found: its reader says
        so.
        """
        if count is None or is_gzip(path):
            return length, count or 0
        lines = 0
        with contextlib.suppress(UnreadableFileError):
            for offset, _ in lines_of(path, self._max_event_bytes, start, start + length, self._encoding):
                if lines == count:
                    return offset - start, lines
                lines += 1
        return length, lines

    def _gone(self, files: Files) -> set[str]:
        """
        Files that were read to their end and removed; without them the offset, which each batch writes, stays small.

        Files of a `--once` run's target are not among them, or they would be discovered again.
        """
        candidates = files.keys() - (self._target or {}).keys()
        has_others: dict[Path, bool] = {}
        return {
            path for path in candidates if is_planned(files[path]) and _is_gone(path) and _has_others(path, has_others)
        }

    def partitions(self, start: Offset, end: Offset) -> list[FileRange]:
        """The ranges of one micro-batch; a task reads one or several, each as a whole."""
        return ranges_between(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """
        The records of one range, in batches bounded by rows and bytes.

        A file that cannot be read as it was found ends with a record in place of the lines that are missing.

        Raises:
            SourceUnavailableError: the file cannot be read now, or changes while it is read; the next attempt finds it
                changed.
        """
        piece = cast("FileRange", partition)
        if piece.unread is not None:
            first, end, code, message, read_before = piece.unread
            error = UnreadError(message, end=end, code=code, read_before=read_before)
            yield unread_batch(piece.path, first, piece.mtime_ms, error)
            return
        offsets: list[int] = []
        lines: list[bytes] = []
        size = 0
        following = piece.start
        try:
            check_unchanged(piece.path, piece.entry, piece.stop, self._encoding)
            for offset, line in lines_of(piece.path, self._max_event_bytes, piece.start, piece.stop, self._encoding):
                offsets.append(offset)
                lines.append(line)
                size += len(line)
                if len(lines) == ARROW_ROWS or size >= ARROW_BYTES:
                    yield line_batch(piece.path, offsets, lines, piece.mtime_ms)
                    following = offset + len(line) + 1
                    offsets, lines, size = [], [], 0
        except UnreadableFileError as error:
            if isinstance(error, RemovedFileError):
                _is_removed(piece.path)
            if lines:
                yield line_batch(piece.path, offsets, lines, piece.mtime_ms)
                following = offsets[-1] + len(lines[-1]) + 1
            message = f"{error.message}; its lines from byte {following} on were not read"
            end = None if is_gzip(piece.path) else piece.stop
            missing = UnreadError(message, end=end, is_certain=False, code=error.code)
            yield unread_batch(piece.path, following, piece.mtime_ms, missing)
            return
        try:
            check_unchanged(piece.path, piece.entry, piece.stop, self._encoding)
        except UnreadableFileError as error:
            # the lines may be of no state of the file
            raise SourceUnavailableError(f"{error.message}, while it was read", hint="the batch runs again") from error
        if lines:
            yield line_batch(piece.path, offsets, lines, piece.mtime_ms)


def ranges_between(start: Offset, end: Offset) -> list[FileRange]:
    """The ranges of files of the micro-batch between two offsets, each of which is a split."""
    ranges = []
    for path, file in sorted(_files(end).items()):
        known = unread_of(file)
        if known is not None:
            if file != start.get(path):
                stop = file["size"] if known.end is None else known.end
                ranges.append(FileRange(path, file["size"], file["mtime_ms"], known.first, stop, known))
            continue
        begin = start.get(path, {}).get("position", 0)
        width = file["size"] if is_gzip(path) else RANGE_BYTES
        for first in range(begin, file["position"], max(width, 1)):
            stop = min(first + width, file["position"])
            ranges.append(FileRange(path, file["size"], file["mtime_ms"], first, stop, tail=file.get("tail")))
    return ranges


def _files(offset: Offset) -> Files:
    return {path: file for path, file in offset.items() if path != "forgotten"}


def _is_removed(path: str) -> bool:
    """
    Whether a file was removed.

    Raises:
        SourceUnavailableError: its folder is empty or does not exist, as that of a disk that is not mounted.
    """
    if not _is_gone(path):
        return False
    if not path_of(path).parent.is_dir() or not _has_others(path, {}):
        raise SourceUnavailableError(
            f'"{path}" does not exist, and its folder is empty or does not exist: its disk may not be mounted',
            hint="mount it; if the file was removed, put it back, or any other file into the folder",
        )
    return True


def _is_gone(path: str) -> bool:
    """Whether a file is known not to exist; False if the disk does not answer."""
    try:
        path_of(path).stat()
    except OSError as error:
        return isinstance(error, GONE)
    return False


def _has_others(path: str, known: dict[Path, bool]) -> bool:
    """Whether the nearest parent folder that exists is not empty: an empty one may be an unmounted disk."""
    try:
        folder = next(parent for parent in path_of(path).parents if parent.is_dir())
        if folder not in known:
            with os.scandir(folder) as entries:
                known[folder] = next(entries, None) is not None
    except OSError:
        return False
    return known[folder]
