"""What a store is: the contract that memory, RocksDB and HBase keep alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

from ingest.api.cells import FamilySpec, Mutation, Put, Row, TableSpec
from ingest.api.component import settings_class_of
from ingest.api.scans import Scan
from ingest.api.settings import StoreSettings

S = TypeVar("S", bound=StoreSettings)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """
    What a store can do; callers ask before, the contract suite skips by these alone.

    Attributes:
        written_by_driver: only one process may write, so tasks hand their mutations over to the driver.
        creates_families: `ensure_table` adds a family to a live table, and `change_family` changes one.
        creates_tables: a missing table is made at the first write.
    """

    written_by_driver: bool
    creates_families: bool
    creates_tables: bool


class Store(ABC, Generic[S]):
    """
    A place that keeps tables of rows, families and versioned cells.

    Called by one thread. Order: constructed (no I/O), open, then any number of the other calls, then close. Closing
    twice, or without open, is fine. After apply returns, the mutations survive a crash of this process and, with the
    WAL on, of one server. apply may be called again with the same mutations; the result is the same.

    A store never retries, batches, counts or logs: the writer around it does.

    HBase's rules hold in every store: a cell is family, qualifier, timestamp, value; the newest timestamp wins, not
    the last call; two puts of one cell with one timestamp: the last call wins; a delete hides cells with a timestamp
    up to its own, also those that are written later, until the store compacts; rows come in byte order of their keys.
    """

    kind: ClassVar[str]
    capabilities: Capabilities  # of the class, or of one store where its options decide

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @classmethod
    def settings_class(cls) -> type[StoreSettings]:
        """The options of this store."""
        return settings_class_of(cls, StoreSettings)

    @classmethod
    def reader(cls, settings: S) -> Self:
        """A store to read from alone, which may be open beside the one that writes."""
        return cls(settings)

    @abstractmethod
    def open(self) -> None:
        """
        Reach the store.

        Raises:
            StoreUnavailableError: it can not be reached.
            ConflictError: another process holds it; the message names the owner.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; fine to call twice or without open."""

    @abstractmethod
    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Make mutations durable, in order.

        A put appears whole or not at all. Whether the mutations of one row appear together is the store's own matter:
        nobody relies on it, and one that takes no put of any size says so in its settings (`max_put_bytes`).

        Raises:
            WriteRejectedError: some rows can never be written; good rows of the call may have been.
            StoreUnavailableError: not reached or no answer; the outcome is unknown, so call again with the same.
            StoreBusyError: call again later.
            StoreRefusedError: no write to this table passes now.
        """

    @abstractmethod
    def get(self, table: str, row: bytes, *, columns: Sequence[bytes] | None = None, versions: int = 1) -> Row | None:
        """
        One row, or None when it has no such cells.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def scan(self, table: str, scan: Scan) -> Iterator[Row]:
        """
        Rows of a range, in byte order; memory is bounded by one page.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def ensure_table(self, spec: TableSpec) -> None:
        """
        Make the table and those of its families that are missing; what exists stays as it is.

        Raises:
            SchemaError: something is missing that this store can not add to a live table.
        """

    @abstractmethod
    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Give a family of a live table other options; what the store knows of it beyond those stays as it is.

        Cells that a smaller number of versions or a shorter time to live leaves out are gone for readers when it
        returns.

        Raises:
            SchemaError: there is no such table or family, or this store can not change a live table.
        """

    @abstractmethod
    def describe_table(self, name: str) -> TableSpec | None:
        """
        A table as it is: its families by name, and the row keys it is split at now; None when there is no such table.

        A store without regions tells no splits. Options that a store ignores are told as they were asked for.
        """

    @abstractmethod
    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families; None when there is no such table."""

    @abstractmethod
    def tables(self) -> tuple[str, ...]:
        """Names of all tables, sorted."""


class FileStore(Store[S]):
    """
    A store that only the driver may write, and that takes files which tasks have made ready for it.

    Sorting and encoding are then done by as many processes as there are tasks, and the driver only hands files on.
    """

    @abstractmethod
    def file_compression(self, table: str) -> str:
        """
        How files for a table should be compressed, for `make_file`.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def make_file(self, path: str, puts: Sequence[Put], compression: str = "none") -> bytes:
        """
        Write puts of one table, in order, to a new file; the store need not be open, and is not touched.

        Args:
            path: of the file.
            puts: any number, with or without the log.
            compression: as the driver was told by `file_compression`.

        Returns:
            A note for `take_file`.

        Raises:
            StoreUnavailableError: no room; what was written is of no use.
            IntegrityError: the disk fails.
        """

    @abstractmethod
    def take_file(self, table: str, path: str, note: bytes) -> None:
        """
        Make all that a file holds durable, or nothing of it; as `apply`, also when it is done again. The file stays.

        Raises:
            StoreError: as `apply`.
        """
