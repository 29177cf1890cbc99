"""The folder of RocksDB: taken by one writer, followed by readers, written to in one piece."""

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from rocksdict import AccessType, IngestExternalFileOptions, Rdict, WriteBatch, WriteOptions

from ingest.api import FamilySpec, LifecycleError, NotFoundError
from ingest.durable import on_disk
from sinks.rocksdb import descriptors, neighbours, tables
from sinks.rocksdb.errors import OWNER, is_from_rocksdb, translated

T = TypeVar("T")


class Opened(NamedTuple):
    """
    An open database.

    Attributes:
        records: table -> family -> what it should be.
        column_families: name of a table's column family -> its reader; RocksDB stays open as long as one of them lives.
    """

    root: Rdict
    records: dict[str, dict[bytes, FamilySpec]]
    column_families: dict[str, Rdict]


class Database:
    """
    One folder, as its writer or as a reader.

    After an error nothing that RocksDB had in memory is trusted: the next use opens anew.

    Args:
        path: made when it is missing, by a writer.
        sync: whether writes with the log wait for the disk.
    """

    def __init__(self, path: Path, *, sync: bool, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.generation = 0
        self._until_look: dict[str, int] = {}
        self._opened: Opened | None = None
        self._is_wanted = False
        self._follower: tempfile.TemporaryDirectory[str] | None = None
        self._logged = WriteOptions()
        self._logged.sync = sync
        self._synced = WriteOptions()
        self._synced.sync = True
        self._unsynced = WriteOptions()
        self._unlogged = WriteOptions()
        # the stub of the package shows this property as a method
        self._unlogged.disable_wal = True  # type: ignore[method-assign, assignment]

    def open(self) -> None:
        """Take the folder, or begin to follow who has it."""
        self._is_wanted = True
        self.opened()

    def close(self) -> None:
        """Let go of the folder."""
        self._is_wanted = False
        self._let_go()

    def opened(self) -> Opened:
        """The database, as far as it is known."""
        if not self._is_wanted:
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
        """The database as it is now: a reader catches up with the writer."""
        opened = self.opened()
        if not self.read_only or self._has_caught_up(opened):
            return opened
        del opened
        self._let_go()
        return self.opened()

    def writable(self) -> Opened:
        """The database, to change it."""
        if self.read_only:
            raise LifecycleError("this store was opened for reading")
        return self.opened()

    def guarded(self, call: Callable[[], T]) -> T:
        """Do something with RocksDB; its errors become ours."""
        try:
            return call()
        except Exception as error:
            if not is_from_rocksdb(error):
                raise
            self._let_go()
            raise translated(error, self.path) from error

    def write(self, table: str, batch: WriteBatch, *, logged: bool) -> None:
        """Make a batch for one table durable, all of it or nothing."""
        opened = self.writable()
        root = opened.root

        def write() -> None:
            root.write(batch, self._logged if logged else self._unlogged)
            if not logged:
                opened.column_families[tables.column_family(table)].flush()

        self.guarded(write)

    def remember(self, key: bytes, value: bytes) -> None:
        """Write a record that outlives the process, but not always the machine."""
        root = self.writable().root
        self.guarded(lambda: root.put(key, value, self._unsynced))

    def take(self, table: str, file: Path) -> None:
        """Make a sorted file part of a table, all of it or nothing; it stays where it is."""
        opened = self.writable()
        options = IngestExternalFileOptions()
        taken = file
        with on_disk(file):
            second = file.with_name(f"{file.name}.taken")
            second.unlink(missing_ok=True)
            # RocksDB takes a second name for its own; where there can be none, it copies the file
            with suppress(OSError):
                second.hardlink_to(file)
                options.set_move_files(True)
                taken = second
        reader = opened.column_families[tables.column_family(table)]
        self.guarded(lambda: reader.ingest_external_file([str(taken)], options))

    def join_neighbours(self, table: str) -> None:
        """Make large files of small ones that lie side by side; done now and then, as files are taken."""
        left = self._until_look.get(table, 0)
        self._until_look[table] = (left or neighbours.LOOK_EVERY) - 1
        if left == 0:
            reader = self.writable().column_families[tables.column_family(table)]
            self.guarded(lambda: neighbours.join(reader))

    def add_families(self, table: str, missing: list[FamilySpec]) -> None:
        """Make families, and the table with them."""
        opened = self.writable()
        specs = {**opened.records.get(table, {}), **{family.name: family for family in missing}}
        name = tables.column_family(table)

        def make() -> None:
            # it is there already when a process was killed before it remembered the table
            if name not in opened.column_families:
                opened.column_families[name] = opened.root.create_column_family(name, tables.table_options())
            tables.compress(opened.column_families[name], specs.values())
            tables.write_record(opened.root, table, specs, self._synced)

        self.guarded(make)
        opened.records[table] = specs
        self.generation += 1

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Give a family that exists other options."""
        opened = self.writable()
        specs = opened.records[table] | {family.name: family}

        def change() -> None:
            tables.compress(opened.column_families[tables.column_family(table)], specs.values())
            tables.write_record(opened.root, table, specs, self._synced)

        self.guarded(change)
        opened.records[table] = specs
        self.generation += 1

    def _has_caught_up(self, opened: Opened) -> bool:
        try:
            opened.root.try_catch_up_with_primary()
            return tables.read_records(opened.root) == opened.records
        except Exception as error:
            if not is_from_rocksdb(error):
                raise
            # the writer removed a file meanwhile: begin to follow anew
            return False

    def _attach(self) -> Opened:
        descriptors.raise_limit()
        max_open = descriptors.max_open_of_reader(self.path) if self.read_only else descriptors.max_open()
        options = tables.database_options(max_open)
        exists = (self.path / "CURRENT").exists()
        if self.read_only and not exists:
            raise NotFoundError(f'there is no store at "{self.path}"', hint="it comes to be with the first write")
        names = Rdict.list_cf(str(self.path), options) if exists else []
        access = AccessType.read_write()
        if self.read_only:
            self._follower = tempfile.TemporaryDirectory(prefix="rocksdb-reader-")
            access = AccessType.secondary(self._follower.name)
        else:
            self.path.mkdir(parents=True, exist_ok=True)
        others = {name: tables.table_options() for name in names if name != "default"}
        root = Rdict(str(self.path), options, others, access)
        if not self.read_only:
            (self.path / OWNER).write_text(f"process {os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
            if root.get(tables.FORMAT_KEY) is None:
                root.put(tables.FORMAT_KEY, tables.FORMAT, self._synced)
        opened = Opened(root, tables.read_records(root), {name: root.get_column_family(name) for name in others})
        if not self.read_only:
            for table, specs in opened.records.items():
                tables.compress(opened.column_families[tables.column_family(table)], specs.values())
        return opened

    def _let_go(self) -> None:
        opened, self._opened = self._opened, None
        self.generation += 1
        if opened is not None:
            if not self.read_only:
                (self.path / OWNER).unlink(missing_ok=True)
            for part in (*opened.column_families.values(), opened.root):
                # this flushes, which fails when the disk did; what was acknowledged is in the log or in a file already
                with suppress(Exception):
                    part.close()
            opened.column_families.clear()
        if self._follower is not None:
            self._follower.cleanup()
            self._follower = None
