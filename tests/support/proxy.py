"""
A TCP proxy that injects network faults and counts them, as proof that they happened.

An exchange is one request and its response, as in Thrift: the bytes up until bytes come down. Delays and cuts are
measured in exchanges, so a chunk of a megabyte is one request.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_POLL_S = 0.01  # how soon a stalled connection resumes
_READ_BYTES = 64 * 1024
_RESET = struct.pack("ii", 1, 0)  # linger of 0 s: unsent data is discarded and the peer gets a reset


class Direction(StrEnum):
    """Directions."""

    UP = "up"  # from the client to the server
    DOWN = "down"


@dataclass(frozen=True)
class Faults:
    """
    The faults of all connections; by default none.

    Attributes:
        stalled: nothing is forwarded in either direction; it is delivered after the stall.
        discarded: data from the client is discarded. A connection that lost data this direction never works again.
        delay_s: delay of each response before its first byte.
        bytes_per_s: rate of each connection and direction; None for no limit.
        slice_bytes: largest number of bytes written at once; None for no limit.
        idle_s: idle time after which a connection is closed properly; None for never.
    """

    stalled: bool = False
    discarded: bool = False
    delay_s: float = 0.0
    bytes_per_s: int | None = None
    slice_bytes: int | None = None
    idle_s: float | None = None


@dataclass(frozen=True)
class Cut:
    """A reset of both sides after a number of bytes of a request (up) or of its response (down)."""

    direction: Direction
    after_bytes: int
    request_bytes: int = 0
    """Minimum size of the request, to distinguish a chunk from other calls; only for `down`."""


@dataclass(frozen=True)
class Done:
    """A reset that happened: the bytes of the exchange that had passed in each direction."""

    direction: Direction
    request_bytes: int
    response_bytes: int


@dataclass
class Counts:
    """Counters of connections, bytes and faults."""

    connections: int = 0
    refused: int = 0
    up_bytes: int = 0
    down_bytes: int = 0
    discarded_bytes: int = 0
    exchanges: int = 0
    closed_idle: int = 0
    cuts: list[Done] = field(default_factory=list)


@dataclass(eq=False)
class _Connection:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    request_bytes: int = 0
    response_bytes: int = 0
    lost: bool = False  # data from the client was discarded
    is_cut: bool = False
    used: float = 0.0

    def passed(self, direction: Direction, size: int) -> None:
        if direction is Direction.DOWN:
            self.response_bytes += size
            return
        if self.response_bytes:
            self.request_bytes = self.response_bytes = 0
        self.request_bytes += size

    def reset(self) -> None:
        self.is_cut = True
        for writer in (self.client, self.server):
            plain = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Proxy:
    """
    Listens on a port and forwards to a server; use it in a `with` block.

    Args:
        target: host and port of the server; may be changed later.
        host: address to listen on.
        port: port to listen on; 0 for any free port.
    """

    def __init__(self, target: tuple[str, int], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.target = target
        self.host = host
        self.port = port
        self.counts = Counts()
        self.faults = Faults()
        self._cuts: list[Cut] = []
        self._live: set[_Connection] = set()
        self._listening: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def behave(self, **faults: Any) -> None:
        """Set the faults of all connections; others are as in `Faults`."""
        self.faults = Faults(**faults)

    def also(self, **faults: Any) -> None:
        """Change some of the faults."""
        self.faults = replace(self.faults, **faults)

    def heal(self) -> None:
        """Remove all faults, and listen."""
        self._cuts.clear()
        self.behave()
        self.listen()

    def cut(self, direction: Direction, after_bytes: int, *, request_bytes: int = 0, times: int = 1) -> None:
        """Reset connections during the next exchanges; see `Cut`."""
        self._cuts += [Cut(direction, after_bytes, request_bytes)] * times

    def reset_all(self) -> int:
        """Reset every connection now; returns their number."""

        def reset() -> int:
            live = list(self._live)
            for connection in live:
                connection.reset()
            return len(live)

        return self._call(reset)

    def refuse(self) -> None:
        """Stop listening: new connections are refused, existing ones stay."""

        async def stop() -> None:
            if self._listening is not None:
                self._listening.close()
                self._listening = None

        self._run(stop())

    def listen(self) -> None:
        """Listen again, on the same port."""

        async def start() -> None:
            if self._listening is None:
                self._listening = await asyncio.start_server(
                    self._accepted, self.host, self.port, limit=_READ_BYTES, reuse_address=True
                )
                self.port = self._listening.sockets[0].getsockname()[1]

        self._run(start())

    @property
    def live(self) -> int:
        """Number of open connections."""
        return len(self._live)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts.connections += 1
        try:
            up_reader, up_writer = await asyncio.open_connection(*self.target, limit=_READ_BYTES)
        except OSError:
            self.counts.refused += 1
            writer.close()
            return
        connection = _Connection(writer, up_writer, used=self._loop.time())
        self._live.add(connection)
        try:
            async with asyncio.TaskGroup() as both:
                idle = both.create_task(self._close_idle(connection))
                pumps = [
                    both.create_task(self._pump(connection, Direction.UP, reader, up_writer)),
                    both.create_task(self._pump(connection, Direction.DOWN, up_reader, writer)),
                ]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for task in (idle, *pumps):
                    task.cancel()
        finally:
            self._live.discard(connection)
            for each in (writer, up_writer):
                each.close()

    async def _pump(
        self, connection: _Connection, direction: Direction, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await self._read(direction, reader):
                connection.used = self._loop.time()
                while self.faults.stalled:  # noqa: ASYNC110 - the faults are plain attributes, set from another thread
                    await asyncio.sleep(_POLL_S)
                if direction is Direction.UP and (self.faults.discarded or connection.lost):
                    connection.lost = True
                    self.counts.discarded_bytes += len(data)
                    continue
                if direction is Direction.DOWN and not connection.response_bytes:
                    self.counts.exchanges += 1
                    await asyncio.sleep(self.faults.delay_s)
                await self._pass(connection, direction, data, writer)
                if connection.is_cut:
                    return

    async def _read(self, direction: Direction, reader: asyncio.StreamReader) -> bytes:
        """The next bytes; none at the end."""
        return await reader.read(_READ_BYTES)

    async def _pass(
        self, connection: _Connection, direction: Direction, data: bytes, writer: asyncio.StreamWriter
    ) -> None:
        at = 0
        while at < len(data) and not connection.is_cut:
            size = min(len(data) - at, self.faults.slice_bytes or len(data))
            rate = self.faults.bytes_per_s
            if rate is not None:
                size = min(size, max(1, rate // 20))
            cut = self._due(connection, direction, size)
            if cut is not None:
                before = connection.request_bytes if direction is Direction.UP and not connection.response_bytes else 0
                size = max(0, cut.after_bytes - (before if direction is Direction.UP else connection.response_bytes))
            connection.passed(direction, size)
            if direction is Direction.UP:
                self.counts.up_bytes += size
            else:
                self.counts.down_bytes += size
            writer.write(data[at : at + size])
            await writer.drain()
            at += size
            if cut is not None:
                self.counts.cuts.append(Done(direction, connection.request_bytes, connection.response_bytes))
                connection.reset()
            elif rate is not None:
                await asyncio.sleep(size / rate)
            connection.used = self._loop.time()

    def _due(self, connection: _Connection, direction: Direction, size: int) -> Cut | None:
        """Remove and return the cut that falls within the next bytes."""
        for cut in self._cuts:
            if cut.direction is not direction:
                continue
            if direction is Direction.UP:
                before = 0 if connection.response_bytes else connection.request_bytes
                within = before + size > cut.after_bytes
            else:
                large = connection.request_bytes >= cut.request_bytes
                within = large and connection.response_bytes + size > cut.after_bytes
            if within:
                self._cuts.remove(cut)
                return cut
        return None

    async def _close_idle(self, connection: _Connection) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            limit = self.faults.idle_s
            if limit is not None and self._loop.time() - connection.used > limit:
                self.counts.closed_idle += 1
                for writer in (connection.client, connection.server):
                    writer.close()
                return

    async def _end(self) -> None:
        for connection in list(self._live):
            connection.reset()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def _call(self, work: Callable[[], T]) -> T:
        async def call() -> T:
            return work()

        return self._run(call())
