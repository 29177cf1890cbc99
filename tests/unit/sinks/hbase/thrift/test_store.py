"""Cells as a Thrift server returns them, and check-and-puts whose answer is lost."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport, TSocket, TTransportException

from ingest.api import Put, StoreError, StoreUnavailableError, UnclearRefusalError, WriteRejectedError
from ingest.api.store_errors import UnknownFamilyError
from sinks.hbase.errors import NoFamilyError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.store import ThriftStore
from sinks.hbase.thrift.thrift1 import Hbase, HBaseIOError, ThriftMutation

NO_FAMILY = "no_family-get"
REGION = Hbase.getTableRegions_result.thrift_spec[0][2][1]
ROW = Hbase.getRowWithColumns_result.thrift_spec[0][2][1]
CELL = Hbase.get_result.thrift_spec[0][2][1]
TABLE, KEY = b"attr2hbase", b"events"
"""Table and row of all calls."""


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

    def getTableRegions(self, name: bytes) -> list[object]:  # noqa: N802 - of the interface
        assert name == TABLE
        return [REGION(startKey=b"")]

    def getRowWithColumns(self, *_arguments: object) -> None:  # noqa: N802 - of the interface
        raise HBaseIOError(message=captured(NO_FAMILY))


class OneRow:
    """
    A cluster with a table of one row.

    Attributes:
        cells: column -> value.
        lost_answers: number of the next check-and-puts that are executed, but whose connection breaks then.
    """

    def __init__(self) -> None:
        self.cells: dict[bytes, bytes] = {}
        self.lost_answers = 0

    def getTableRegions(self, name: bytes) -> list[object]:  # noqa: N802 - of the interface
        assert name == TABLE
        return [REGION(startKey=b"")]

    def getRowWithColumns(  # noqa: N802 - of the interface
        self, name: bytes, row: bytes, columns: list[bytes], _attributes: object
    ) -> list[object]:
        assert (name, row) == (TABLE, KEY)
        cells = {
            column: CELL(value=value, timestamp=1)
            for column, value in self.cells.items()
            if {column, column.partition(b":")[0]} & set(columns)
        }
        return [ROW(row=row, columns=cells)] if cells else []

    def checkAndPut(  # noqa: N802 - of the interface
        self,
        name: bytes,
        row: bytes,
        column: bytes,
        before: bytes | None,
        put: ThriftMutation,
        _attributes: object,
    ) -> bool:
        assert (name, row, put.column) == (TABLE, KEY, column)
        is_equal = self.cells.get(column) == before
        if is_equal:
            self.cells[column] = put.value
        if self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionError("the server was killed")
        return is_equal


@contextmanager
def serving(handler: object) -> Iterator[HBaseSettings]:
    server = ThriftServer(handler)
    yield HBaseSettings(host="127.0.0.1", port=server.port, timeout="10s")
    server.close()


def test_cell_of_a_family_that_the_table_lacks() -> None:
    with serving(OtherTable()) as settings:
        store = ThriftStore(settings)
        store.open()
        with pytest.raises(NoFamilyError):
            store.values("attr2hbase", b"events", b"t:buckets")
        store.close()


def captured(name: str) -> str:
    """A text of a Thrift server."""
    return (Path(__file__).parent / "captured" / f"{name}.txt").read_text().partition("\n\n")[2]


class Refusing(OneRow):
    """A cluster that refuses all puts with a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def mutateRowsTs(self, *_arguments: object) -> None:  # noqa: N802 - of the interface
        raise HBaseIOError(message=self.text)

    def getRegionInfo(self, _row: bytes) -> object:  # noqa: N802 - of the interface
        return REGION(startKey=b"", name=b"t,,1.", endKey=b"")


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    ("name", "error"), [("unclear-coprocessor", UnclearRefusalError), ("sanity-composed", WriteRejectedError)]
)
def test_puts_that_are_refused_are_not_named(name: str, error: type[StoreError], rows: int) -> None:
    with serving(Refusing(captured(name))) as settings, closing(ThriftStore(settings)) as store:
        store.open()
        with pytest.raises(error) as caught:
            store.apply("t1", [Put(b"r%d" % number, {b"f:q": b"v"}, 1) for number in range(rows)])
        if name == "unclear-coprocessor":
            assert caught.value.message == (
                "refused: Failed 2 actions: org.apache.hadoop.hbase.DoNotRetryIOException: "
                "a rule of this cluster refuses bad1"
            )


def test_row_that_is_refused_for_its_family_is_named_and_has_the_class() -> None:
    text = "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family g does not exist"
    with serving(Refusing(text)) as settings, closing(ThriftStore(settings)) as store:
        store.open()
        with pytest.raises(UnknownFamilyError) as caught:
            store.apply("t1", [Put(b"r", {b"g:q": b"v"}, 1)])
    assert caught.value.indexes == [0]


def test_values_of_a_cell_and_of_a_family() -> None:
    row = OneRow()
    with serving(row) as settings, closing(ThriftStore(settings)) as store:
        store.open()
        assert store.values("attr2hbase", b"events", b"t") == {}
        row.cells = {b"t:buckets": b"16", b"t:committed": b"\xff"}
        assert store.values("attr2hbase", b"events", b"t") == row.cells
        assert store.values("attr2hbase", b"events", b"t:buckets") == {b"t:buckets": b"16"}
        assert store.values("attr2hbase", b"events", b"t:owner") == {}


@pytest.mark.parametrize(("before", "value"), [(None, "1"), ("1", "2"), ("1", None)])
def test_property_whose_answer_was_lost_is_set_when_the_call_is_repeated(before: str | None, value: str | None) -> None:
    row = OneRow()
    row.cells = {} if before is None else {b"t:committed": before.encode()}
    with serving(row) as settings, closing(HBaseStore.of(settings)) as store:
        store.open()
        row.lost_answers = 1
        with pytest.raises(StoreUnavailableError):
            store.set_property("events", "committed", before, value)
        assert store.set_property("events", "committed", before, value)
        assert not store.set_property("events", "committed", "0", "3")
        assert store.properties("events") == ({} if value is None else {"committed": value})
