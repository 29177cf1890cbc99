"""
Which server has which region of a table.

Sources: `MetaTableAccessor`, `ClientMetaTableAccessor` and `CatalogFamilyFormat` of HBase 2.6. The meta table is one
region, `hbase:meta,,1`. Its row `TABLE` has the table's state in `table:state`. Its rows `TABLE,START,ID.HASH.` have a
region each, in `info:regioninfo`, and its server as host:port in `info:server`. The meta table has an order of its own,
by table, start key and id, so the rows of a table lie between `TABLE` and `TABLE ,,` (a space sorts before all
characters of names).

All regions of a table are read together, and again when one of them has moved. What a server says about the place of
a region that it does not have any more is ignored: it may be older than what the meta table says.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from sinks.hbase.errors import Kind, error_of_kind
from sinks.hbase.protobuf import Message, WireError
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.scanner import Bounds, ClientScanner, ScannedRow, scan_message
from sinks.hbase.rpc.stream import Address

META = b"hbase:meta,,1"
CLIENT_SERVICE = "ClientService"
_PAGE_ROWS = 1000
_PBUF = b"PBUF"
"""Before a message in a cell (`ProtobufMagic`)."""
_PORT = re.compile(r"\d{1,5}", re.ASCII)


class State(Enum):
    """Of a table: TableState of HBase.proto."""

    ENABLED = 0
    DISABLED = 1
    DISABLING = 2
    ENABLING = 3


class Region(NamedTuple):
    """
    A region of a table.

    Attributes:
        start: its first row key, inclusive; empty for the first region.
        end: exclusive; empty for the last region.
        name: of the region.
        server: that has it; None if it is on none now.
    """

    start: bytes
    end: bytes
    name: bytes
    server: Address | None

    def contains(self, row: bytes) -> bool:
        """Whether a row key is one of the region."""
        return self.start <= row and (not self.end or row < self.end)


class Regions:
    """The regions of a table, as the meta table had them."""

    def __init__(self, found: Iterable[Region]) -> None:
        # not in the order of their names: "a,\x00,1" sorts before "a,,1"
        self.all = sorted(found, key=lambda region: region[:3])  # a damaged answer may name a region twice
        self._starts = [region.start for region in self.all]

    def of(self, row: bytes) -> Region | None:
        """The region with a row key; None while a split, merge or move hides it."""
        at = bisect_right(self._starts, row) - 1
        if at < 0:
            return None
        region = self.all[at]
        return region if region.contains(row) else None

    def before(self, row: bytes) -> Region | None:
        """The region with the row keys just below one; None as in `of`. An empty key is the end of the table."""
        if not row:
            last = self.all[-1] if self.all else None
            return last if last is not None and not last.end else None
        at = bisect_left(self._starts, row) - 1
        if at < 0 or (self.all[at].end and self.all[at].end < row):
            return None
        return self.all[at]


class RegionCache:
    """The regions of the tables of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tables: dict[str, Regions] = {}

    def of(self, table: str, deadline_s: float) -> Regions:
        """
        The regions of a table.

        Raises:
            NoTableError: there is no such table.
            StoreRefusedError: it is disabled.
            RemoteError, ConnectionLostError: the meta table cannot be read.
        """
        found = self._tables.get(table)
        if found is None:
            found, state = self._read(table, deadline_s)
            if state in {State.DISABLED, State.DISABLING}:
                raise error_of_kind(Kind.DISABLED, table)
            self._tables[table] = found
        return found

    def present(self, table: str, deadline_s: float) -> Regions:
        """The same, as the meta table has them now; the table may be disabled."""
        return self._read(table, deadline_s)[0]

    def forget(self, table: str) -> None:
        """Read the regions of a table anew before their next use."""
        self._tables.pop(table, None)

    def clear(self) -> None:
        """Forget the regions of all tables."""
        self._tables.clear()

    def _read(self, table: str, deadline_s: float) -> tuple[Regions, State]:
        name = table.removeprefix("default:").encode()
        state: State | None = None
        regions = []
        for row in self._rows(name, deadline_s):
            cells = {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
            if row.row == name:
                state = _state(cells.get(b"table:state", b""))
            elif (region := _region(row.row, cells)) is not None:
                regions.append(region)
        if state is None:
            raise error_of_kind(Kind.NO_TABLE, table)
        return Regions(regions), state

    def _rows(self, name: bytes, deadline_s: float) -> Iterable[ScannedRow]:
        connection = self._cluster.connection(self._cluster.meta(deadline_s), CLIENT_SERVICE, deadline_s)
        scan = scan_message(Bounds(name, name + b" ,,"), [b"info", b"table"], 1)
        scanner = ClientScanner(connection, META, scan)
        while True:
            page = scanner.next(_PAGE_ROWS, deadline_s)
            yield from page.rows
            if page.is_last:
                return


def _state(value: bytes) -> State:
    try:
        return State(Message(value).number(1))
    except ValueError as error:  # of the enum
        raise WireError(f"the state of a table is {value!r}") from error


def _region(name: bytes, cells: dict[bytes, bytes]) -> Region | None:
    """The region of a row of the meta table; None for one that has been split or is not complete."""
    info = cells.get(b"info:regioninfo", b"")
    if not info.startswith(_PBUF):
        return None
    # RegionInfo of HBase.proto: start_key 3, end_key 4, offline 5, split 6
    found = Message(info[len(_PBUF) :])
    if found.flag(5) or found.flag(6):
        return None
    host, _, port = cells.get(b"info:server", b"").decode("utf-8", "replace").rpartition(":")
    server = Address(host, int(port)) if host and _PORT.fullmatch(port) else None
    return Region(found.data(3), found.data(4), name, server)
