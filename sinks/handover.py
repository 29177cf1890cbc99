"""
Mutations on their way from a task to the driver, for a store that only the driver may write.

A file is a row of frames: length and CRC-32 of what follows (4 bytes each, little-endian), then msgpack of one list
of sections. A section is [table, WAL flag, shapes, puts, deletes]: a shape is a list of columns, `puts` is flat:
number of the shape, row key, time, and the values in the order of the shape's columns. So a column's name stands once
in a section and becomes one bytes object again, however many rows have it.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import msgpack

from ingest import failpoint
from ingest.api import (
    Capabilities,
    Delete,
    FamilySpec,
    IntegrityError,
    LifecycleError,
    Mutation,
    Put,
    Row,
    Scan,
    Store,
    StoreSettings,
    TableSpec,
)
from ingest.durable import on_disk
from ingest.receipt import Handed

FRAME_BYTES = 1 << 20
"""A frame is closed at about this size: large enough that its cost vanishes, small enough to hold two in memory."""
APPLY_BYTES = 8 << 20
"""The driver merges frames into calls of at most this size: one sync each, and bounded memory."""
_HEAD = Struct("<II")


class Handover(Store[StoreSettings]):
    """
    The store a task gets in place of one that only the driver may write: it keeps mutations in a file.

    Order: begin, any number of apply, then finish; then begin again. It does not sync: if the machine stops before the
    driver has delivered the file, the micro-batch was not acknowledged and is run again.

    Args:
        store_name: name of the store the file is for.
    """

    kind = "handover"
    capabilities = Capabilities(
        written_by_driver=True, atomic_row=True, creates_families=True, creates_tables=True, wal_switch=True
    )

    def __init__(self, store_name: str) -> None:
        super().__init__(StoreSettings())
        self._store_name = store_name
        self._families: Mapping[str, frozenset[bytes]] = {}
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._sections: list[object] = []
        self._section_bytes = 0
        self._size_bytes = 0

    def begin(self, path: str, families: Mapping[str, frozenset[bytes]]) -> None:
        """
        Start a file; one that is left of an earlier attempt is replaced.

        Args:
            path: of the file; its folder is made when it is missing. The file comes to be with the first mutation.
            families: table -> families, as the driver knows them.
        """
        self._drop()
        self._path = Path(path)
        self._families = families

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

    def get(
        self,
        table: str,  # noqa: ARG002 - the contract's
        row: bytes,  # noqa: ARG002
        *,
        columns: Sequence[bytes] | None = None,  # noqa: ARG002
        versions: int = 1,  # noqa: ARG002
    ) -> Row | None:
        """Not here: a task only writes."""
        raise LifecycleError("a handover can not be read")

    def scan(self, table: str, scan: Scan) -> Iterator[Row]:  # noqa: ARG002 - the contract's
        """Not here: a task only writes."""
        raise LifecycleError("a handover can not be read")

    def ensure_table(self, spec: TableSpec) -> None:  # noqa: ARG002 - the contract's
        """Not here: the driver makes tables."""
        raise LifecycleError("a handover can not make tables")

    def change_family(self, table: str, family: FamilySpec) -> None:  # noqa: ARG002 - the contract's
        """Not here: the driver changes tables."""
        raise LifecycleError("a handover can not change tables")

    def describe_table(self, name: str) -> TableSpec | None:  # noqa: ARG002 - the contract's
        """Not here: a task only writes."""
        raise LifecycleError("a handover can not be read")

    def families(self, table: str) -> frozenset[bytes] | None:
        """What the driver knew when the file was begun."""
        return self._families.get(table)

    def tables(self) -> tuple[str, ...]:
        """What the driver knew when the file was begun."""
        return tuple(sorted(self._families))

    def _add_section(self, table: str, mutations: list[Mutation]) -> None:
        shapes: dict[tuple[bytes, ...], int] = {}
        puts: list[Any] = []
        deletes: list[tuple[bytes, int, bytes | None, bytes | None]] = []
        extend = puts.extend
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
                extend(values)
                size += sum(map(len, values)) + len(mutation.row)
            else:
                deletes.append((mutation.row, mutation.timestamp_ms, mutation.family, mutation.qualifier))
                size += len(mutation.row)
            if size >= FRAME_BYTES:
                self._keep((table, mutations[0].wal, list(shapes), puts, deletes), size)
                shapes, puts, deletes, size = {}, [], [], 0
                extend = puts.extend
        if puts or deletes:
            self._keep((table, mutations[0].wal, list(shapes), puts, deletes), size)

    def _keep(self, section: tuple[object, ...], size: int) -> None:
        self._sections.append(section)
        self._section_bytes += size
        if self._section_bytes >= FRAME_BYTES:
            self._write_frame()

    def _write_frame(self) -> None:
        if self._path is None:
            raise LifecycleError("a handover was written to before it was begun")
        payload: bytes = msgpack.packb(self._sections)
        self._sections = []
        self._section_bytes = 0
        with on_disk(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("wb")
                self._size_bytes = 0
            self._file.write(_HEAD.pack(len(payload), crc32(payload)))
            self._file.write(payload)
        self._size_bytes += _HEAD.size + len(payload)

    def _drop(self) -> None:
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


class _Section(NamedTuple):
    """One table's mutations of one WAL flag."""

    table: str
    wal: bool
    mutations: list[Mutation]
    size_bytes: int


def deliver(store: Store[Any], handed: Sequence[Handed]) -> None:
    """
    Write files of mutations into their store; returns when all is durable.

    Doing it again, after a failure or not, writes the same: the files stay, the caller removes them when every store
    has what is its own.

    Args:
        store: open, and the one the files are for.
        handed: as the receipts name them.

    Raises:
        IntegrityError: a file is not what the task wrote; the message names file and place.
        StoreError: the store does not take it.
    """
    before_each = failpoint.sends()
    waiting: dict[str, _Section] = {}
    size = 0
    for one in handed:
        for section in _sections(one):
            table = section.table
            if waiting and size + section.size_bytes > APPLY_BYTES:
                _apply(store, waiting, before_each)
                size = 0
            earlier = waiting.get(table)
            if earlier is not None and earlier.wal is not section.wal:
                # a call has one flag, and rows of a table keep their order
                _apply(store, waiting, before_each)
                size, earlier = 0, None
            if earlier is None:
                waiting[table] = section
            else:
                earlier.mutations.extend(section.mutations)
            size += section.size_bytes
    _apply(store, waiting, before_each)


def _apply(store: Store[Any], waiting: dict[str, _Section], before_each: Callable[[], None]) -> None:
    for table, section in waiting.items():
        before_each()
        store.apply(table, section.mutations)
    waiting.clear()


def remove_leftovers(folder: str) -> int:
    """Remove what tasks of an earlier process left; their batches are run again. Returns how many entries went."""
    count = 0
    if Path(folder).is_dir():
        for path in Path(folder).iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            count += 1
    return count


def _sections(handed: Handed) -> Iterator[_Section]:
    path = Path(handed.path)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise IntegrityError(f"the handed-over file {path} is gone", hint="run the batch again") from None
    with file:
        at = 0
        while head := file.read(_HEAD.size):
            if len(head) < _HEAD.size:
                raise _damaged(path, at, "it ends within a frame's head")
            length, checksum = _HEAD.unpack(head)
            if at + _HEAD.size + length > handed.size_bytes:
                raise _damaged(path, at, "a frame is longer than the file")
            payload = file.read(length)
            if len(payload) < length:
                raise _damaged(path, at, "it ends within a frame")
            if crc32(payload) != checksum:
                raise _damaged(path, at, "the checksum differs")
            sections = msgpack.unpackb(payload, use_list=True)
            # all sections are decoded from one frame, so they share its size
            for section in sections:
                yield _decoded(section, length // len(sections))
            at += _HEAD.size + length
        if at != handed.size_bytes:
            raise _damaged(path, at, f"it should have {handed.size_bytes} bytes")


def _decoded(section: list[Any], size_bytes: int) -> _Section:
    table, wal, shapes, flat, deletes = section
    mutations: list[Mutation] = [
        Delete(row, at_ms, family, qualifier, wal) for row, at_ms, family, qualifier in deletes
    ]
    append = mutations.append
    at, end = 0, len(flat)
    while at < end:
        shape = shapes[flat[at]]
        first = at + 3
        after = first + len(shape)
        append(Put(flat[at + 1], dict(zip(shape, flat[first:after], strict=True)), flat[at + 2], wal))
        at = after
    return _Section(table, wal, mutations, size_bytes)


def _damaged(path: Path, at: int, what: str) -> IntegrityError:
    return IntegrityError(
        f"the handed-over file {path} is damaged at byte {at}: {what}", hint="check the disk; the batch is run again"
    )
