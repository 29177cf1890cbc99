"""A cell, as a Thrift server returns it."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport, TSocket, TTransportException

from sinks.hbase.client import NoFamilyError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.client import ThriftClient
from sinks.hbase.thrift.thrift1 import Hbase, HBaseIOError

NO_FAMILY = (Path(__file__).parent / "captured" / "no_family-get.txt").read_text().partition("\n\n")[2]
REGION = Hbase.getTableRegions_result.thrift_spec[0][2][1]


class ThriftServer:
    """Answers calls of the interface `Hbase` with a handler, one connection after the other."""

    def __init__(self, handler: object) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._processor = TProcessor(Hbase, handler)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            transport = TBufferedTransport(TSocket(sock=accepted))
            protocol = TBinaryProtocol(transport)
            try:
                while True:
                    self._processor.process(protocol, protocol)
            except (TTransportException, OSError):
                transport.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


class OtherTable:
    """A cluster with a table that has another family; answers reads of it as HBase does."""

    def getTableRegions(self, _name: bytes) -> list[object]:  # noqa: N802 - of the interface
        return [REGION(startKey=b"")]

    def getRowWithColumns(self, *_arguments: object) -> None:  # noqa: N802 - of the interface
        raise HBaseIOError(message=NO_FAMILY)


@pytest.fixture
def settings() -> Iterator[HBaseSettings]:
    server = ThriftServer(OtherTable())
    yield HBaseSettings(host="127.0.0.1", port=server.port, timeout="10s")
    server.close()


def test_cell_of_a_family_that_the_table_lacks(settings: HBaseSettings) -> None:
    client = ThriftClient(settings)
    client.open()
    with pytest.raises(NoFamilyError):
        client.values("attr2hbase", b"events", b"t:buckets")
    client.close()
