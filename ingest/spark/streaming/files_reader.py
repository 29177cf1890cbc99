"""
Finished files as a stream: each line is a record, as `ingest.sources.lines` defines it.

- The source offset contains the size and modification time of a file at its discovery, so a replay gives the same
  records.
- A plain file is split into ranges at arbitrary bytes: a line belongs to the range that contains its first byte. A gzip
  file is one range.
- A file that changes after its discovery is an error, and so is a new file at the path of a removed one: path and
  offset would no longer identify the same lines.
- A file that was read to its end and then removed is dropped from the offset with the next batch; only a hash of its
  path remains (see `removed_files`).
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ingest.api import RECORD_SCHEMA, PositionLostError, RecordPlace
from ingest.sources.file_names import path_of
from ingest.sources.lines import GONE, PARTITION, files_at, is_gzip, lines_of, size_and_time, unread
from ingest.spark.streaming.removed_files import RemovedFiles
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS, COLUMNS

BATCH_BYTES = 64 * 1024 * 1024  # of files in one micro-batch: some seconds of work in bounded memory
RANGE_BYTES = 16 * 1024 * 1024
"""
Size of a range: even one large file gives several tasks. Part of the format of checkpoints (`checkpoint.FORMAT`): with
another size a micro-batch that runs again after an upgrade has other splits.
"""

Files = dict[str, dict[str, int]]
"""Text of a path -> {size, mtime_ms, position}: bytes up to `position` have been read."""
Offset = dict[str, Any]
"""The files, and under the key "forgotten" (not a path: those start with a slash) the hashes of removed ones."""


@dataclass
class FileRange(InputPartition):
    """The lines of a file whose first byte is in [start, stop); `path` is text as of `file_names`."""

    path: str
    size: int
    mtime_ms: int
    start: int
    stop: int

    @property
    def first_place(self) -> RecordPlace:
        """The first place of the range as a split."""
        return self.path, PARTITION, self.start


class FilesDataSource(DataSource):
    """Spark's data source; its options are `path`, `max_event_bytes`, `max_records` and `first_offset`."""

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
    """

    def __init__(
        self, path: str, max_event_bytes: int, max_records: int | None = None, first_offset: Offset | None = None
    ) -> None:
        self._path = path
        self._max_event_bytes = max_event_bytes
        self._max_records = max_records
        self._first_offset = first_offset or {}
        self._target: Files | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint starts."""
        return self._first_offset

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The maximum size of one micro-batch."""
        return ReadMaxBytes(BATCH_BYTES)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the files that a `--once` run reads."""
        self._target = discovered(self._path, {})

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """The end of the next micro-batch: files in the order of their paths, up to the limit."""
        files, removed = _files(start), RemovedFiles(start.get("forgotten", ""))
        if self._target is None:
            known = discovered(self._path, files)
        else:
            for path in self._target.keys() & files.keys():
                _check_same(path, files[path], self._target[path])
            # a partly read file that was removed is only in `files`; reading it raises an error
            known = files | self._target
        room = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        lines_left = self._max_records
        end = {path: dict(file) for path, file in files.items()}
        for path in sorted(known):
            if path not in end:
                if _is_gone(path):
                    continue  # removed since it was listed; a batch with it could not be read
                _check_new(path, removed)
            file = end.get(path) or known[path] | {"position": 0}
            remaining = file["size"] - file["position"]
            if remaining == 0:
                continue  # also a new empty file: it alone would start an empty batch
            if (room is not None and room <= 0) or lines_left == 0:
                break
            end[path] = file
            length = remaining if room is None or is_gzip(path) else min(remaining, room)
            if lines_left is not None:
                length, lines = self._first_lines(path, file["position"], length, lines_left)
                lines_left -= lines
            file["position"] += length
            room = None if room is None else room - length
        if end == files:
            return start
        # only together with new lines: a changed offset alone would start an empty batch
        gone = self._gone(files)
        hashes = removed.with_paths(sorted(gone))
        present = {path: file for path, file in end.items() if path not in gone}
        return present | ({"forgotten": hashes} if hashes else {})

    def _first_lines(self, path: str, start: int, length: int, count: int) -> tuple[int, int]:
        """Bytes and number of the first lines of a range, at most `count`; a gzip file counts as that many."""
        if is_gzip(path):
            return length, count
        lines = 0
        for offset, _ in lines_of(path, self._max_event_bytes, start, start + length):
            if lines == count:
                return offset - start, lines
            lines += 1
        return length, lines

    def _gone(self, files: Files) -> set[str]:
        """
        Files that were read to their end and removed; without them the offset, which each batch writes, stays small.

        Files of a `--once` run's target are not among them, or they would be discovered again.
        """
        if any(file["position"] < file["size"] and _is_gone(path) for path, file in files.items()):
            # this batch will fail; the whole folder may be unavailable for a while
            return set()
        candidates = files.keys() - (self._target or {}).keys()
        has_others: dict[Path, bool] = {}
        return {
            path
            for path in candidates
            if files[path]["position"] == files[path]["size"] and _is_gone(path) and _has_others(path, has_others)
        }

    def partitions(self, start: Offset, end: Offset) -> list[FileRange]:
        """The ranges of one micro-batch; a task reads one or several, each as a whole."""
        return ranges_between(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one range, in batches bounded by rows and bytes."""
        piece = cast("FileRange", partition)
        check_unchanged(piece.path, {"size": piece.size, "mtime_ms": piece.mtime_ms})
        offsets: list[int] = []
        lines: list[bytes] = []
        size = 0
        for offset, line in lines_of(piece.path, self._max_event_bytes, piece.start, piece.stop):
            offsets.append(offset)
            lines.append(line)
            size += len(line)
            if len(lines) == ARROW_ROWS or size >= ARROW_BYTES:
                yield _arrow(piece, offsets, lines)
                offsets, lines, size = [], [], 0
        if lines:
            yield _arrow(piece, offsets, lines)


def ranges_between(start: Offset, end: Offset) -> list[FileRange]:
    """The ranges of files of the micro-batch between two offsets, each of which is a split."""
    ranges = []
    for path, file in sorted(_files(end).items()):
        begin = start.get(path, {}).get("position", 0)
        width = file["size"] if is_gzip(path) else RANGE_BYTES
        for first in range(begin, file["position"], max(width, 1)):
            stop = min(first + width, file["position"])
            ranges.append(FileRange(path, file["size"], file["mtime_ms"], first, stop))
    return ranges


def _files(offset: Offset) -> Files:
    return {path: file for path, file in offset.items() if path != "forgotten"}


def discovered(path: str, known: Files) -> Files:
    """
    The files that a path matches, with their size and modification time when they were first seen.

    Each file is examined with one call, so a file that is removed meanwhile is either absent or has both.

    Raises:
        PositionLostError: a known file has changed.
        SourceUnavailableError: a file cannot be examined now.
    """
    found: Files = {}
    for name, now in files_at(path):
        if name in known:
            _check_same(name, known[name], now)
        else:
            found[name] = now | {"position": 0}
    return found | known


def check_unchanged(path: str, known: dict[str, int]) -> None:
    """
    Check that a file is the one that its offsets belong to.

    Raises:
        PositionLostError: its size or modification time differs, or it does not exist.
        SourceUnavailableError: it cannot be examined now.
    """
    try:
        status = path_of(path).stat()
    except OSError as error:
        raise unread(path, error) from error
    _check_same(path, known, size_and_time(status))


def _check_same(path: str, known: dict[str, int], now: dict[str, int]) -> None:
    if (now["size"], now["mtime_ms"]) != (known["size"], known["mtime_ms"]):
        then = _instant(known["mtime_ms"])
        raise PositionLostError(
            f'"{path}" has changed since it was discovered: {known["size"]} bytes of {then} then, '
            f"{now['size']} bytes of {_instant(now['mtime_ms'])} now",
            hint="the files source reads finished files: write new lines to a new file, and restore this one with its "
            f"modification time ('touch -d {then} FILE'); or move it away if it was read to its end",
        )


def _check_new(path: str, removed: RemovedFiles) -> None:
    if path in removed:
        raise PositionLostError(
            f'"{path}" exists again: a file with this path was read to its end, and then moved away or deleted',
            hint="events are identified by path and offset, so those of a second file would overwrite those of the "
            "first: give a new file another name, and move the old one away if it was put back",
        )


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


def _instant(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _arrow(piece: FileRange, offsets: list[int], lines: list[bytes]) -> pa.RecordBatch:
    count = len(lines)
    headers = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
    columns: list[Any] = [
        pa.array([piece.path] * count, pa.string()),
        pa.array([PARTITION] * count, pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array([b""] * count, pa.binary()),
        pa.array(lines, pa.binary()),
        pa.array([piece.mtime_ms] * count, pa.int64()),
        pa.array([()] * count, headers),
    ]
    return pa.RecordBatch.from_arrays(columns, names=COLUMNS)
