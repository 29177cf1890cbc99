"""What the store needs of a client of HBase; `thrift` and `rpc` each have one."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence

from ingest.api import (
    BusyWait,
    FamilySpec,
    Mutation,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    StoredRegion,
    StoreError,
    TableSpec,
    TimeRange,
)


class TableExistsError(StoreError):
    """A table that was to be created exists."""


class HBaseClient(ABC):
    """
    A client of one cluster; called by one thread.

    Methods without a description are as in `Store`.

    Attributes:
        protocol: that it uses, as `Store.connected_by`.
    """

    protocol: str

    @abstractmethod
    def open(self) -> None:
        """
        Connect.

        Raises:
            StoreUnavailableError: the cluster cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all connections; may be called twice or without open."""

    @abstractmethod
    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Make mutations durable, in order; raises as `Store.apply`."""

    def take_busy_waits(self) -> list[BusyWait]:
        """As `Store.take_busy_waits`."""
        return []

    @abstractmethod
    def get(
        self, table: str, row: bytes, columns: Sequence[bytes] | None, versions: int, times: TimeRange
    ) -> Row | None:
        """One row, or None; raises as `Store.get`."""

    @abstractmethod
    def scan(self, table: str, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        """Rows of a range, read page by page; raises as `Store.scan`."""

    @abstractmethod
    def table_names(self) -> Sequence[str]:
        """Names of all tables of users."""

    @abstractmethod
    def families(self, table: str) -> tuple[FamilySpec, ...]:
        """
        A table's families, by name.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def splits(self, table: str) -> tuple[bytes, ...]:
        """
        Row keys at which the regions of a table start, except for the first region.

        Raises:
            NotFoundError: there is no such table.
        """

    def regions(self, table: str) -> tuple[StoredRegion, ...] | None:  # noqa: ARG002 - not every client has sizes
        """The regions of a table with their sizes; as `Store.regions`."""
        return None

    def version(self) -> str | None:
        """The version of the cluster, such as 2.6.1; None if this client cannot ask for it, or may not."""
        return None

    def replicated_families(self, table: str) -> frozenset[bytes]:  # noqa: ARG002 - not every client can ask for it
        """The families of a table that are replicated to other clusters, as far as this client knows."""
        return frozenset()

    @abstractmethod
    def create_table(self, spec: TableSpec) -> None:
        """
        Create a table with its split points.

        Raises:
            TableExistsError: there is one with this name.
            SchemaError: this client cannot create it.
        """

    def add_families(self, table: str, families: Sequence[FamilySpec]) -> None:
        """
        Add families to a live table; one that another client adds meanwhile stays as it is.

        Raises:
            SchemaError: this client cannot add them.
        """
        for family in families:
            try:
                self.add_family(table, family)
            except SchemaError:
                if family.name not in {known.name for known in self.families(table)}:
                    raise  # else another client has added it

    @abstractmethod
    def add_family(self, table: str, family: FamilySpec) -> None:
        """
        Add a family to a live table.

        Raises:
            SchemaError: there is no such table, there is such a family, or this client cannot add it.
        """

    @abstractmethod
    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Change the options of a family of a live table; raises as `Store.change_family`.

        Raises:
            SchemaError: there is no such table or family, or this client cannot change it.
        """

    @abstractmethod
    def values(self, table: str, row: bytes, column: bytes) -> Mapping[bytes, bytes]:
        """
        The value of a cell, or those of a family: column -> value; none if there is no such cell or no such table.

        Raises:
            NoFamilyError: the table lacks the family.
        """

    @abstractmethod
    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        """
        Write a cell if its value is still the one before; returns whether the last attempt has written it.

        False may also mean that an earlier attempt, whose answer was lost, has written it: read the cell then.

        Args:
            table: that exists.
            row: the row key.
            column: the cell.
            before: the expected value; None for no cell.
            value: the new value, with the server's time.

        Raises:
            StoreError: as `apply`.
        """


class NoFamilyError(StoreError):
    """A read names a family that the table lacks."""
