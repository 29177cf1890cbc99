"""Applies the files of `sinks.writing.staging` to their store, on the driver."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgpack

from ingest import failpoint
from ingest.api import ConflictError, FileStore, IntegrityError, LifecycleError, Mutation, Store
from ingest.durable import file_errors
from sinks.writing.sections import mutations_of
from sinks.writing.staging import HEAD, METADATA, StagedFile, size_and_crc

APPLY_BYTES = 8 << 20
"""Frames are merged into calls of at most this size: one sync each, and bounded memory."""
_RUN_AGAIN = "start the service: the batch is read from its source and runs again"


class _DecodedSection(NamedTuple):
    """Mutations of one table and durability."""

    table: str
    durability: str
    mutations: list[Mutation]
    size_bytes: int


class _File(NamedTuple):
    """A file in the store's own format, as the task wrote it."""

    table: str
    path: Path
    size_bytes: int
    checksum: int
    metadata: bytes


def apply_staged(store: Store[Any], files: Sequence[StagedFile]) -> None:
    """
    Apply staged files to their store; returns once all mutations are durable.

    It is idempotent. The files stay; the caller removes them.

    Args:
        store: open.
        files: in the order of the tasks.

    Raises:
        IntegrityError: a file is missing or damaged; the message names file and position.
        ConflictError: a table has another number of buckets than the rows in a file; nothing is written.
        StoreError: the store failed to write.
    """
    for staged in files:
        for table, buckets in staged.buckets.items():
            if store.buckets(table) != buckets:
                raise ConflictError(
                    f'the number of buckets of table "{table}" changed after its rows were staged',
                    hint="repeat the write; a service repeats it when it is started again",
                )
    pending = _Pending(store)
    for one in files:
        for section in _sections(one):
            if isinstance(section, _File):
                pending.send()  # keep the order of a table's rows
                pending.before_each_send()
                _ingest(store, section)
            else:
                pending.add(section)
    pending.send()


class _Pending:
    """Sections that are not sent yet; those of a table are one call."""

    def __init__(self, store: Store[Any]) -> None:
        self.before_each_send = failpoint.sends()
        self._store = store
        self._sections: dict[str, _DecodedSection] = {}
        self._size = 0

    def add(self, section: _DecodedSection) -> None:
        """Add a section; send the earlier ones if they may not be sent together."""
        if self._size + section.size_bytes > APPLY_BYTES:
            self.send()
        earlier = self._sections.setdefault(section.table, section)
        if earlier.durability != section.durability:
            self.send()  # a call has one durability; keep the order of a table's rows
            self._sections[section.table] = section
        elif earlier is not section:
            earlier.mutations.extend(section.mutations)
        self._size += section.size_bytes

    def send(self) -> None:
        """Send all sections."""
        for table, section in self._sections.items():
            self.before_each_send()
            self._store.apply(table, section.mutations)
        self._sections.clear()
        self._size = 0


def _ingest(store: Store[Any], file: _File) -> None:
    if not isinstance(store, FileStore):
        raise LifecycleError(f"a {store.kind} store received a staged file of another store")
    with file_errors(file.path):
        try:
            found = size_and_crc(file.path)
        except FileNotFoundError:
            raise _gone(file.path) from None
    if found != (file.size_bytes, file.checksum):
        raise _damaged(file.path, 0, f"it should have {file.size_bytes} bytes with the checksum {file.checksum:08x}")
    store.ingest_file(file.table, str(file.path), file.metadata)


def _sections(staged: StagedFile) -> Iterator[_DecodedSection | _File]:
    path = Path(staged.path)
    with file_errors(path):
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
            if at + HEAD.size + length > staged.size_bytes:
                raise _damaged(path, at, "a frame is longer than the file")
            payload = file.read(length)
            if len(payload) < length:
                raise _damaged(path, at, "it ends within a frame")
            if crc32(payload) != checksum:
                raise _damaged(path, at, "the checksum differs")
            sections = msgpack.unpackb(payload)
            # the size of a frame is divided equally among its sections
            for section in sections:
                if isinstance(section[METADATA], bytes):
                    table, name, size, crc, metadata = section
                    yield _File(table, path.with_name(name), size, crc, metadata)
                else:
                    yield _decoded(section, length // len(sections))
            at += HEAD.size + length
        if at != staged.size_bytes:
            raise _damaged(path, at, f"it should have {staged.size_bytes} bytes")


def _decoded(section: list[Any], size_bytes: int) -> _DecodedSection:
    table, durability = section[0], section[1]
    return _DecodedSection(table, durability, mutations_of(section), size_bytes)


def _gone(path: Path) -> IntegrityError:
    return IntegrityError(f"the staged file {path} is gone", hint=_RUN_AGAIN)


def _damaged(path: Path, at: int, what: str) -> IntegrityError:
    return IntegrityError(
        f"the staged file {path} is damaged at byte {at}: {what}", hint=f"check the disk, then {_RUN_AGAIN}"
    )
