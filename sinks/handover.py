"""
Mutations on their way from a task to the driver, for a store that only the driver may write.

A file is a row of frames: length and CRC-32 of what follows (4 bytes each, little-endian), then msgpack of one list
of sections. A section is [table, WAL flag, shapes, puts, deletes]: a shape is a list of columns, `puts` is flat:
number of the shape, row key, time, and the values in the order of the shape's columns. So a column's name stands once
in a section and becomes one bytes object again, however many rows have it.

Many puts of a table go in a file beside it, where the store can make one (`FileStore`): the driver need not look at
each of them then. Its section is [table, name, size, CRC-32, the store's note].
"""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO
from zlib import crc32

import msgpack

from ingest.api import Delete, FileStore, LifecycleError, Mutation, Put
from ingest.clock import now_ms
from ingest.durable import on_disk
from ingest.receipt import Handed
from sinks.buffer import size_of

FRAME_BYTES = 1 << 20
"""A frame is closed at about this size: large enough that its cost vanishes, small enough to hold two in memory."""
MIN_FILE_PUTS, MIN_FILE_BYTES = 5_000, 4 << 20
"""Fewer puts, that are smaller by `size_of`, are quicker in frames, and in the store's log: a file of their own for
each task and micro-batch would leave it with thousands of small ones."""
_READ_BYTES = 1 << 20
HEAD = Struct("<II")
"""Length and checksum of a frame."""
NOTE = 4
"""Where the section of a file has its note, as bytes; that of puts has a list of deletes there."""


class Handover:
    """
    What a task writes to in place of a store that only the driver may write: it keeps mutations in a file.

    Order: begin, any number of apply, then finish; then begin again. It does not sync: if the machine stops before the
    driver has delivered the file, the micro-batch was not acknowledged and is run again.

    Args:
        store_name: name of the store the file is for.
        files: the store itself, not open, where it takes files of its own.
    """

    def __init__(self, store_name: str, files: FileStore[Any] | None = None) -> None:
        self._store_name = store_name
        self._files = files
        self._beside: list[Path] = []
        self._families: Mapping[str, frozenset[bytes]] = {}
        self._compressions: Mapping[str, str] = {}
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._sections: list[object] = []
        self._section_bytes = 0
        self._size_bytes = 0

    def begin(
        self, path: str, families: Mapping[str, frozenset[bytes]], compressions: Mapping[str, str] | None = None
    ) -> None:
        """
        Start a file; one that is left of an earlier attempt is replaced.

        Args:
            path: of the file; its folder is made when it is missing. The file comes to be with the first mutation.
            families: table -> families, as the driver knows them.
            compressions: table -> how files for it are compressed; a table that is not there has none.
        """
        self._drop()
        self._path = Path(path)
        self._families = families
        self._compressions = compressions or {}

    def finish(self) -> Handed | None:
        """What the driver has to deliver; None when nothing was written."""
        if self._path is None:
            raise LifecycleError("a handover was finished before it was begun")
        if self._sections:
            self._write_frame()
        if self._file is None:
            return None
        with on_disk(self._path):
            self._file.close()
        self._file = None
        self._beside = []
        handed = Handed(self._store_name, str(self._path), self._size_bytes)
        self._path = None
        return handed

    def open(self) -> None:
        """Nothing to reach."""

    def close(self) -> None:
        """Remove what was not finished."""
        self._drop()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Keep mutations for the driver."""
        puts = [mutation for mutation in mutations if isinstance(mutation, Put)]
        if self._files is None or not _are_many(puts):
            self._add(table, mutations)
            return
        if len(puts) < len(mutations):
            # they are few, and what they mean depends on times, not on the order
            self._add(table, [mutation for mutation in mutations if isinstance(mutation, Delete)])
        self._write_file(self._files, table, puts)

    def families(self, table: str) -> frozenset[bytes] | None:
        """What the driver knew when the file was begun."""
        return self._families.get(table)

    def _write_file(self, files: FileStore[Any], table: str, puts: Sequence[Put]) -> None:
        path = self._begun()
        beside = path.with_name(f"{path.name}.{len(self._beside)}")
        self._beside.append(beside)
        with on_disk(beside):
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.unlink(missing_ok=True)
        note = files.make_file(str(beside), puts, self._compressions.get(table, "none"))
        with on_disk(beside):
            size, checksum = sum_of(beside)
        self._keep((table, beside.name, size, checksum, note), len(note))

    def _add(self, table: str, mutations: Sequence[Mutation]) -> None:
        run: list[Mutation] = []
        for mutation in mutations:
            if run and mutation.wal is not run[0].wal:
                self._add_section(table, run)
                run = []
            run.append(mutation)
        if run:
            self._add_section(table, run)
        if self._section_bytes >= FRAME_BYTES:
            self._write_frame()

    def _add_section(self, table: str, mutations: list[Mutation]) -> None:
        shapes: dict[tuple[bytes, ...], int] = {}
        puts: list[Any] = []
        deletes: list[tuple[bytes, int, bytes | None, bytes | None]] = []
        size = 0
        for mutation in mutations:
            if isinstance(mutation, Put):
                columns = mutation.columns
                shape = tuple(columns)
                number = shapes.get(shape)
                if number is None:
                    number = shapes[shape] = len(shapes)
                puts.append(number)
                puts.append(mutation.row)
                puts.append(mutation.timestamp_ms)
                values = columns.values()
                puts.extend(values)
                size += sum(map(len, values)) + len(mutation.row)
            else:
                deletes.append((mutation.row, mutation.timestamp_ms, mutation.family, mutation.qualifier))
                size += len(mutation.row)
            if size >= FRAME_BYTES:
                self._keep((table, mutations[0].wal, list(shapes), puts, deletes), size)
                shapes, puts, deletes, size = {}, [], [], 0
        if puts or deletes:
            self._keep((table, mutations[0].wal, list(shapes), puts, deletes), size)

    def _keep(self, section: tuple[object, ...], size: int) -> None:
        self._sections.append(section)
        self._section_bytes += size
        if self._section_bytes >= FRAME_BYTES:
            self._write_frame()

    def _write_frame(self) -> None:
        path = self._begun()
        payload: bytes = msgpack.packb(self._sections)
        self._sections = []
        self._section_bytes = 0
        with on_disk(path):
            if self._file is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("wb")
                self._size_bytes = 0
            self._file.write(HEAD.pack(len(payload), crc32(payload)))
            self._file.write(payload)
        self._size_bytes += HEAD.size + len(payload)

    def _begun(self) -> Path:
        if self._path is None:
            raise LifecycleError("a handover was written to before it was begun")
        return self._path

    def _drop(self) -> None:
        for beside in self._beside:
            with on_disk(beside):
                beside.unlink(missing_ok=True)
        self._beside = []
        self._sections = []
        self._section_bytes = 0
        self._size_bytes = 0
        if self._file is not None:
            with contextlib.suppress(OSError):  # what could not be written before is tried again, and thrown away
                self._file.close()
            self._file = None
            if self._path is not None:
                with on_disk(self._path):
                    self._path.unlink(missing_ok=True)
        self._path = None


def _are_many(puts: Sequence[Put]) -> bool:
    return len(puts) >= MIN_FILE_PUTS or sum(map(size_of, puts)) >= MIN_FILE_BYTES


def sum_of(path: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file."""
    size = checksum = 0
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            size += len(piece)
            checksum = crc32(piece, checksum)
    return size, checksum


def remove_leftovers(folder: str, *, idle_s: float = 0) -> int:
    """
    Remove what tasks of an earlier process left; their batches are run again. Returns how many entries went.

    Args:
        folder: need not be there.
        idle_s: entries that changed within so many seconds stay.
    """
    count = 0
    if Path(folder).is_dir():
        latest = now_ms() / 1000 - idle_s
        for path in list(Path(folder).iterdir()):
            if idle_s and path.lstat().st_mtime > latest:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            count += 1
    return count
