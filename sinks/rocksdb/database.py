"""The folder of RocksDB: one writer locks it, readers follow the writer."""

import os
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from rocksdict import AccessType, IngestExternalFileOptions, Rdict, WriteBatch, WriteOptions

from ingest.api import LifecycleError, NotFoundError
from ingest.durable import file_errors, make_folder, open_private
from sinks.rocksdb import descriptors, small_files, tables
from sinks.rocksdb.errors import OWNER, is_from_rocksdb, translated
from sinks.rocksdb.tables import TableRecord

T = TypeVar("T")


class Opened(NamedTuple):
    """
    An open database.

    Attributes:
        records: table -> its record.
        column_families: name of a table's column family -> its reader; RocksDB stays open while one of them exists.
    """

    root: Rdict
    records: dict[str, TableRecord]
    column_families: dict[str, Rdict]


class Database:
    """
    One folder, as its writer or as a reader.

    After an error the state in memory is not trusted: the next use reopens the database.

    Args:
        path: created by a writer if missing.
        sync: whether writes to the write-ahead log are synced.

    Attributes:
        generation: changes whenever tables must be reopened.
    """

    def __init__(self, path: Path, *, sync: bool, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.generation = 0
        self._files_until_check: dict[str, int] = {}
        self._opened: Opened | None = None
        self._is_open = False
        self._follower: tempfile.TemporaryDirectory[str] | None = None
        self._followed: tuple[int, int] | None = None  # as `_writer` when a reader opened the database
        self._syncs = sync
        self._logged = WriteOptions()
        self._logged.sync = sync
        self._synced = WriteOptions()
        self._synced.sync = True
        self._unsynced = WriteOptions()
        self._unlogged = WriteOptions()
        # the stub of the package shows this property as a method
        self._unlogged.disable_wal = True  # type: ignore[method-assign, assignment]

    def open(self) -> None:
        """Lock the folder, or start to follow its writer."""
        self._is_open = True
        self.opened()

    def close(self) -> None:
        """Release the folder."""
        self._is_open = False
        self._detach()

    def opened(self) -> Opened:
        """The open database; a reader does not catch up with the writer."""
        if not self._is_open:
            raise LifecycleError("the rocksdb store is not open")
        if self._opened is None:
            try:
                self._opened = self._attach()
            except Exception as error:
                if not is_from_rocksdb(error):
                    raise
                raise translated(error, self.path) from error
            self.generation += 1
        return self._opened

    def current(self) -> Opened:
        """The open database; a reader catches up with the writer."""
        opened = self.opened()
        if not self.read_only or self._has_caught_up(opened):
            return opened
        del opened
        self._detach()
        return self.opened()

    def writable(self) -> Opened:
        """The open database, for writes."""
        if self.read_only:
            raise LifecycleError("this store was opened for reading")
        return self.opened()

    def guarded(self, call: Callable[[], T]) -> T:
        """Call RocksDB and translate its errors."""
        try:
            return call()
        except Exception as error:
            if not is_from_rocksdb(error):
                raise
            self._detach()
            raise translated(error, self.path) from error

    def write(self, table: str, batch: WriteBatch, *, logged: bool) -> None:
        """Make a batch for one table durable, atomically."""
        opened = self.writable()
        root = opened.root

        def write() -> None:
            root.write(batch, self._logged if logged else self._unlogged)
            if not logged:
                opened.column_families[tables.column_family(table)].flush()

        self.guarded(write)

    def flush(self, table: str) -> None:
        """Write what is in memory of a table to a file."""
        opened = self.writable()
        self.guarded(opened.column_families[tables.column_family(table)].flush)

    def put_unsynced(self, key: bytes, value: bytes) -> None:
        """Write a record that survives a crash of the process, but not always of the machine."""
        root = self.writable().root
        self.guarded(lambda: root.put(key, value, self._unsynced))

    def ingest(self, table: str, file: Path) -> None:
        """
        Ingest a sorted file into a table, atomically; the file stays.

        The file is synced. So earlier writes are synced first: after a power failure no row is there without its change
        in a feed.
        """
        opened = self.writable()
        if not self._syncs:
            self.guarded(opened.root.flush_wal)
        options = IngestExternalFileOptions()
        source = file
        with file_errors(file):
            link = file.with_name(f"{file.name}.link")
            link.unlink(missing_ok=True)
            # RocksDB moves a hard link into its folder; if links are not supported it copies the file
            with suppress(OSError):
                link.hardlink_to(file)
                options.set_move_files(True)
                source = link
        reader = opened.column_families[tables.column_family(table)]
        self.guarded(lambda: reader.ingest_external_file([str(source)], options))

    def merge_small_files(self, table: str) -> None:
        """Merge adjacent small files, once for a number of ingested files."""
        remaining = self._files_until_check.get(table, 0)
        self._files_until_check[table] = (remaining or small_files.CHECK_EVERY) - 1
        if remaining == 0:
            reader = self.writable().column_families[tables.column_family(table)]
            self.guarded(lambda: small_files.merge(reader))

    def record_table(self, table: str, record: TableRecord) -> None:
        """Create a table, or replace its record; existing files get a new compression when they are compacted."""
        opened = self.writable()
        name = tables.column_family(table)

        def write() -> None:
            # without a record it exists if a process was killed before it wrote one
            if name not in opened.column_families:
                opened.column_families[name] = opened.root.create_column_family(name, tables.table_options())
            tables.compress(opened.column_families[name], record.families.values())
            tables.write_record(opened.root, table, record, self._synced)

        self.guarded(write)
        opened.records[table] = record
        self.generation += 1

    def properties(self, table: str) -> Mapping[str, str]:
        """The properties of a table, which need not exist."""
        root = self.current().root
        return self.guarded(lambda: tables.read_properties(root, table))

    def record_properties(self, table: str, properties: Mapping[str, str]) -> None:
        """Replace the properties of a table; readers see them without reopening the database."""
        root = self.writable().root
        self.guarded(lambda: tables.write_properties(root, table, properties, self._synced))

    def _writer(self) -> tuple[int, int] | None:
        """Identifies the process that writes, or that was killed; None without one."""
        try:
            found = (self.path / OWNER).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _has_caught_up(self, opened: Opened) -> bool:
        # what a writer flushes at its end can be behind older values in the memory of a reader, which it does not drop
        if self._writer() != self._followed:
            return False
        try:
            opened.root.try_catch_up_with_primary()
            return tables.read_records(opened.root) == opened.records
        except Exception as error:
            if not is_from_rocksdb(error):
                raise
            # the writer has removed a file: reopen
            return False

    def _attach(self) -> Opened:
        descriptors.raise_limit()
        max_open = descriptors.max_open_of_reader(self.path) if self.read_only else descriptors.max_open()
        options = tables.database_options(max_open)
        exists = (self.path / "CURRENT").exists()
        if self.read_only and not exists:
            raise NotFoundError(
                f'there is no store at "{self.path.absolute()}"',
                hint="the first write creates it; if there is one, the command runs in another folder than the service",
            )
        self._followed = self._writer()
        names = Rdict.list_cf(str(self.path), options) if exists else []
        access = AccessType.read_write()
        if self.read_only:
            self._follower = tempfile.TemporaryDirectory(prefix="rocksdb-reader-")
            access = AccessType.secondary(self._follower.name)
        else:
            make_folder(self.path)
        others = {name: tables.table_options() for name in names if name != "default"}
        root = Rdict(str(self.path), options, others, access)
        if not self.read_only:
            with open_private(self.path / OWNER, "wb") as file:
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            if root.get(tables.FORMAT_KEY) is None:
                root.put(tables.FORMAT_KEY, tables.FIRST_FORMAT, self._synced)
        opened = Opened(root, tables.read_records(root), {name: root.get_column_family(name) for name in others})
        if not self.read_only:
            for table, record in opened.records.items():
                tables.compress(opened.column_families[tables.column_family(table)], record.families.values())
        return opened

    def _detach(self) -> None:
        opened, self._opened = self._opened, None
        self.generation += 1
        if opened is not None:
            if not self.read_only:
                (self.path / OWNER).unlink(missing_ok=True)
            for part in (*opened.column_families.values(), opened.root):
                # closing flushes, which fails with the disk; acknowledged writes are already in the log or a file
                with suppress(Exception):
                    part.close()
            opened.column_families.clear()
        if self._follower is not None:
            self._follower.cleanup()
            self._follower = None
