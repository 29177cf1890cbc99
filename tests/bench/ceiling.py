"""The upper bound for a client of HBase: prepared calls, over some connections, into an empty table."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import psutil

from ingest.api import Mutation
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.multi import Batch, MultiEncoder, failures
from sinks.hbase.rpc.regions import CLIENT_SERVICE, RegionCache
from sinks.hbase.rpc.stream import Address
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.encoding import Encoder
from sinks.hbase.thrift.message import METHOD
from sinks.writing.buffer import Chunk
from tests.bench.watching import Processes, Sample, follow
from tests.bench.workload import TABLE
from tests.support.servers import HBase

IN_FLIGHT = 2
"""Calls without an answer on a connection for HBase's native RPC, as attr2hbase has them."""
TIMEOUT_S = 180.0


class Prepared(NamedTuple):
    """
    The rows of a call.

    Attributes:
        content: the message of a Thrift call, or a block of cells.
        rows: their number.
        example: one of them.
    """

    content: bytes
    rows: int
    example: Mutation


class Client(ABC):
    """Sends prepared calls over one connection; used by one thread."""

    def __init__(self, hbase: HBase) -> None:
        self.hbase = hbase

    @staticmethod
    @abstractmethod
    def prepared(chunks: Iterable[Chunk]) -> Iterator[Prepared]:
        """The calls of chunks, in order."""

    @abstractmethod
    def send(self, calls: Sequence[Prepared]) -> Iterator[int]:
        """Send the calls; yields the number of rows of each that was answered."""


class ThriftClient(Client):
    """Through the Thrift server."""

    @staticmethod
    def prepared(chunks: Iterable[Chunk]) -> Iterator[Prepared]:
        """Messages of Thrift."""
        encoder = Encoder(HBaseSettings())
        for chunk in chunks:
            for call in encoder.calls(chunk.table, chunk.mutations, tuple):
                yield Prepared(call.message, len(call.indexes), chunk.mutations[0])

    def send(self, calls: Sequence[Prepared]) -> Iterator[int]:
        """One call at a time."""
        connection = Connection(HBaseSettings(host=self.hbase.host, port=self.hbase.port))
        connection.open()
        with closing(connection):
            for each in calls:
                connection.call(lambda client, each=each: client.send(METHOD, each.content))
                yield each.rows


class NativeClient(Client):
    """With HBase's native RPC, to the one region of the table."""

    @staticmethod
    def prepared(chunks: Iterable[Chunk]) -> Iterator[Prepared]:
        """Blocks of cells."""
        put = CellEncoder(10 << 20).put
        for chunk in chunks:
            cells = b"".join([put(row) for row in chunk.mutations])  # type: ignore[arg-type] # all are puts
            yield Prepared(cells, len(chunk.mutations), chunk.mutations[0])

    def send(self, calls: Sequence[Prepared]) -> Iterator[int]:
        """A few calls at a time."""
        addresses = [Address(*each) for each in HBaseSettings(bootstrap_servers=self.hbase.bootstrap_servers).addresses]
        cluster = Cluster(addresses, may_leave_machine=False)
        cluster.open()
        with closing(cluster):
            deadline_s = Attempts(TIMEOUT_S).deadline_s
            (region,) = RegionCache(cluster).of(TABLE, deadline_s).all
            assert region.server is not None
            connection = cluster.connection(region.server, CLIENT_SERVICE, deadline_s)
            encoder = MultiEncoder()
            sent: deque[tuple[int, Batch]] = deque()

            def answered() -> int:
                call, batch = sent.popleft()
                answer = connection.receive(call, Attempts(TIMEOUT_S).deadline_s)
                refused = failures(answer.message, [batch])
                assert not refused, refused
                return len(batch.indexes)

            for each in calls:
                batch = Batch(region.name, list(range(each.rows)))
                message = encoder.request([batch], [each.example] * each.rows)
                deadline_s = Attempts(TIMEOUT_S).deadline_s
                sent.append((connection.send("Multi", message, each.content, deadline_s), batch))
                if len(sent) == IN_FLIGHT:
                    yield answered()
            while sent:
                yield answered()


def run(client: type[Client], hbase: HBase, calls: Sequence[Prepared], connections: int, servers: Processes) -> Sample:
    """Send all calls over so many connections."""
    sent = [0] * connections
    failed: list[BaseException] = []

    def send(number: int) -> None:
        try:
            for rows in client(hbase).send(calls[number::connections]):
                sent[number] += rows
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    try:
        return follow(
            sum(call.rows for call in calls),
            lambda: sum(sent),
            its=lambda: [psutil.Process()],
            servers=servers,
            runs=lambda: not failed,
        )
    finally:
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
