"""HBase through its Thrift servers."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from ingest.api import (
    ALL_TIMES,
    FamilySpec,
    IngestError,
    Mutation,
    NoTableError,
    NotFoundError,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    TimeRange,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from ingest.api.notation import shown
from sinks.hbase.errors import Kind, NoFamilyError, unclear_refusal
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.shell import shell_alter, shell_attributes, shell_change, shell_create
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.connection import Client, Connection
from sinks.hbase.thrift.encoding import Encoder
from sinks.hbase.thrift.errors import UNCLEAR, reason_of, rule_for, text_of
from sinks.hbase.thrift.message import METHOD
from sinks.hbase.thrift.reading import Reader, complete_rows
from sinks.hbase.thrift.schema import Thrift2, create_table
from sinks.hbase.thrift.thrift1 import HBaseIOError, ThriftMutation

_DIAGNOSIS_S = 5.0
"""Time-out of the call that finds the reason of a failed write; a healthy server answers at once."""


class ThriftStore(HBaseStore):
    """The tables of a cluster through a Thrift server, and a Thrift2 server for changes of schemas."""

    def __init__(self, settings: HBaseSettings) -> None:
        super().__init__(settings)
        self._connection = Connection(settings)
        self._reader = Reader(self._connection)
        self._thrift2 = None if settings.thrift2 is None else Thrift2(settings, settings.thrift2)
        self._encoder = Encoder(settings)
        self._existing: set[str] = set()

    def open(self) -> None:
        """Connect to the Thrift server."""
        self._connection.open()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def connected_by(self) -> str:
        """The servers that the settings name."""
        return "a Thrift server" if self._thrift2 is None else "a Thrift and a Thrift2 server"

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Send the mutations in as few calls as their timestamps and durabilities allow."""
        calls = self._encoder.calls(table, mutations, lambda: self._families_to_delete(table))
        self._connection.cache_regions(table, [mutation.row for mutation in mutations])
        for call in calls:
            try:
                self._connection.call(partial(Client.send, method=METHOD, message=call.message), table=table)
            except (WriteRejectedError, TimestampRefusedError) as error:
                error.indexes = list(call.indexes) if len(call.indexes) == 1 else None
                raise
            except StoreUnavailableError as error:
                raise _unclear(error, table) or self._disabled(table) or error from error.__cause__

    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row; several versions take one more call for each column."""
        return self._reader.get(table, row, columns, versions, times)

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range; several versions take one more call for each column of a row."""
        return self._reader.scan(table, scan, counts or ScanCounts())

    def table_names(self) -> Sequence[str]:
        """Names of all tables of users."""
        return self._connection.call(lambda client: [name.decode() for name in client.getTableNames()])

    def family_specs(self, table: str) -> tuple[FamilySpec, ...]:
        """A table's families, by name."""
        return self._reader.described(table)

    def region_starts(self, table: str) -> tuple[bytes, ...]:
        """The starts of the regions but the first."""
        return self._reader.splits(table)

    def create_table(self, spec: TableSpec) -> None:
        """Create a table; split points need `thrift2`."""
        if not spec.splits:
            create_table(self._connection, spec)
        elif self._thrift2 is not None:
            self._thrift2.create_table(spec)
        else:
            raise _by_hand(
                f'table "{spec.name}" has split points, and the Thrift server cannot create them', shell_create(spec)
            )

    def add_families(self, table: str, families: Sequence[FamilySpec]) -> None:
        """Add families to a live table; without `thrift2`, the error has the command for all of them."""
        if self._thrift2 is None:
            raise _no_thrift2(table, families)
        super().add_families(table, families)

    def add_family(self, table: str, family: FamilySpec) -> None:
        """Add a family to a live table; needs `thrift2`."""
        if self._thrift2 is None:
            raise _no_thrift2(table, [family])
        self._thrift2.add_family(table, family)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Alter a family of a live table; needs `thrift2`."""
        if self._thrift2 is None:
            raise _by_hand(
                f'family {shown(family.name)} of table "{table}" differs, and the Thrift server cannot alter it',
                shell_change(table, family),
            )
        with self._of_existing(table):
            self._thrift2.change_family(table, family)

    def family_attributes(self, table: str) -> Mapping[bytes, Mapping[str, str]]:
        """Those attributes of a table's families that a Thrift server says."""
        return self._reader.attributes(table)

    def set_family_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        """Set attributes of a family of a live table; needs `thrift2`."""
        if self._thrift2 is None:
            raise _by_hand(
                f'family {shown(family)} of table "{table}" has other attributes, which the Thrift server cannot set',
                shell_attributes(table, family, attributes),
            )
        with self._of_existing(table):
            self._thrift2.set_attributes(table, family, attributes)

    @contextmanager
    def _of_existing(self, table: str) -> Iterator[None]:
        """A change of a table's families; the server says of a missing table that it is not available."""
        try:
            yield
        except StoreRefusedError as error:
            try:
                self.family_specs(table)
            except NotFoundError:
                raise SchemaError(error.message, hint=error.hint) from error.__cause__
            raise

    def values(self, table: str, row: bytes, column: bytes) -> Mapping[bytes, bytes]:
        """The value of a cell, or those of a family."""
        if table not in self._existing:
            # a get from a missing table would leave a stack trace in the server's log
            if not self._connection.read(table, "getTableRegions", table.encode()):
                return {}
            self._existing.add(table)
        try:
            rows = self._connection.read_with(
                table, lambda client: complete_rows(client.getRowWithColumns(table.encode(), row, [column], {}))
            )
        except NotFoundError:
            self._existing.discard(table)
            return {}
        except StoreRefusedError as error:
            if _is_about_family(error, table):
                raise NoFamilyError(error.message) from error.__cause__
            raise
        return {name: cell.value for found in rows for name, cell in found.columns.items()}

    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        """Write a cell if its value is still the one before."""
        mutation = ThriftMutation(column=column, value=value, writeToWAL=True)
        return bool(
            self._connection.call(
                lambda client: client.checkAndPut(table.encode(), row, column, before, mutation, {}), table=table
            )
        )

    def _families_to_delete(self, table: str) -> tuple[bytes, ...]:
        try:
            return tuple(sorted(self._reader.families(table)))
        except NotFoundError as error:
            raise NoTableError(f'there is no table "{table}"') from error.__cause__

    def _disabled(self, table: str) -> StoreRefusedError | None:
        """The reason why a write got no answer, if the table is disabled: HBase waits for its regions."""
        connection = Connection(self.settings.with_timeout(_DIAGNOSIS_S))
        try:
            connection.open()
            enabled = connection.call(lambda client: client.isTableEnabled(table.encode()), table=table)
        except StoreError:
            return None
        finally:
            connection.close()
        if enabled:
            return None
        return StoreRefusedError(f'table "{table}" is disabled', hint=f"enable '{table}' in the hbase shell")


def _unclear(error: IngestError, table: str) -> UnclearRefusalError | None:
    """The error of a write that was refused for a reason that may be that of a row."""
    cause = error.__cause__
    if not isinstance(cause, HBaseIOError) or rule_for(text_of(cause), table).name != UNCLEAR:
        return None
    return unclear_refusal(reason_of(text_of(cause)))


def _is_about_family(error: IngestError, table: str) -> bool:
    cause = error.__cause__
    return isinstance(cause, HBaseIOError) and rule_for(text_of(cause), table).kind is Kind.NO_FAMILY


def _no_thrift2(table: str, families: Sequence[FamilySpec]) -> SchemaError:
    names = shown(*(family.name for family in families))
    return _by_hand(
        f'no family {names} in table "{table}", and the Thrift server cannot add one', shell_alter(table, families)
    )


def _by_hand(message: str, command: str) -> SchemaError:
    return SchemaError(
        message,
        hint=f"give the store `thrift2` or `bootstrap_servers`, or type into the hbase shell: {command}",
        command=command,
    )
