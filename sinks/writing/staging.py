"""
Staged files: mutations that tasks write to a file, for a store that only the driver may write.

A file is a sequence of frames: length and CRC-32 of what follows (4 bytes each, little-endian), then msgpack of one
list of sections (`sinks.writing.sections`).

Many puts of a table go into a separate file if the store can ingest files (`FileStore`), so the driver need not decode
each put. The section of such a file is [table, name, size, CRC-32, the store's metadata].
"""

import contextlib
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import IO, Any, NamedTuple
from zlib import crc32

import msgpack

from ingest.api import BusyWait, FileStore, LifecycleError, Mutation, Put, Store, WriteRejectedError
from ingest.clock import now_ms
from ingest.durable import file_errors, make_folder, open_private
from sinks.folding.sizes import size_of
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.writing.sections import SECTION_BYTES, sections_of

MIN_FILE_PUTS, MIN_FILE_BYTES = 5_000, 4 << 20
"""Fewer and smaller puts (`size_of`) go into frames and the store's log, which is quicker; a file for each task and
micro-batch would give the store thousands of small files."""
_READ_BYTES = 1 << 20
HEAD = Struct("<II")
"""Length and checksum of a frame."""
METADATA = 4
"""Index of the metadata (bytes) in the section of a file; a section of mutations has a list of deletes there."""


class FileFormat(NamedTuple):
    """
    How the rows of a table are written to files.

    Attributes:
        compression: as `FileStore.file_compression` returned it to the driver.
        rows: row format of the table.
        features: those of `UNDECLARED` that the record of the table has.
    """

    compression: str = "none"
    rows: RowFormat = RowFormat()
    features: tuple[str, ...] = ()


PLAIN = FileFormat()


@dataclass(frozen=True, slots=True)
class StagedFile:
    """
    A file of mutations that a task stages for the driver.

    Attributes:
        buckets: table -> number of buckets of the physical row keys in the file.
    """

    path: str
    size_bytes: int
    buckets: Mapping[str, int | None] = field(default_factory=dict)


class StagingWriter:
    """
    Replaces, in a task, a store that only the driver may write: it writes mutations to a file.

    Order: begin, any number of apply, then finish; then begin again. It does not sync: if the machine stops before the
    driver has applied the file, the micro-batch was not acknowledged and runs again.

    Args:
        store: the store itself, not open, for its options and the format of its files; None for one that takes every
            mutation and no files.

    Attributes:
        file_number: of the file since `begin`; each has another one.
    """

    def __init__(self, store: Store[Any] | None = None) -> None:
        self._store = store
        self._files = store if isinstance(store, FileStore) else None
        self.file_number = 0
        self._table_files: list[Path] = []
        self._families: Mapping[str, frozenset[bytes]] = {}
        self._formats: Mapping[str, FileFormat] = {}
        self._buckets: dict[str, int | None] = {}
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        self._sections: list[object] = []
        self._section_bytes = 0
        self._size_bytes = 0

    def begin(
        self, path: str, families: Mapping[str, frozenset[bytes]], formats: Mapping[str, FileFormat] | None = None
    ) -> None:
        """
        Start a file; a file of an earlier attempt is replaced.

        Args:
            path: of the file, created by the first mutation, together with its folder.
            families: table -> families that the driver knows.
            formats: table -> format of its rows in files; tables that are not listed have that of `PLAIN`.
        """
        self._discard()
        self.file_number += 1
        self._path = Path(path)
        self._families = families
        self._formats = formats or {}

    def finish(self) -> StagedFile | None:
        """Close the file, for the driver to apply; None if nothing was written."""
        if self._path is None:
            raise LifecycleError("finish of a staging writer before begin")
        if self._sections:
            self._write_frame()
        if self._file is None:
            return None
        with file_errors(self._path):
            self._file.close()
        self._file = None
        self._table_files = []
        staged = StagedFile(str(self._path), self._size_bytes, self._buckets)
        self._path = None
        return staged

    @property
    def path(self) -> Path:
        """Of the file, which may not exist yet."""
        if self._path is None:
            raise LifecycleError("a staging writer is used before begin")
        return self._path

    def open(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Remove an unfinished file."""
        self._discard()

    def take_busy_waits(self) -> list[BusyWait]:
        """None: a file is never busy."""
        return []

    def take_counted(self) -> Counter[tuple[str, str]]:
        """Nothing: the driver counts what it stores."""
        return Counter()

    def region_starts(self, table: str) -> Sequence[bytes]:  # noqa: ARG002 - as in `Store`
        """None: a file has no parts."""
        return ()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Write mutations to the file.

        Raises:
            WriteRejectedError: some have a time to live, which the store does not keep; none was written. The driver,
                which applies the file of many events, could not tell whose fault it is.
        """
        puts = [mutation for mutation in mutations if isinstance(mutation, Put) and mutation.ttl_ms is None]
        if len(puts) < len(mutations):
            self._check_ttls(mutations)
        self._buckets[table] = self.buckets(table)
        if self._files is None or not _fill_a_file(puts):
            self._add(table, mutations)
            return
        if len(puts) < len(mutations):
            # deletes are few, and so are puts with a time to live; timestamps decide their effect, not the order
            self._add(table, [one for one in mutations if not isinstance(one, Put) or one.ttl_ms is not None])
        self._write_file(self._files, table, puts)

    def families(self, table: str) -> frozenset[bytes] | None:
        """The families that the driver knew at begin."""
        return self._families.get(table)

    def buckets(self, table: str) -> int | None:
        """The number of buckets that the driver knew at begin."""
        return self._formats.get(table, PLAIN).rows.buckets

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """The number of buckets, and what matters of the properties, as the driver knew them at begin."""
        _, rows, features = self._formats.get(table, PLAIN)
        return rows.buckets, {UPDATES: rows.updates, **dict.fromkeys(features, "")}

    def _check_ttls(self, mutations: Sequence[Mutation]) -> None:
        if self._store is None or (refusal := self._store.settings.cell_ttl_refusal) is None:
            return
        refused = [index for index, one in enumerate(mutations) if one.ttl_ms is not None]
        if refused:
            why, remedy = refusal
            raise WriteRejectedError(f"a {self._store.kind} store {why}", indexes=refused, hint=remedy)

    def _write_file(self, files: FileStore[Any], table: str, puts: Sequence[Put]) -> None:
        path = self.path
        table_file = path.with_name(f"{path.name}.{len(self._table_files)}")
        self._table_files.append(table_file)
        with file_errors(table_file):
            _ensure_folder(path.parent)
            table_file.unlink(missing_ok=True)
        metadata = files.write_file(str(table_file), puts, self._formats.get(table, PLAIN).compression)
        with file_errors(table_file):
            size, checksum = size_and_crc(table_file)
        self._add_section((table, table_file.name, size, checksum, metadata), len(metadata))

    def _add(self, table: str, mutations: Sequence[Mutation]) -> None:
        for section, size in sections_of(table, mutations):
            self._add_section(section, size)

    def _add_section(self, section: tuple[object, ...], size: int) -> None:
        self._sections.append(section)
        self._section_bytes += size
        if self._section_bytes >= SECTION_BYTES:
            self._write_frame()

    def _write_frame(self) -> None:
        path = self.path
        payload: bytes = msgpack.packb(self._sections)
        self._sections = []
        self._section_bytes = 0
        with file_errors(path):
            if self._file is None:
                _ensure_folder(path.parent)
                self._file = open_private(path, "wb")
                self._size_bytes = 0
            self._file.write(HEAD.pack(len(payload), crc32(payload)))
            self._file.write(payload)
        self._size_bytes += HEAD.size + len(payload)

    def _discard(self) -> None:
        for table_file in self._table_files:
            with file_errors(table_file):
                table_file.unlink(missing_ok=True)
        self._table_files = []
        self._buckets = {}
        self._sections = []
        self._section_bytes = 0
        self._size_bytes = 0
        if self._file is not None:
            with contextlib.suppress(OSError):  # closing retries an earlier failed write; the file is discarded anyway
                self._file.close()
            self._file = None
            if self._path is not None:
                with file_errors(self._path):
                    self._path.unlink(missing_ok=True)
        self._path = None


def _ensure_folder(folder: Path) -> None:
    if not folder.is_dir():  # without a sync for each file: a staged file need not be durable
        make_folder(folder)


def _fill_a_file(puts: Sequence[Put]) -> bool:
    return len(puts) >= MIN_FILE_PUTS or sum(map(size_of, puts)) >= MIN_FILE_BYTES


def size_and_crc(path: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file."""
    size = checksum = 0
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            size += len(piece)
            checksum = crc32(piece, checksum)
    return size, checksum


def remove_leftovers(folder: str, *, idle_s: float = 0) -> int:
    """
    Remove files of tasks of an earlier process; their batches run again. Returns the number of entries removed.

    Args:
        folder: may not exist.
        idle_s: entries that changed within this time stay.
    """
    removed = 0
    if Path(folder).is_dir():
        newest = now_ms() / 1000 - idle_s
        for path in list(Path(folder).iterdir()):
            if idle_s and path.lstat().st_mtime > newest:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed += 1
    return removed
