"""Damaged answers of a Thrift server: an operation raises a store's error; no row has values that were not sent."""

import functools
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TMemoryBuffer

from ingest.api import Cell, Delete, FamilySpec, IngestError, Put, Scan
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.store import ThriftStore
from sinks.hbase.thrift.thrift1 import BatchMutation, ColumnDescriptor, Hbase
from tests.support.damaged_thrift import CHANGES, Change
from tests.support.rpc_server import frame, framed

REGION = Hbase.getTableRegions_result.thrift_spec[0][2][1]
ROW = Hbase.getRowWithColumns_result.thrift_spec[0][2][1]
CELL = Hbase.get_result.thrift_spec[0][2][1]
WAIT_S = 0.1
"""For an answer whose end is missing."""
CELLS = (Cell(b"f", b"a", 7, b"v"), Cell(b"f", b"b", 8, b"w"))


class Handler:
    """A cluster with a table of one row; the names are those of the interface."""

    def __init__(self) -> None:
        self.rows = [
            ROW(row=b"r", columns={b"f:a": CELL(value=b"v", timestamp=7), b"f:b": CELL(value=b"w", timestamp=8)})
        ]

    def getTableNames(self) -> list[bytes]:  # noqa: N802
        return [b"t"]

    def isTableEnabled(self, _name: bytes) -> bool:  # noqa: N802
        return True

    def getColumnDescriptors(self, _name: bytes) -> dict[bytes, object]:  # noqa: N802
        family = ColumnDescriptor(
            name=b"f:", maxVersions=3, compression=b"NONE", bloomFilterType=b"ROW", timeToLive=2**31 - 1
        )
        return {b"f:": family}

    def getTableRegions(self, _name: bytes) -> list[object]:  # noqa: N802
        return [REGION(startKey=b""), REGION(startKey=b"m")]

    def getRowWithColumnsTs(self, *_arguments: object) -> list[object]:  # noqa: N802
        return self.rows

    def getRowWithColumns(self, *_arguments: object) -> list[object]:  # noqa: N802
        return self.rows

    def getVerTs(self, *_arguments: object) -> list[object]:  # noqa: N802
        return [CELL(value=b"v", timestamp=7), CELL(value=b"u", timestamp=6)]

    def scannerOpenWithScan(self, *_arguments: object) -> int:  # noqa: N802
        self._left = self.rows
        return 5

    def scannerGetList(self, _number: int, _rows: int) -> list[object]:  # noqa: N802
        found, self._left = self._left, []
        return found

    def scannerClose(self, _number: int) -> None:  # noqa: N802
        pass

    def mutateRowsTs(self, *_arguments: Sequence[BatchMutation]) -> None:  # noqa: N802
        pass


class Server:
    """
    A framed Thrift server for one connection at a time.

    Attributes:
        damage: changes an answer of a method.
    """

    def __init__(self) -> None:
        self.damage: Callable[[str, bytes], bytes] = lambda _method, answer: answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._processor = TProcessor(Hbase, Handler())
        self.settings = HBaseSettings.model_validate(
            {"host": "127.0.0.1", "port": self._socket.getsockname()[1], "transport": "framed", "timeout": "10s"}
        )
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(accepted,), daemon=True).start()

    def _answer(self, accepted: socket.socket) -> None:
        with accepted, suppress(OSError):
            while True:
                call = frame(accepted)
                (size,) = struct.unpack_from(">i", call, 4)
                answer = TMemoryBuffer()
                self._processor.process(TBinaryProtocol(TMemoryBuffer(call)), TBinaryProtocol(answer))
                accepted.sendall(framed(self.damage(call[8 : 8 + size].decode(), answer.getvalue())))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with closing(Server()) as made:
        yield made


def changed(changes: list[Change]) -> Callable[[bytes], bytes]:
    def damage(answer: bytes) -> bytes:
        with suppress(struct.error, IndexError, OverflowError):  # another change of a damaged one
            return functools.reduce(lambda found, change: change.applied_to(found), changes, answer)
        return answer[: len(answer) // 2]

    return damage


METHODS = [name for name in vars(Handler) if not name.startswith("_")]
DAMAGES = st.lists(CHANGES, min_size=1, max_size=2).map(changed)


@given(method=st.sampled_from(METHODS), damage=DAMAGES)
def test_damaged_answer_is_an_error(server: Server, method: str, damage: Callable[[bytes], bytes]) -> None:
    store = ThriftStore(server.settings.with_timeout(WAIT_S))
    store.open()
    found: list[Cell] = []
    names: list[object] = []

    def read_versions() -> None:
        row = store.get("t", b"r", columns=[b"f:a"], versions=2)
        found.extend(row.cells if row else ())

    def scan() -> None:
        for row in store.scan("t", Scan()):
            names.append(row.key)
            found.extend(row.cells)

    operations: list[Callable[[], object]] = [
        read_versions,
        scan,
        lambda: names.extend(store.table_names()),
        lambda: names.extend(store.region_starts("t")),
        lambda: names.extend(store.values("t", b"r", b"f").values()),
        lambda: names.extend(family.name for family in store.family_specs("t")),
        lambda: store.apply("t", [Put(b"r", {b"f:a": b"v"}, 7), Delete(b"s", 7)]),
    ]
    server.damage = lambda name, answer: damage(answer) if name == method else answer
    try:
        for operation in operations:
            with suppress(IngestError):
                operation()
    finally:
        server.damage = lambda _method, answer: answer
    assert all(isinstance(name, bytes | str) for name in names)
    for cell in found:
        assert tuple(map(type, cell)) == (bytes, bytes, int, bytes)
    store.close()
    store = ThriftStore(server.settings)
    store.open()
    assert store.get("t", b"r") == (b"r", CELLS)
    assert store.family_specs("t") == (FamilySpec(b"f", versions=3),)
    store.close()
