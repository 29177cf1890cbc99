"""A blob store: everything that can be done with its blobs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import orjson

from ingest.api import ConfigError, NoTableError, NotFoundError, Store
from ingest.api.notation import shown
from ingest.clock import now_ms
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.checking import DeadLetters, Finding, checked
from sinks.blobs.errors import BlobsDifferError, BlobsElsewhereError, BlobsOfOtherTableError
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.pointers import CellReferences
from sinks.blobs.reading import BlobReader
from sinks.blobs.references import CELL_REFERENCE, check_references, unreadable
from sinks.blobs.retention_horizon import Copy, RetentionHorizon
from sinks.blobs.spool import ReadableBytes
from sinks.blobs.status import BlobStatus, new_nonce
from sinks.blobs.sweep import Sweep, SweepCounts
from sinks.blobs.tables import BlobTables
from sinks.blobs.writing import BlobWriter, StoredBlob
from sinks.scanning.stored_rows import has_rows

LAYOUT = "blobs"
"""Property of the table of metadata: the options that cannot change."""
OWNER = "blobs_of"
"""Property of the table of metadata: the table whose cells may have pointers."""
BLOB_STORE = "blob_store"
"""Property of that table: the blob store that has the blobs of its pointers."""


class BlobStore:
    """
    Stores and reads blobs; called by one thread.

    A blob is stored once for each content: its id is the SHA-256 of its bytes. A blob that nothing refers to is deleted
    by a sweep `sweep_after` later; `pin` writes a reference, `unpin` removes it.

    Other processes may use the same blob store at the same time, with a store that several processes may write. All
    methods may be repeated after a crash.

    Args:
        store: open for writing, or for reading if only reading methods are called.
        name: prefix of its three tables.
        options: of the blob store.
        owner: name of the table whose cells may have pointers to blobs; None if there is none.
        clock_ms: milliseconds since the epoch.
        nonce: returns a text that no other call returns.
    """

    def __init__(
        self,
        store: Store[Any],
        name: str,
        options: BlobOptions,
        *,
        owner: str | None = None,
        clock_ms: Callable[[], int] = now_ms,
        nonce: Callable[[], str] = new_nonce,
    ) -> None:
        self._store = store
        self._owner = owner
        self._cells = None if owner is None else CellReferences(store, owner)
        self._names = BlobTables(name)
        self._options = options
        self._tables = OpenTables(store, self._names, clock_ms=clock_ms, nonce=nonce)

    def prepare(self) -> None:
        """
        Create the tables if the store creates tables at the first write, and record the owner, and the options that
        cannot change.

        Raises:
            NoTableError: the store has no such tables, and they must be created first.
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: as `claim`.
            BlobsElsewhereError: as `claim`.
            StoreError: the store is unavailable.
        """
        self.check_owner()
        if self._store.capabilities.creates_tables:
            for spec in self._names.specs():
                self._store.ensure_table(spec)
        for spec in self._names.specs():
            if self._store.families(spec.name) is None:
                raise NoTableError(f'there is no table "{spec.name}"')
        if not self._store.set_property(self._names.meta, LAYOUT, None, self._layout()):
            self.check()
        self._record_owner()
        self._tables.statuses.record_store_id()

    def claim(self) -> None:
        """
        Record the owner with the blob store, and the blob store with its owner; without an owner do nothing.

        The record of an earlier blob store is replaced if that has no blobs.

        Raises:
            BlobsOfOtherTableError: the blob store belongs to another table.
            BlobsElsewhereError: the owner has another blob store, which has blobs.
            StoreError: the store is unavailable.
        """
        self.check_owner()
        self._record_owner()

    def check(self) -> None:
        """
        Compare the owner, and the options that cannot change, with those that are recorded; writes nothing.

        Raises:
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: as `claim`.
            BlobsElsewhereError: as `claim`.
            StoreError: the store is unavailable.
        """
        self.check_owner()
        recorded = self._store.properties(self._names.meta).get(LAYOUT)
        if recorded is not None and recorded != self._layout():
            raise BlobsDifferError(self._names.meta, self._layout(), recorded)

    def check_owner(self) -> None:
        """
        Compare the owner with the one that is recorded, and the blob store with that of the owner; writes nothing.

        Raises:
            BlobsOfOtherTableError: as `claim`.
            BlobsElsewhereError: as `claim`.
            StoreError: the store is unavailable.
        """
        if self._owner is None:
            return
        recorded = self._store.properties(self._names.meta).get(OWNER)
        if recorded is not None and recorded != self._owner:
            raise BlobsOfOtherTableError(self._names.name, self._owner, recorded)
        self._check_elsewhere(self._store.properties(self._owner).get(BLOB_STORE))

    def put(
        self,
        source: ReadableBytes,
        *,
        expected: bytes | None = None,
        references: Iterable[bytes] = (),
        on_piece: Callable[[], None] = lambda: None,
    ) -> StoredBlob:
        """
        Store a blob; as `BlobWriter.put`, after `prepare`.

        Raises:
            ConfigError: a reference is empty, too long, or begins with a zero byte.
        """
        references = list(references)
        check_references(references)
        return BlobWriter(self._tables, self._options, on_piece).put(source, expected=expected, references=references)

    def put_bytes(self, blob: bytes, *, references: Iterable[bytes] = ()) -> StoredBlob:
        """Store a blob that is in memory; as `put`."""
        references = list(references)
        check_references(references)
        return BlobWriter(self._tables, self._options).put_bytes(blob, references)

    def put_value(self, value: bytes, reference: bytes) -> StoredBlob:
        """Store the value of a cell, with the reference of the cell (`sinks.blobs.pointers`)."""
        return BlobWriter(self._tables, self._options).put_bytes(value, [reference])

    def open(self, blob: bytes) -> BlobReader:
        """
        A blob as a file; raises as `BlobReader`.

        Raises:
            BlobsElsewhereError: there is no such blob, and the owner has another blob store.
        """
        with self._explained():
            return BlobReader(blob, self._tables, read_ahead_bytes=self._options.read_ahead_bytes)

    def stat(self, blob: bytes) -> BlobStatus:
        """
        The status of a blob, in any state.

        Without `unreferenced_since_ms` also if it was written in another blob store, until a sweep has looked at it.

        Raises:
            NotFoundError: the store has never had it, or has forgotten it after a sweep.
            BlobsElsewhereError: the same, and the owner has another blob store.
        """
        with self._explained():
            status = self._tables.statuses.read(blob)
            if status is None:
                raise unreadable(blob, status)
        is_own = status.store_id == self._tables.statuses.store_id()
        return status if is_own else replace(status, unreferenced_since_ms=None)

    def references(self, blob: bytes) -> list[bytes]:
        """The references to a blob, in byte order."""
        return self._tables.references.of(blob)

    def pin(self, blob: bytes, reference: bytes) -> None:
        """
        Write a reference to a blob; as `References.pin`.

        Raises:
            ConfigError: the reference is empty, too long, or begins with a zero byte.
        """
        check_references([reference])
        self._tables.references.pin(blob, reference)

    def pin_cell(self, blob: bytes, reference: bytes) -> None:
        """Write the reference of a cell (`sinks.blobs.pointers`) to a blob; as `References.pin`."""
        self._tables.references.pin(blob, reference)

    def unpin(self, blob: bytes, reference: bytes) -> None:
        """
        Remove a reference; as `References.unpin`.

        Raises:
            ConfigError: the reference is of a cell, and the blob can be read.
        """
        status = self._tables.statuses.read(blob)
        if reference.startswith(CELL_REFERENCE) and status is not None and status.is_readable:
            raise ConfigError(
                f"the reference {shown(reference)} is of a cell",
                hint="delete the cell; a sweep then removes the reference",
            )
        self._tables.references.unpin(blob, reference)

    def sweep(
        self,
        horizon: RetentionHorizon | None = None,
        *,
        is_dry_run: bool = False,
        on_purge: Callable[[bytes], None] = lambda _blob: None,
        on_named: Callable[[bytes, Copy], None] = lambda _blob, _copy: None,
    ) -> SweepCounts:
        """Delete what nothing refers to; as `new_sweep`, for all blobs."""
        sweep = self.new_sweep(horizon, is_dry_run=is_dry_run, on_purge=on_purge, on_named=on_named)
        sweep.run()
        if sweep.counts.purged and not is_dry_run:
            self.flush_removed()
        return sweep.counts

    def flush_removed(self) -> None:
        """Let the store free the space of deleted blobs soon; called once, after a whole sweep."""
        self._tables.blocks.flush_removed()

    def new_sweep(
        self,
        horizon: RetentionHorizon | None = None,
        *,
        is_dry_run: bool = False,
        on_purge: Callable[[bytes], None] = lambda _blob: None,
        on_named: Callable[[bytes, Copy], None] = lambda _blob, _copy: None,
    ) -> Sweep:
        """
        A sweep, for a caller that looks at some blobs at a time.

        Args:
            horizon: the dumps that may name blobs; None without dumps. The change feed of the table is added.
            is_dry_run: as in `Sweep`.
            on_purge: as in `Sweep`.
            on_named: as in `Sweep`.

        Raises:
            BlobsOfOtherTableError: as `claim`: all references of the other table would seem to be dead.
            BlobsElsewhereError: as `claim`.
            IntegrityError: the change feed cannot be read.
            StoreError: the store is unavailable.
        """
        if is_dry_run:
            self.check_owner()
        else:
            self.claim()
            self._tables.statuses.record_store_id()
        horizon = horizon or RetentionHorizon(self._tables.statuses.clock_ms())
        return Sweep(
            self._tables,
            self._cells,
            sweep_after_ms=self._options.sweep_after_ms,
            horizon=horizon if self._owner is None else horizon.with_feed(self._store, self._owner),
            is_dry_run=is_dry_run,
            on_purge=on_purge,
            on_named=on_named,
        )

    def checked(
        self, dead_letters: DeadLetters | None = None, *, is_repair: bool = False
    ) -> Iterator[Finding | int | None]:
        """
        What is damaged, orphaned, dangling or unneeded, and how far the check is; as `sinks.blobs.checking.checked`.

        Raises:
            BlobsOfOtherTableError: as `claim`.
            BlobsElsewhereError: as `claim`.
        """
        self.check_owner()
        after_ms = self._options.sweep_after_ms
        return checked(self._tables, self._cells, dead_letters, sweep_after_ms=after_ms, is_repair=is_repair)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Surrounds a read: a blob that is not found may be in another blob store of the owner."""
        try:
            yield
        except NotFoundError:
            self.check_owner()
            raise

    def _record_owner(self) -> None:
        """Record both, after `check_owner`."""
        if self._owner is None:
            return
        if not self._store.set_property(self._names.meta, OWNER, None, self._owner):
            self.check_owner()
        while (recorded := self._store.properties(self._owner).get(BLOB_STORE)) != self._names.name:
            self._check_elsewhere(recorded)
            self._store.set_property(self._owner, BLOB_STORE, recorded, self._names.name)

    def _check_elsewhere(self, recorded: str | None) -> None:
        """Refuse another blob store of the owner that has blobs."""
        if self._owner is None or recorded is None or recorded == self._names.name:
            return
        meta = BlobTables(recorded).meta
        if self._store.families(meta) is not None and has_rows(self._store, meta):
            raise BlobsElsewhereError(self._owner, self._names.name, recorded)

    def _layout(self) -> str:
        layout = {"block_size": self._options.block_bytes, "compression": self._options.compression.value}
        return orjson.dumps(layout, option=orjson.OPT_SORT_KEYS).decode()
