"""
A proxy in front of the one region server of an HBase, which clients are led to.

The region server answers with its own address as the server of the meta table, and in the meta table as that of other
regions. The proxy replaces it by its own one, which has as many bytes, so no length changes.
"""

import asyncio
import struct
from contextlib import suppress

from sinks.hbase.rpc.wire import data, number
from tests.support.local import free_ports
from tests.support.proxy import Direction, Proxy


class RegionServerProxy(Proxy):
    """
    Forwards to a region server; use it in a `with` block.

    Args:
        target: host and port of the region server, as the cluster knows it.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        host, port = target
        known = _addresses(host, port)
        sizes = list(map(len, known))
        own = next(each for each in free_ports(100) if list(map(len, _addresses(host, each))) == sizes)
        super().__init__(target, port=own)
        self._replaced = list(zip(known, _addresses(host, own), strict=True))

    async def _read(self, direction: Direction, reader: asyncio.StreamReader) -> bytes:
        """Whole answers on the way down, since an address may be at the edge of two reads."""
        if direction is Direction.UP:
            return await super()._read(direction, reader)
        with suppress(asyncio.IncompleteReadError):
            head = await reader.readexactly(4)
            answer = await reader.readexactly(*struct.unpack(">I", head))
            for old, new in self._replaced:
                answer = answer.replace(old, new)
            return head + answer
        return b""


def _addresses(host: str, port: int) -> list[bytes]:
    """An address in `info:server` of the meta table, and as a ServerName (HBase.proto: host 1, port 2)."""
    return [f"{host}:{port}".encode(), data(1, host.encode()) + number(2, port)]
