"""What tasks handed over, into the store; the driver's half of `sinks.handover`."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgpack

from ingest import failpoint
from ingest.api import Delete, FileStore, IntegrityError, LifecycleError, Mutation, Put, Store
from ingest.durable import on_disk
from ingest.receipt import Handed
from sinks.handover import HEAD, NOTE, sum_of

APPLY_BYTES = 8 << 20
"""Frames are merged into calls of at most this size: one sync each, and bounded memory."""
_AGAIN = "start again: the batch is read from its source once more"


class _Section(NamedTuple):
    """One table's mutations of one WAL flag."""

    table: str
    wal: bool
    mutations: list[Mutation]
    size_bytes: int


class _File(NamedTuple):
    """A file of the store's own, as the task left it."""

    table: str
    path: Path
    size_bytes: int
    checksum: int
    note: bytes


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
            if isinstance(section, _File):
                # rows of a table keep their order
                _apply(store, waiting, before_each)
                size = 0
                before_each()
                _take(store, section)
                continue
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


def _take(store: Store[Any], file: _File) -> None:
    if not isinstance(store, FileStore):
        raise LifecycleError(f"a {store.kind} store was handed a file of another store")
    with on_disk(file.path):
        try:
            found = sum_of(file.path)
        except FileNotFoundError:
            raise _gone(file.path) from None
    if found != (file.size_bytes, file.checksum):
        raise _damaged(file.path, 0, f"it should have {file.size_bytes} bytes with the checksum {file.checksum:08x}")
    store.take_file(file.table, str(file.path), file.note)


def _sections(handed: Handed) -> Iterator[_Section | _File]:
    path = Path(handed.path)
    with on_disk(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise _gone(path) from None
    with file:
        at = 0
        while head := file.read(HEAD.size):
            if len(head) < HEAD.size:
                raise _damaged(path, at, "it ends within a frame's head")
            length, checksum = HEAD.unpack(head)
            if at + HEAD.size + length > handed.size_bytes:
                raise _damaged(path, at, "a frame is longer than the file")
            payload = file.read(length)
            if len(payload) < length:
                raise _damaged(path, at, "it ends within a frame")
            if crc32(payload) != checksum:
                raise _damaged(path, at, "the checksum differs")
            sections = msgpack.unpackb(payload, use_list=True)
            # all sections are decoded from one frame, so they share its size
            for section in sections:
                if isinstance(section[NOTE], bytes):
                    table, name, size, crc, note = section
                    yield _File(table, path.with_name(name), size, crc, note)
                else:
                    yield _decoded(section, length // len(sections))
            at += HEAD.size + length
        if at != handed.size_bytes:
            raise _damaged(path, at, f"it should have {handed.size_bytes} bytes")


def _decoded(section: list[Any], size_bytes: int) -> _Section:
    table, wal, shapes, flat, deletes = section
    mutations: list[Mutation] = [
        Delete(row, at_ms, family, qualifier, wal) for row, at_ms, family, qualifier in deletes
    ]
    at, end = 0, len(flat)
    while at < end:
        shape = shapes[flat[at]]
        first = at + 3
        after = first + len(shape)
        mutations.append(Put(flat[at + 1], dict(zip(shape, flat[first:after], strict=True)), flat[at + 2], wal))
        at = after
    return _Section(table, wal, mutations, size_bytes)


def _gone(path: Path) -> IntegrityError:
    return IntegrityError(f"the handed-over file {path} is gone", hint=_AGAIN)


def _damaged(path: Path, at: int, what: str) -> IntegrityError:
    return IntegrityError(
        f"the handed-over file {path} is damaged at byte {at}: {what}", hint=f"check the disk, then {_AGAIN}"
    )
