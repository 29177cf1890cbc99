"""
A proxy in front of the one region server of an HBase, to which the answers of the cluster lead its clients.

Servers answer with the addresses of the region server and of the master: of that with the meta table, in the meta table
itself, and as that of the active master. The proxies replace them by their own, which have as many bytes, so no length
changes. The master has a proxy too, without faults, since it also says where the meta table is.
"""

import asyncio
import struct
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from sinks.hbase.protobuf import data, number
from tests.support.local import free_ports
from tests.support.proxy import Direction, Proxy

HOST = "localhost"


class _RenamingProxy(Proxy):
    """A proxy that replaces bytes in answers by as many others."""

    def __init__(self, target: int, own: int, replaced: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__((HOST, target), port=own)
        self._replaced = replaced

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


class RegionServerProxy(_RenamingProxy):
    """
    Forwards to a region server; use it in a `with` block.

    Args:
        region_server, master: their ports.
    """

    def __init__(self, region_server: int, master: int) -> None:
        own = {port: _port_like(port) for port in (region_server, master)}
        replaced = [pair for old, new in own.items() for pair in zip(_addresses(old), _addresses(new), strict=True)]
        super().__init__(region_server, own[region_server], replaced)
        self._master = _RenamingProxy(master, own[master], replaced)

    def __enter__(self) -> Self:
        self._master.__enter__()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._master.__exit__(kind, error, trace)


def _port_like(port: int) -> int:
    """A free port whose addresses have as many bytes."""
    sizes = list(map(len, _addresses(port)))
    return next(each for each in free_ports(100) if list(map(len, _addresses(each))) == sizes)


def _addresses(port: int) -> list[bytes]:
    """An address in `info:server` of the meta table, and as a ServerName (HBase.proto: host 1, port 2)."""
    return [f"{HOST}:{port}".encode(), data(1, HOST.encode()) + number(2, port)]
