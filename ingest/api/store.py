"""The contract of every store: memory, RocksDB and HBase."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ingest.api.cells import Delete, Durability, FamilySpec, Mutation, Put, Row, StoredRegion, TableSpec
from ingest.api.component import ComponentBase
from ingest.api.errors import IngestError, LifecycleError
from ingest.api.notation import shown
from ingest.api.scans import ALL_TIMES, Scan, ScanCounts, TimeRange
from ingest.api.settings import StoreSettings
from ingest.api.sink import BusyWait
from ingest.api.store_errors import SchemaError

S = TypeVar("S", bound=StoreSettings)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """
    What a store can do. Callers check them before a call; the contract suite skips tests by these alone.

    Attributes:
        written_by_driver: only one process may write, so tasks stage their mutations for the driver.
        creates_families: `ensure_table` adds a family to a live table, and `change_family` changes one.
        creates_tables: a missing table is created at the first write.
        deletes_versions: `apply` accepts a `Delete` that is exact; other stores reject it.
        freezes: `freeze` returns a view of all tables at one moment.
        mixes_puts: `apply` sends puts of several timestamps, durabilities and times to live in one call; another store
            may need a call for each of them.
        call_s: longest time of a call, in seconds: it may be executed so long after it was begun, also if the process
            that began it has ended.
    """

    written_by_driver: bool
    creates_families: bool
    creates_tables: bool
    deletes_versions: bool = False
    freezes: bool = False
    mixes_puts: bool = False
    call_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FrozenView(Generic[S]):
    """
    All tables of a store as they were at one moment, with their records.

    Attributes:
        settings: `Store.reader` opens the view with them, in any process of this machine.
        at_ms: the moment, in milliseconds since the epoch; cells that have expired since then are still read.
        remove: frees the space of the view; called when no reader is open, by any thread, also more than once.
    """

    settings: S
    at_ms: int
    remove: Callable[[], None]


class Store(ComponentBase[S]):
    """
    A store of tables with rows, families and versioned cells.

    Called by one thread. Order: constructed (no I/O), open, then any number of the other calls, then close. Closing
    twice, or without open, is allowed. After apply returns, the mutations survive a crash of this process and, with the
    WAL on, of one server. apply is idempotent.

    A store never batches or logs: its caller does. It repeats a call only for a few seconds, while a server moves the
    data or says how long to wait; all other retries are its caller's.

    HBase's rules hold in every store:

    - A cell is family, qualifier, timestamp, value. The newest timestamp wins, not the last call.
    - Of two puts of one cell with one timestamp, the last call wins.
    - A delete hides cells with a timestamp up to its own, including cells written later, until the store compacts. An
      exact delete does so with the one version that has its timestamp.
    - Rows come in byte order of their keys.
    """

    settings_base = StoreSettings
    capabilities: Capabilities  # of the class, or of one store where its options decide

    @classmethod
    def of(cls, settings: S) -> "Store[S]":
        """A store with these settings, which may choose a subclass of the class that a catalog names."""
        return cls(settings)

    @classmethod
    def reader(cls, settings: S) -> "Store[S]":
        """A read-only store, which may be open while another process writes."""
        return cls.of(settings)

    @abstractmethod
    def open(self) -> None:
        """
        Connect to the store.

        Raises:
            StoreUnavailableError: it cannot be reached.
            ConflictError: another process has locked it; the message names the owner.
        """

    @abstractmethod
    def close(self) -> None:
        """Release all resources; may be called twice or without open."""

    @abstractmethod
    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Make mutations durable, in order.

        A put is atomic. Whether several mutations of one row are depends on the store, and no caller relies on it. A
        store with a limit on the size of a put says so in its settings (`max_put_bytes`).

        Raises:
            WriteRejectedError: some rows can never be written; the others may have been written.
            StoreUnavailableError: no connection or no answer; the outcome is unknown, so repeat the call.
            StoreBusyError: call again later.
            StoreRefusedError: the store refuses every write to this table for now.
        """

    def remove_rows(self, table: str, deletes: Sequence[Delete]) -> None:
        """
        Delete rows whose row keys are never written again. Durable when it returns; idempotent.

        A store may free their space at once: it needs no delete that hides cells written later. By default `apply`.

        Args:
            table: its name.
            deletes: of whole rows, at or after the times of all their cells.

        Raises:
            StoreError: as `apply`.
        """
        self.apply(table, deletes)

    def flush_removed(self, table: str) -> None:
        """Let the store free the space of removed rows soon, after many calls of `remove_rows`; by default nothing."""

    def take_busy_waits(self) -> list[BusyWait]:
        """
        The waits of `apply` for overloaded servers, since the last call of this method.

        Most stores do not wait: they raise StoreBusyError, and their caller waits.
        """
        return []

    def take_counted(self) -> Counter[tuple[str, str]]:
        """What features of tables have counted since the last call of this method, as `WriteCounts.counted`."""
        return Counter()

    def region_starts(self, table: str) -> Sequence[bytes]:  # noqa: ARG002 - for stores with regions
        """Physical row keys, in order, where parts of a table start that may fail alone; by default there are none."""
        return ()

    @abstractmethod
    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """
        One row, or None if it has no such cells.

        Args:
            table: its name.
            row: the row key.
            columns: as in `Scan`.
            versions: as in `Scan`.
            times: as in `Scan`.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """
        Rows of a range, in byte order; memory is bounded by one page. Closing it releases what it holds in the store.

        Args:
            table: its name.
            scan: which rows.
            counts: the store adds the work of the scan to it while the caller reads the rows.

        Raises:
            NotFoundError: there is no such table.
        """

    def freeze(self) -> FrozenView[S]:
        """
        A view of all tables that later writes do not change; only of stores that have `freezes`.

        The store must be open for writing. A view that is not removed is removed when another process next opens the
        store for writing.

        Raises:
            StoreError: as `apply`.
        """
        raise LifecycleError(f"{self} has no frozen views")

    @abstractmethod
    def ensure_table(self, spec: TableSpec) -> None:
        """
        Create the table, or its missing families; what exists stays as it is.

        The number of buckets is recorded with the table, and changes only while the table has no rows.

        Raises:
            SchemaError: something is missing that this store cannot add to a live table, or the table has rows and
                another number of buckets.
        """

    @abstractmethod
    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Change the options of a family of a live table; options that `FamilySpec` lacks stay as they are.

        When it returns, reads no longer see cells beyond the new number of versions or the new time to live.

        Raises:
            SchemaError: there is no such table or family, or this store cannot change a live table.
        """

    def family_attributes(self, table: str) -> Mapping[bytes, Mapping[str, str]] | None:  # noqa: ARG002 - see below
        """
        The attributes of a table's families besides the options of `FamilySpec`: family -> name -> value.

        None for a store that has none, or does not say them. One that a family lacks has its default.

        Raises:
            NotFoundError: there is no such table.
        """
        return None

    def set_family_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        """
        Set attributes of a family of a live table; its options and other attributes stay as they are.

        Raises:
            SchemaError: there is no such table or family, the store refuses a value, or it has no attributes.
        """
        names = ", ".join(attributes)
        raise SchemaError(f'this store has no attributes of families, such as {names} of {shown(family)} in "{table}"')

    @abstractmethod
    def describe_table(self, name: str) -> TableSpec | None:
        """
        A table as it is: its families by name, and its present split points; None if there is no such table.

        A store without regions has no split points. Options that a store ignores are returned as they were requested.
        """

    @abstractmethod
    def buckets(self, table: str) -> int | None:
        """
        The number of buckets in the record of a table; None if its row keys are stored as they are, or there is none.

        `apply`, `get` and `scan` take and return physical row keys; their caller converts them.
        """

    @abstractmethod
    def record_buckets(self, table: str, buckets: int | None) -> None:
        """
        Record the number of buckets of a table that has rows and no such record; the rows stay as they are.

        The caller has checked that the rows are stored in these buckets.

        Args:
            table: its name.
            buckets: None to remove the record of a table whose rows are stored as they are.

        Raises:
            BucketsDifferError: another number is recorded.
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def properties(self, table: str) -> Mapping[str, str]:
        """
        The properties recorded of a table, name -> value; none of a table that has no such record.

        They belong to the name of the table: they may be recorded before it exists, and stay when `ensure_table`
        creates or changes it, and when it is dropped by other means than this product.
        """

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """The number of buckets and the properties of a table; one call where a store can read both at once."""
        return self.buckets(table), self.properties(table)

    @abstractmethod
    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """
        Replace the value of a property if it is the one before (compare-and-set). Durable when it returns.

        A call whose outcome is unknown can be repeated: the result is also True if the property already has the new
        value. So two processes that compete for a property need different values to see which one has won.

        Args:
            table: its name; it need not exist.
            name: characters a to z, 0 to 9, `_`, `.` and `-`; not `buckets`, see `record_buckets`.
            before: the expected value; None for no property.
            value: the new value, which is not empty; None removes the property.

        Returns:
            Whether the property now has the new value; False if it has a third one.

        Raises:
            ValueError: the name is not allowed, or a value is empty.
            StoreError: as `apply`.
        """

    @abstractmethod
    def replace_cell(self, table: str, row: bytes, column: bytes, before: bytes | None, value: bytes) -> bool:
        """
        Replace the value of a cell if it is the one before (compare-and-set). Durable when it returns.

        All processes that write the cell use this method alone, so they exclude each other. The cell gets the time of
        the store, or that of the present cell if it is later.

        A call whose outcome is unknown can be repeated: the result is also True if the cell already has the new value.
        So two processes that compete for a cell need different values to see which one has won.

        Args:
            table: its name.
            row: the physical row key.
            column: `family:qualifier`.
            before: the expected value; None for no cell.
            value: the new value, which is not empty.

        Returns:
            Whether the cell now has the new value; False if it has a third one, or none.

        Raises:
            ValueError: a value is empty: HBase does not distinguish an empty expected value from no cell.
            StoreError: as `apply`.
        """

    @abstractmethod
    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of a table's families; None if there is no such table."""

    @abstractmethod
    def tables(self) -> tuple[str, ...]:
        """Names of all tables, sorted."""

    @property
    def connected_by(self) -> str:
        """What the store is reached through, for messages, as in "a Thrift server"; empty for a local store."""
        return ""

    def regions(self, table: str) -> tuple[StoredRegion, ...] | None:  # noqa: ARG002 - for stores with regions
        """
        The regions of a table by their start; None if the store has none, or does not report their sizes.

        Raises:
            NotFoundError: there is no such table.
        """
        return None

    def server_version(self) -> str | None:
        """The version of its servers, such as 2.6.1; None if it has none, or they do not say."""
        return None

    def refusal_of(
        self,
        table: str,  # noqa: ARG002 - for stores whose tables differ
        family: bytes,  # noqa: ARG002
        durability: Durability,  # noqa: ARG002
    ) -> IngestError | None:
        """
        The error of `apply` for rows of a family with this durability; None if it takes them, or cannot tell before.

        It is about the table as it is now; what no table of the store has, the settings refuse (`durability_refusal`).
        """
        return None


class FileStore(Store[S]):
    """
    A store that only the driver may write, and that ingests files written by tasks.

    The tasks sort and encode in parallel; the driver only ingests their files.
    """

    @abstractmethod
    def file_compression(self, table: str) -> str:
        """
        The compression of files for a table, for `write_file`.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def write_file(self, path: str, puts: Sequence[Put], compression: str = "none") -> bytes:
        """
        Write puts of one table, in order, to a new file; the store need not be open and does not change.

        Args:
            path: of the file.
            puts: any number, with or without the write-ahead log.
            compression: as `file_compression` returned it to the driver.

        Returns:
            Metadata for `ingest_file`.

        Raises:
            StoreUnavailableError: the disk is full; the file is incomplete.
            IntegrityError: the disk fails.
        """

    @abstractmethod
    def ingest_file(self, table: str, path: str, metadata: bytes) -> None:
        """
        Make all puts of a file durable, or none; idempotent. The file stays.

        Raises:
            StoreError: as `apply`.
        """
