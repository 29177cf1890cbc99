"""
A TCP proxy that spoils what runs through it, and counts what it did: the proof that a fault was there.

A turn is one question and its answer, as in Thrift: what goes up until something comes down. Delays and cuts are
measured in turns, so a chunk of a megabyte is one question.
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

_POLL_S = 0.01  # how soon a stalled connection notices that it may go on
_READ_BYTES = 64 * 1024
_RESET = struct.pack("ii", 1, 0)  # linger for no time at all: what is unsent is thrown away and the peer gets a reset


class Way(StrEnum):
    """Directions."""

    UP = "up"  # from the client to the server
    DOWN = "down"


@dataclass(frozen=True)
class Manner:
    """
    How connections are treated from now on; the defaults spoil nothing.

    Attributes:
        stalled: nothing is passed on either way; it is kept, and delivered later.
        swallowed: what the client sends is thrown away. A connection that lost something this way never works again.
        turn_delay_s: how long each answer waits before its first byte.
        bytes_per_s: of each connection and way; None for as fast as it goes.
        slice_bytes: largest piece that is written at once; None for as it came.
        idle_s: a connection that was silent for so long is closed properly; None for never.
    """

    stalled: bool = False
    swallowed: bool = False
    turn_delay_s: float = 0.0
    bytes_per_s: int | None = None
    slice_bytes: int | None = None
    idle_s: float | None = None


@dataclass(frozen=True)
class Cut:
    """A reset, both sides, once so many bytes of a question (up) or of its answer (down) have passed."""

    way: Way
    after_bytes: int
    question_bytes: int = 0
    """Smallest question that counts, to tell a chunk from a look-up; for `down`."""


@dataclass(frozen=True)
class Done:
    """A reset that took place: how much of the turn had passed each way."""

    way: Way
    question_bytes: int
    answer_bytes: int


@dataclass
class Counts:
    """What the proxy has seen and done."""

    connections: int = 0
    refused: int = 0
    up_bytes: int = 0
    down_bytes: int = 0
    swallowed_bytes: int = 0
    turns: int = 0
    closed_idle: int = 0
    cuts: list[Done] = field(default_factory=list)


@dataclass(eq=False)
class _Connection:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    question_bytes: int = 0
    answer_bytes: int = 0
    lost: bool = False  # something the client sent was swallowed
    is_cut: bool = False
    used: float = 0.0

    def passed(self, way: Way, size: int) -> None:
        if way is Way.DOWN:
            self.answer_bytes += size
            return
        if self.answer_bytes:
            self.question_bytes = self.answer_bytes = 0
        self.question_bytes += size

    def reset(self) -> None:
        self.is_cut = True
        for writer in (self.client, self.server):
            plain = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Proxy:
    """
    Listens on a port of its own and passes on to a server; use it in a `with` block.

    Args:
        target: host and port of the server; may be another one later.
        host: address to listen on.
        port: 0 for any that is free.
    """

    def __init__(self, target: tuple[str, int], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.target = target
        self.host = host
        self.port = port
        self.counts = Counts()
        self.manner = Manner()
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

    def behave(self, **manner: Any) -> None:
        """Treat all connections so from now on; what is not said is as in `Manner`."""
        self.manner = Manner(**manner)

    def also(self, **manner: Any) -> None:
        """Change a part of the manner."""
        self.manner = replace(self.manner, **manner)

    def heal(self) -> None:
        """Spoil nothing any more, and listen."""
        self._cuts.clear()
        self.behave()
        self.listen()

    def cut(self, way: Way, after_bytes: int, *, question_bytes: int = 0, times: int = 1) -> None:
        """Reset a connection in the midst of the turns to come, so many times; see `Cut`."""
        self._cuts += [Cut(way, after_bytes, question_bytes)] * times

    def reset_all(self) -> int:
        """Reset every connection now; how many there were."""

        def reset() -> int:
            live = list(self._live)
            for connection in live:
                connection.reset()
            return len(live)

        return self._call(reset)

    def refuse(self) -> None:
        """Listen no more: whoever connects is refused. Connections that are there stay."""

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
        """How many connections there are."""
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
                ways = [
                    both.create_task(self._pump(connection, Way.UP, reader, up_writer)),
                    both.create_task(self._pump(connection, Way.DOWN, up_reader, writer)),
                ]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for task in (idle, *ways):
                    task.cancel()
        finally:
            self._live.discard(connection)
            for each in (writer, up_writer):
                each.close()

    async def _pump(
        self, connection: _Connection, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                connection.used = self._loop.time()
                while self.manner.stalled:  # noqa: ASYNC110 - an event would have to follow every change of manner
                    await asyncio.sleep(_POLL_S)
                if way is Way.UP and (self.manner.swallowed or connection.lost):
                    connection.lost = True
                    self.counts.swallowed_bytes += len(data)
                    continue
                if way is Way.DOWN and not connection.answer_bytes:
                    self.counts.turns += 1
                    await asyncio.sleep(self.manner.turn_delay_s)
                await self._pass(connection, way, data, writer)
                if connection.is_cut:
                    return

    async def _pass(self, connection: _Connection, way: Way, data: bytes, writer: asyncio.StreamWriter) -> None:
        at = 0
        while at < len(data) and not connection.is_cut:
            size = min(len(data) - at, self.manner.slice_bytes or len(data))
            rate = self.manner.bytes_per_s
            if rate is not None:
                size = min(size, max(1, rate // 20))
            cut = self._due(connection, way, size)
            if cut is not None:
                before = connection.question_bytes if way is Way.UP and not connection.answer_bytes else 0
                size = max(0, cut.after_bytes - (before if way is Way.UP else connection.answer_bytes))
            connection.passed(way, size)
            if way is Way.UP:
                self.counts.up_bytes += size
            else:
                self.counts.down_bytes += size
            writer.write(data[at : at + size])
            await writer.drain()
            at += size
            if cut is not None:
                self.counts.cuts.append(Done(way, connection.question_bytes, connection.answer_bytes))
                connection.reset()
            elif rate is not None:
                await asyncio.sleep(size / rate)
            connection.used = self._loop.time()

    def _due(self, connection: _Connection, way: Way, size: int) -> Cut | None:
        """The cut that falls within the next bytes, taken off the list."""
        for cut in self._cuts:
            if cut.way is not way:
                continue
            if way is Way.UP:
                before = 0 if connection.answer_bytes else connection.question_bytes
                within = before + size > cut.after_bytes
            else:
                large = connection.question_bytes >= cut.question_bytes
                within = large and connection.answer_bytes + size > cut.after_bytes
            if within:
                self._cuts.remove(cut)
                return cut
        return None

    async def _close_idle(self, connection: _Connection) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            limit = self.manner.idle_s
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
