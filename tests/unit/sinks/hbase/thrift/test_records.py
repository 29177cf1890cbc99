"""Table records, as a Thrift server returns them."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport, TSocket, TTransportException

from ingest.api import Put, StoreRefusedError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.thrift1 import Hbase, HBaseIOError
from sinks.writing.buffer import Chunk
from sinks.writing.retry import Retry
from sinks.writing.sending import DirectSender

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
    """A cluster with a table `attr2hbase` that has another family; answers reads of it as HBase does."""

    def getTableRegions(self, _name: bytes) -> list[object]:  # noqa: N802 - of the interface
        return [REGION(startKey=b"")]

    def get(self, *_arguments: object) -> None:
        raise HBaseIOError(message=NO_FAMILY)


@pytest.fixture
def settings() -> Iterator[HBaseSettings]:
    server = ThriftServer(OtherTable())
    yield HBaseSettings(host="127.0.0.1", port=server.port, timeout="10s")
    server.close()


def test_other_table_with_the_name_of_the_records_is_named(settings: HBaseSettings) -> None:
    store = HBaseStore(settings)
    store.open()
    with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
        store.buckets("events")
    store.close()


def test_no_row_is_refused_if_a_table_record_cannot_be_read(settings: HBaseSettings) -> None:
    sender = DirectSender(HBaseStore(settings), retry=Retry(sleep=lambda _seconds: None))
    sender.begin(10.0)
    with pytest.raises(StoreRefusedError, match='"attr2hbase"'):
        sender.submit(Chunk("events", [Put(b"a", {b"f:q": b"1"}, 1), Put(b"b", {b"f:q": b"2"}, 1)]))
    [result] = sender.take_results()
    assert (result.stored, list(result.refused)) == (False, [])
    sender.close()
