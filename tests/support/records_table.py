"""A store of HBase that has the table of records alone."""

from collections.abc import Generator, Sequence

from ingest.api import (
    ALL_TIMES,
    FamilySpec,
    Mutation,
    NoTableError,
    NotFoundError,
    Row,
    Scan,
    ScanCounts,
    TableSpec,
    TimeRange,
)
from sinks.hbase.errors import NoFamilyError, TableExistsError
from sinks.hbase.records import RECORDS
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore


class RecordsTable(HBaseStore):
    """
    The table of records of a cluster, in memory.

    Attributes:
        cells: of all rows, column -> value; None if there is no such table.
        family: of the table.
        writes: arguments of the check-and-puts that have changed a cell.
        reads: arguments of the reads.
        created: number of calls that create the table.
        lost_answers: number of the next check-and-puts that are attempted twice, since the first answer is lost.
        meanwhile: what another client writes to the cell just before the next check-and-put.
        created_meanwhile: the cells of the table that another client creates just before this one.
        applied: number of calls of `apply`.
    """

    def __init__(self) -> None:
        super().__init__(HBaseSettings(host="127.0.0.1"))
        self.cells: dict[bytes, dict[bytes, bytes]] | None = None
        self.family = b"t"
        self.writes: list[tuple[bytes, bytes, bytes | None, bytes]] = []
        self.reads: list[tuple[bytes, bytes]] = []
        self.created = 0
        self.lost_answers = 0
        self.meanwhile: bytes | None = None
        self.created_meanwhile: dict[bytes, dict[bytes, bytes]] | None = None
        self.applied = 0

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def values(self, table: str, row: bytes, column: bytes) -> dict[bytes, bytes]:
        self._check(table, column)
        self.reads.append((row, column))
        cells = (self.cells or {}).get(row, {})
        return {name: value for name, value in cells.items() if column in {name, name.partition(b":")[0]}}

    def create_table(self, spec: TableSpec) -> None:
        assert spec == TableSpec(RECORDS, (FamilySpec(b"t"),))
        self.created += 1
        self.cells = self.cells if self.created_meanwhile is None else self.created_meanwhile
        if self.cells is not None:
            raise TableExistsError("it exists")
        self.cells = {}

    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        self._check(table, column)
        if self.cells is None:
            raise NoTableError(f'there is no table "{table}"')
        cells = self.cells.setdefault(row, {})
        if self.meanwhile is not None:
            cells[column], self.meanwhile = self.meanwhile, None
        if cells.get(column) != before:
            return False
        cells[column] = value
        self.writes.append((row, column, before, value))
        if self.lost_answers:
            self.lost_answers -= 1
            return self.replace(table, row, column, before=before, value=value)
        return True

    def _check(self, table: str, column: bytes) -> None:
        assert table == RECORDS
        if column.partition(b":")[0] != self.family:
            raise NoFamilyError("no such family")

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.applied += 1

    def table_names(self) -> Sequence[str]:
        return () if self.cells is None else (RECORDS,)

    def family_specs(self, table: str) -> tuple[FamilySpec, ...]:
        raise NotFoundError(table)

    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        raise NotImplementedError

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        raise NotImplementedError

    def add_family(self, table: str, family: FamilySpec) -> None:
        raise NotImplementedError

    def change_family(self, table: str, family: FamilySpec) -> None:
        raise NotImplementedError
