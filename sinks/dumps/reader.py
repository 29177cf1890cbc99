"""Reads dumps: the public Python API of dumps."""

import logging
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from ingest.api import StoreUnavailableError
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.durable.files import DiskDeniedError
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.formats.times import moment_of
from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.file_ref import FileRef
from sinks.dumps.layout import dump_name, dump_time
from sinks.dumps.listing import (
    Dump,
    DumpFile,
    complete_dump,
    complete_dumps,
    named_latest,
    newest_dump,
    readable_dump,
)
from sinks.dumps.pins import DEFAULT_TTL_MS, Pin, create_pin
from sinks.dumps.reading import Document, DumpIterator, OnBad, documents_of, rows_of
from sinks.dumps.rows import DumpRow
from sinks.files.opening import open_root
from sinks.files.root import Root

T = TypeVar("T")

LATEST_CACHED_MS = 120_000
"""A reader that is not locked finds a newer dump after so long."""

_RENEWALS = 24  # of a pin within its time to live
_ROWS_PER_RENEWAL = 1_000  # after so many the clock is read
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Locked:
    dump: Dump
    pin: Pin | None


class DumpReader:
    """
    Reads the dumps of a root.

    An unlocked reader reads the newest complete dump, and finds a newer one after two minutes at most. A locked one
    stays with its dump, which does not expire meanwhile. Called by one thread.

    Args:
        root: a path, a URL or an opened root.
        clock_ms: milliseconds since the epoch.
        owner: of its pins, for people; this process by default.

    Raises:
        ConfigError: the URL cannot be opened.
    """

    def __init__(self, root: str | Root, *, clock_ms: Callable[[], int] = now_ms, owner: str = "") -> None:
        self._root = open_root(root) if isinstance(root, str) else root
        self._clock_ms = clock_ms
        self._owner = owner
        self._locked: _Locked | None = None
        self._newest: tuple[int, Dump] | None = None
        self._has_warned = False
        self._renewed_ms = self._ttl_ms = 0

    @property
    def locked_dump(self) -> str | None:
        """The dump to which the reader is locked; None if it is not."""
        return None if self._locked is None else self._locked.dump.name

    def dumps(self) -> list[Dump]:
        """Complete dumps, oldest first."""
        with file_errors(self._root):
            return complete_dumps(self._root, self._warn)

    def latest(self) -> Dump:
        """
        The newest complete dump, or the one to which the reader is locked.

        Raises:
            DumpNotAvailableError: there is none.
        """
        if self._locked is not None:
            self._renew(self._locked)
            return self._locked.dump
        now = self._clock_ms()
        if self._newest is None or not 0 <= now - self._newest[0] < LATEST_CACHED_MS:
            with file_errors(self._root):
                newest = newest_dump(self._root, self._warn)
                named = named_latest(self._root)
                is_wrong = named != newest.name and (named is None or readable_dump(self._root, named) is None)
            if is_wrong:
                self._warn(f'"_LATEST" names no complete dump; the newest is "{newest.name}"')
            self._newest = now, newest
        return self._newest[1]

    def lock(
        self,
        at: str | None = None,
        *,
        pin: bool = True,
        ttl_ms: int = DEFAULT_TTL_MS,
        on_unpinned: Callable[[str], object] | None = None,
    ) -> str:
        """
        Stay with one dump from now on; returns its name. An earlier lock ends if this one succeeds.

        Args:
            at: name of the dump, or its start as in "2026-01-31T02:00:00Z"; None for the newest.
            pin: write a pin below the root, so that the dump does not expire; it is renewed while the reader reads.
            ttl_ms: how long the pin is valid without a renewal.
            on_unpinned: called with the reason if no file may be written below the root; the reader then stays with the
                dump without a pin, so that it may expire meanwhile. None raises the error.

        Raises:
            DumpNotAvailableError: there is no such complete dump.
            ConfigError: it is no time.
            StoreUnavailableError: the root is unavailable, or the pin cannot be written.
        """
        with file_errors(self._root):
            dump = newest_dump(self._root, self._warn) if at is None else self._complete(name_of(at))
        created = self._pin(dump.name, ttl_ms, on_unpinned) if pin else None
        before, self._locked = self._locked, _Locked(dump, created)
        self._renewed_ms, self._ttl_ms = self._clock_ms(), ttl_ms
        self._unpin(before)
        return dump.name

    def unlock(self) -> None:
        """Read the newest dump again; nothing if the reader is not locked."""
        before, self._locked, self._newest = self._locked, None, None
        self._unpin(before)

    close = unlock

    def locked_view(
        self,
        at: str | None = None,
        *,
        pin: bool = True,
        ttl_ms: int = DEFAULT_TTL_MS,
        on_unpinned: Callable[[str], object] | None = None,
    ) -> "DumpReader":
        """Another reader, locked to one dump; a context manager. Arguments and errors as in `lock`."""
        view = DumpReader(self._root, clock_ms=self._clock_ms, owner=self._owner)
        view.lock(at, pin=pin, ttl_ms=ttl_ms, on_unpinned=on_unpinned)
        return view

    def tables(self) -> list[str]:
        """
        Tables of the dump that have rows, sorted.

        Raises:
            DumpNotAvailableError: there is no complete dump.
        """
        dump = self.latest()
        with file_errors(self._root):
            return dump.tables()

    def table_metadata(self, table: str) -> list[DumpFile]:
        """
        The files of a table with their sizes and, if the dump has a manifest, their rows and checksums.

        Raises:
            IngestError: as `files`.
        """
        dump = self.latest()
        with file_errors(self._root):
            return dump.files(table)

    def files(self, table: str) -> list[FileRef]:
        """
        The files of a table, in the order of the ranges of its physical row keys.

        Raises:
            DumpNotAvailableError: there is no complete dump.
            TableNotDumpedError: the table had no rows.
            TableNotInDumpError: the dump does not know the table.
        """
        dump = self.latest()
        with file_errors(self._root):
            return [FileRef(dump.name, table, file.path, file.size_bytes) for file in dump.files(table)]

    def read(self, ref: FileRef | str, *, skip_bad: bool = False) -> DumpIterator[DumpRow]:
        """
        The rows of a file, or of its token; in the order of their row keys.

        Args:
            ref: to a file of any dump, also of another one than that to which the reader is locked.
            skip_bad: skip lines that are damaged, and count them in `DumpIterator.skipped`.

        Raises:
            DumpNotAvailableError: the dump has expired.
            DumpCorruptError: the file is damaged; the rows before the damage come first.
            ConfigError: the token is damaged.
        """
        return self._read([_ref(ref)], rows_of, skip_bad=skip_bad)

    def scan(self, table: str, *, skip_bad: bool = False) -> DumpIterator[DumpRow]:
        """
        All rows of a table in one dump, also if there is a newer one meanwhile.

        They are in the order of their physical keys: those of a salted table bucket by bucket.

        Raises:
            IngestError: as `files` and `read`.
        """
        return self._read(self.files(table), rows_of, skip_bad=skip_bad)

    def column_types(self, table: str, dump: str | None = None) -> ColumnTypes:
        """
        The types of the columns of a table, as the pipeline file declared them when the dump was made.

        Args:
            table: its name; a table that the dump does not know has no types.
            dump: name of a dump; by default the one that is read.

        Raises:
            DumpNotAvailableError: there is no complete dump.
        """
        with file_errors(self._root):
            found = self.latest() if dump is None else self._complete(dump)
        dumped = None if found.manifest is None else found.manifest.tables.get(table)
        return AS_BYTES if dumped is None else dumped.types

    def documents(self, *refs: FileRef | str, skip_bad: bool = False) -> DumpIterator[Document]:
        """The JSON objects of files or their tokens as they are; also those of EmoDB. Errors as in `read`."""
        return self._read(list(map(_ref, refs)), documents_of, skip_bad=skip_bad)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _read(
        self, refs: list[FileRef], read: "Callable[[Root, FileRef, OnBad], Generator[T]]", *, skip_bad: bool
    ) -> DumpIterator[T]:
        def make(on_bad: OnBad) -> Generator[T]:
            for ref in refs:
                with closing(read(self._root, ref, on_bad)) as items:
                    for number, item in enumerate(items, start=1):
                        if number % _ROWS_PER_RENEWAL == 0 and self._locked is not None:
                            self._renew(self._locked)
                        yield item

        return DumpIterator(make, skip_bad=skip_bad)

    def _complete(self, name: str) -> Dump:
        dump = complete_dump(self._root, name)
        if dump is None:
            raise DumpNotAvailableError(
                f'there is no complete dump "{name}" in "{self._root}"', hint="'attr2hbase dump ls' lists them"
            )
        return dump

    def _pin(self, dump: str, ttl_ms: int, on_unpinned: Callable[[str], object] | None) -> Pin | None:
        try:
            with file_errors(self._root):
                return create_pin(self._root, dump, self._clock_ms(), owner=self._owner, ttl_ms=ttl_ms)
        except StoreUnavailableError as error:
            if on_unpinned is None or not isinstance(error, DiskDeniedError):
                raise
            on_unpinned(error.message)
            return None

    def _unpin(self, locked: _Locked | None) -> None:
        if locked is not None and locked.pin is not None:
            with file_errors(self._root):
                self._root.remove_file(locked.pin.path)

    def _renew(self, locked: _Locked) -> None:
        """
        Renew the pin in time; while it is valid, a root that cannot be written does not end the read.

        Raises:
            StoreUnavailableError: it is not valid any more and cannot be renewed.
        """
        now = self._clock_ms()
        since_ms = now - self._renewed_ms
        if locked.pin is None or since_ms < self._ttl_ms // _RENEWALS:
            return
        try:
            with file_errors(self._root):
                replace(locked.pin, expires_ms=now + self._ttl_ms).write(self._root)
        except StoreUnavailableError as error:
            if since_ms >= self._ttl_ms:
                raise
            self._warn(f"the pin of {locked.dump.name} is not renewed, and ends in time: {error.message}")
        else:
            self._renewed_ms = now

    def _warn(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning('dumps in "%s": %s', self._root, message)


def name_of(at: str) -> str:
    """
    The dump of a name, or of a start as in "2026-01-31T02:00:00Z".

    Raises:
        ConfigError: it is neither.
    """
    return at if dump_time(at) is not None else dump_name(moment_of(at))


def _ref(ref: FileRef | str) -> FileRef:
    return ref if isinstance(ref, FileRef) else FileRef.of_token(ref)
