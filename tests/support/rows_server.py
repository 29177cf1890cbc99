"""A false HBase with one table, whose answers can be damaged."""

import itertools
from collections.abc import Callable, Sequence

from ingest.api import FamilySpec, Put, TableSpec
from sinks.hbase.protobuf import Message, data, flag, number
from sinks.hbase.rpc.cells import CellEncoder, decoded
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.schema import table_name, table_schema
from sinks.hbase.rpc.stream import Address
from tests.support.rpc_server import Request, RpcServer

TABLE = TableSpec("t", (FamilySpec(b"f"),), splits=(b"m",))
_META_REGION = b"hbase:meta,,1"
_REGIONS = b"t,,1.", b"t,m,1."
_ANSWERS = {
    "GetTableNames": data(1, table_name("t")) + data(1, table_name("n:u")),
    "GetTableDescriptors": data(1, table_schema(TABLE)),
    "CreateTable": number(1, 17),
    "ModifyColumn": number(1, 18),
    "getProcedureResult": number(1, 2),
    "GetRegionLoad": b"".join(data(1, data(1, region_specifier(name)) + number(5, 3)) for name in _REGIONS),
}
"""Of MasterService and AdminService."""


def registry_answer(request: Request, address: Address) -> bytes:
    """The answer to GetMetaRegionLocations: the server with the meta table."""
    return request.answer(data(1, data(2, server_name(address))))


def master_answer(request: Request, address: Address) -> bytes:
    """The answer to GetActiveMaster."""
    return request.answer(data(1, server_name(address)))


def get_answer(cells: int) -> bytes:
    """A GetResponse whose result has so many cells in the block; no result without cells."""
    return data(1, number(2, cells)) if cells else b""


def server_name(address: Address) -> bytes:
    """A ServerName."""
    return data(1, address.host.encode()) + number(2, address.port)


def region_name(start: bytes, _end: bytes) -> bytes:
    """The name of a region of the table `t`."""
    return b"t,%s,1." % start


def meta_answer(
    request: Request,
    edges: Sequence[bytes],
    servers: Sequence[Address | None],
    name: Callable[[bytes, bytes], bytes] = region_name,
) -> bytes:
    """
    The answer to a scan of the meta table: the table `t`.

    Args:
        request: the scan.
        edges: row keys between which the regions are.
        servers: of the regions; None if a region is on none now.
        name: returns the name of the region between two row keys.
    """
    encoder = CellEncoder(1 << 20)
    cells = encoder.put(Put(b"t", {b"table:state": number(1, 0)}, 1))
    for (start, end), server in zip(itertools.pairwise(edges), servers, strict=True):
        info = b"PBUF" + number(1, 1) + data(3, start) + data(4, end)
        columns = {b"info:regioninfo": info, b"info:server": b"" if server is None else str(server).encode()}
        cells += encoder.put(Put(name(start, end), columns, 1))
    counts = number(1, 1) + number(1, 2) * len(servers)
    return request.answer(counts + number(2, 1) + flag(8, value=False), cells)


def no_table_answer(request: Request) -> bytes:
    """The answer to a scan of the meta table: no rows."""
    return request.answer(number(2, 1) + flag(8, value=False))


class RowsServer:
    """
    The only server of a cluster, and its master, with the table `t` of the regions [, m) and [m, ).

    It stores rows of one cell, `f:q`. A change of a table has no effect.

    Attributes:
        rows: row key -> value.
        damage: changes an answer, of a method; None closes the connection.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.damage: Callable[[str, bytes], bytes | None] = lambda _method, frame: frame
        self._encoder = CellEncoder(1 << 20)
        self._scanners: dict[int, list[bytes]] = {}
        self._server = RpcServer(lambda request: self.damage(request.method, self._answer(request)))
        self.address = self._server.address
        self._answers = _ANSWERS | {"GetActiveMaster": data(1, server_name(self.address))}

    def close(self) -> None:
        """End it."""
        self._server.close()

    def _answer(self, request: Request) -> bytes:
        match request.method:
            case "GetMetaRegionLocations":
                return registry_answer(request, self.address)
            case method if method in self._answers:
                return request.answer(self._answers[method])
            case "Multi":
                return self._multi(request)
            case "Get":
                row = Message(request.parameter).message(2).data(1)
                found = [row] if row in self.rows else []
                return request.answer(get_answer(len(found)), self._cells(found))
        assert request.method == "Scan"
        message = Message(request.parameter)
        if message.message(1).data(2) == _META_REGION:
            return meta_answer(request, [b"", b"m", b""], [self.address] * 2)
        return self._scan(request, message)

    def _multi(self, request: Request) -> bytes:
        for row, cell in decoded(request.cells):
            self.rows[row] = cell.value
        answer = b""
        for batch in Message(request.parameter).messages(1):
            results = [data(1, number(1, at) + data(2, b"")) for at in range(len(batch.messages(3)))]
            answer += data(1, b"".join(results))
        return request.answer(answer)

    def _scan(self, request: Request, message: Message) -> bytes:
        scanner = message.number(3)
        if message.flag(5):
            self._scanners.pop(scanner, None)
            return request.answer()
        if message.has(2):
            first, last = message.message(2).data(3), message.message(2).data(4)
            name = message.message(1).data(2)
            if name not in _REGIONS:  # from a damaged answer
                return request.failure("org.apache.hadoop.hbase.NotServingRegionException")
            region = [row for row in sorted(self.rows) if (row >= b"m") == (name == _REGIONS[1])]
            scanner = len(self._scanners) + 1
            self._scanners[scanner] = [row for row in region if row >= first and (not last or row < last)]
        elif scanner not in self._scanners:
            return request.failure("org.apache.hadoop.hbase.UnknownScannerException")
        rows = self._scanners[scanner]
        page = [rows.pop(0) for _ in range(min(len(rows), message.number(4), 2))]
        counts = number(1, 1) * len(page)
        return request.answer(counts + number(2, scanner) + flag(8, value=bool(rows)), self._cells(page))

    def _cells(self, rows: Sequence[bytes]) -> bytes:
        # without a value: the test has cleared the rows, and the client of an earlier one has not waited for its answer
        return b"".join(self._encoder.put(Put(row, {b"f:q": self.rows.get(row, b"")}, 1)) for row in rows)
