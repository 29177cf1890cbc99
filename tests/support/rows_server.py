"""A false HBase with one table, whose answers can be damaged."""

import itertools
from collections.abc import Callable, Sequence

from ingest.api import Put
from sinks.hbase.rpc.cells import CellEncoder, decoded
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.wire import Message, data, flag, number
from tests.support.rpc_server import Request, RpcServer

_META_REGION = b"hbase:meta,,1"
_REGIONS = b"t,,1.", b"t,m,1."


def registry_answer(request: Request, address: Address) -> bytes:
    """The answer to GetMetaRegionLocations: the server with the meta table."""
    return request.answer(data(1, data(2, data(1, address.host.encode()) + number(2, address.port))))


def meta_answer(request: Request, edges: Sequence[bytes], servers: Sequence[Address]) -> bytes:
    """The answer to a scan of the meta table: table `t`, with regions between these row keys, on these servers."""
    encoder = CellEncoder(1 << 20)
    cells = encoder.put(Put(b"t", {b"table:state": number(1, 0)}, 1))
    for (start, end), server in zip(itertools.pairwise(edges), servers, strict=True):
        info = b"PBUF" + number(1, 1) + data(3, start) + data(4, end)
        columns = {b"info:regioninfo": info, b"info:server": str(server).encode()}
        cells += encoder.put(Put(b"t," + start + b",1.", columns, 1))
    counts = number(1, 1) + number(1, 2) * len(servers)
    return request.answer(counts + number(2, 1) + flag(8, value=False), cells)


class RowsServer:
    """
    A server with the table `t` of the regions [, m) and [m, ), which stores rows of one cell, `f:q`.

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

    def close(self) -> None:
        """End it."""
        self._server.close()

    def _answer(self, request: Request) -> bytes:
        match request.method:
            case "GetMetaRegionLocations":
                return registry_answer(request, self.address)
            case "Multi":
                return self._multi(request)
            case "Get":
                row = Message(request.parameter).message(2).data(1)
                return request.answer(cells=self._cells([row] if row in self.rows else []))
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
        return b"".join(self._encoder.put(Put(row, {b"f:q": self.rows[row]}, 1)) for row in rows)
