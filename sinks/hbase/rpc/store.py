"""HBase by native RPC."""

import random
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence

from ingest.api import (
    ALL_TIMES,
    BusyWait,
    Durability,
    FamilySpec,
    IngestError,
    LifecycleError,
    Mutation,
    NotFoundError,
    Row,
    Scan,
    ScanCounts,
    StoredRegion,
    StoreRefusedError,
    TableSpec,
    TimeRange,
)
from ingest.api.bulk_load import NOTHING_CONFIRMED, BulkLoading, Confirmed, LoadResult, WantsFiles
from ingest.api.errors import PackageMissingError
from ingest.api.notation import shown
from ingest.clock import now_ms
from sinks.hbase.errors import Kind, error_of_kind
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.bulk_load import BulkLoader
from sinks.hbase.rpc.cluster import Cluster, Coordinates
from sinks.hbase.rpc.master import Master
from sinks.hbase.rpc.mutate import check_and_put, is_written
from sinks.hbase.rpc.reading import Reader
from sinks.hbase.rpc.region_sizes import stored_regions
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.sasl import Logins
from sinks.hbase.rpc.staged_files import StagedFiles
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.tls import tls_context
from sinks.hbase.rpc.writing import Writer
from sinks.hbase.security import INSTALL_KERBEROS, KERBEROS_PACKAGE, HBaseKerberos
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore

_REFUSES_REPLICATED = 3
"""First version that refuses rows of replicated families without the write-ahead log; others do not replicate them."""


class RpcStore(HBaseStore, BulkLoading):
    """The tables of a cluster through its masters and region servers."""

    def __init__(self, settings: HBaseSettings) -> None:
        super().__init__(settings)
        servers = [Address(*address) for address in settings.addresses]
        zookeeper = settings.zookeeper
        security = settings.security
        tls, kerberos = security.tls, security.kerberos
        self._cluster = Cluster(
            servers if zookeeper is None else (),
            coordinates=None if zookeeper is None else _zookeeper(servers, zookeeper.znode),
            may_leave_machine=security.insecure or security.is_encrypted,
            tls=None if tls is None else lambda: tls_context(tls),
            logins=None if kerberos is None else _logins(kerberos),
        )
        self._regions = RegionCache(self._cluster)
        self._calls = RepeatedCalls(self._cluster, self._regions, self._attempts)
        self._master = Master(self._cluster, self._attempts, lambda: random.getrandbits(63))
        self._reader = Reader(self._calls, lambda table: frozenset(family.name for family in self.family_specs(table)))
        self._busy_waits: list[BusyWait] = []
        self._writer = Writer(self._calls, max_cell_bytes=settings.max_cell_bytes)
        self._loader: BulkLoader | None = None

    def open(self) -> None:
        """Find the meta table."""
        self._cluster.open()
        self._cluster.meta(self._attempts().deadline_s)

    def close(self) -> None:
        """Close all connections, and remove the folder of staged files."""
        loader, self._loader = self._loader, None
        if loader is not None:
            loader.close()
        self._cluster.close()
        self._regions.clear()

    @property
    def connected_by(self) -> str:
        """No server of its own."""
        return "HBase's native RPC"

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Send the mutations, in one call for each server if no two of a row may conflict."""
        self._writer.apply(table, mutations, Attempts(self.settings.timeout, on_busy=self._busy_waits.append))

    def begin_loads(self) -> None:
        """Read the families again before the next load."""
        if self._loader is not None:
            self._loader.begin()

    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        *,
        confirmed: Confirmed = NOTHING_CONFIRMED,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        """Load files; the store needs `staging`."""
        attempts = Attempts(self.settings.timeout, on_busy=self._busy_waits.append)
        return self._opened_loader().load(
            table, mutations, wants_files, attempts, confirmed=confirmed, on_progress=on_progress
        )

    def check_load(
        self, table: str, mutations: Sequence[Mutation], wants_files: WantsFiles, *, confirmed: Confirmed
    ) -> None:
        """Look at the families and the table; the store needs `staging`."""
        attempts = Attempts(self.settings.timeout, on_busy=self._busy_waits.append)
        self._opened_loader().check_load(table, mutations, wants_files, attempts, confirmed)

    def check_loading(self, table: str, *, confirmed: Confirmed) -> None:
        """Write a file to the folder, look at the families, and begin a load; the store needs `staging`."""
        self._opened_loader().check(table, confirmed)

    def _opened_loader(self) -> BulkLoader:
        if self._loader is None:
            staging = self.settings.staging
            if staging is None:
                raise LifecycleError("a store without `staging` loads no files")
            self._loader = BulkLoader(
                self._calls,
                StagedFiles(staging, secrets.token_hex(8), now_ms),
                self._master.loadable_table,
                now_ms,
                max_cell_bytes=self.settings.max_cell_bytes,
            )
        return self._loader

    def take_busy_waits(self) -> list[BusyWait]:
        """The waits of writes."""
        waits, self._busy_waits = self._busy_waits, []
        return waits

    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row."""
        return self._reader.get(table, row, columns, versions, times)

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range."""
        return self._reader.scan(table, scan, counts or ScanCounts())

    def table_names(self) -> Sequence[str]:
        """Names of all tables of users."""
        return self._master.table_names()

    def family_specs(self, table: str) -> tuple[FamilySpec, ...]:
        """A table's families, by name."""
        return self._master.families(table)

    def region_starts(self, table: str) -> tuple[bytes, ...]:
        """The starts of the regions but the first."""
        regions = self._calls.run(table, lambda deadline_s: self._regions.present(table, deadline_s))
        return tuple(region.start for region in regions.all if region.start)

    def regions(self, table: str) -> tuple[StoredRegion, ...] | None:
        """The regions of a table by their start; None if the cluster shows their sizes to administrators alone."""
        try:
            return stored_regions(self._calls, table)
        except StoreRefusedError:
            return None

    def server_version(self) -> str | None:
        """The version of the active master; None if it tells only administrators."""
        try:
            return self._master.version() or None
        except StoreRefusedError:
            return None

    def refusal_of(self, table: str, family: bytes, durability: Durability) -> IngestError | None:
        """That of HBase 3 for a replicated family and `skip`."""
        if durability is not Durability.SKIP or family not in self._master.replicated_families(table):
            return None
        major = (self.server_version() or "").partition(".")[0]
        if not major.isdecimal() or int(major) < _REFUSES_REPLICATED:
            return None
        return error_of_kind(Kind.REPLICATED, table, f"family {shown(family)}")

    def create_table(self, spec: TableSpec) -> None:
        """Create a table with its split points."""
        self._master.create_table(spec)

    def add_family(self, table: str, family: FamilySpec) -> None:
        """Add a family to a live table."""
        self._master.add_family(table, family)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Alter a family of a live table."""
        self._master.change_family(table, family)

    def family_attributes(self, table: str) -> Mapping[bytes, Mapping[str, str]]:
        """The attributes of a table's families."""
        return self._master.attributes(table)

    def set_family_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        """Set attributes of a family of a live table."""
        self._master.set_attributes(table, family, attributes)

    def values(self, table: str, row: bytes, column: bytes) -> Mapping[bytes, bytes]:
        """The value of a cell, or those of a family."""
        try:
            found = self._reader.get_columns(table, row, [column], 1, ALL_TIMES)
        except NotFoundError:
            return {}
        cells = () if found is None else found.cells
        return {cell.family + b":" + cell.qualifier: cell.value for cell in cells}

    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        """Write a cell if its value is still the one before."""
        request = check_and_put(row, column, before=before, value=value)
        return self._calls.of_row(table, row, "Mutate", request, is_written, is_write=True)

    def _attempts(self) -> Attempts:
        return Attempts(self.settings.timeout)


def _zookeeper(servers: Sequence[Address], znode: str) -> Coordinates:
    """ZooKeeper, whose client is imported only here."""
    from sinks.hbase.rpc.zookeeper import ZooKeeper

    return ZooKeeper(servers, znode)


def _logins(kerberos: HBaseKerberos) -> Logins:
    """The logins with GSSAPI, which is imported only here."""
    try:
        from sinks.hbase.rpc.kerberos import Kerberos
    except ImportError as error:
        raise PackageMissingError(
            f'Kerberos needs the package "{KERBEROS_PACKAGE}": {error}', hint=INSTALL_KERBEROS
        ) from error
    return Kerberos(kerberos)
