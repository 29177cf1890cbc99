"""Messages are byte for byte those of happybase's client."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TClient
from thriftpy2.transport import TBufferedTransport, TFramedTransport

from sinks.hbase.thrift.connection import Client
from sinks.hbase.thrift.message import METHOD, Binary, Compact, Messages
from sinks.hbase.thrift.thrift1 import BatchMutation, Hbase, HBaseIOError, IllegalArgument, ThriftMutation

WIRES = {"binary": (Binary, TBinaryProtocol), "compact": (Compact, TCompactProtocol)}
TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}
# also sizes at which the compact protocol needs another byte
SIZES = st.one_of(st.integers(0, 20), st.sampled_from([127, 128, 4_095, 4_096, 16_383, 16_384]))
BYTES = st.one_of(
    st.binary(max_size=20), st.builds(lambda size, byte: bytes([byte]) * size, SIZES, st.integers(0, 255))
)
ROWS = st.lists(st.tuples(BYTES, st.dictionaries(BYTES, BYTES, max_size=20)), max_size=20)
TIMES = st.one_of(st.integers(0, 2**63 - 1), st.integers(-(2**63), -1), st.sampled_from([0, 63, 64, 2**63 - 1]))


class Wire:
    """A socket that records what is written and returns a given answer."""

    def __init__(self, answer: bytes = b"") -> None:
        self.written = b""
        self._answer = answer

    def write(self, data: bytes) -> None:
        self.written += data

    def flush(self) -> None:
        pass

    def read(self, size: int) -> bytes:
        given, self._answer = self._answer[:size], self._answer[size:]
        return given


def happybase_bytes(
    protocol: str, transport: str, table: bytes, rows: Sequence[BatchMutation], timestamp_ms: int
) -> bytes:
    wire = Wire()
    client = TClient(Hbase, WIRES[protocol][1](TRANSPORTS[transport](wire)))
    client._send(METHOD, tableName=table, rowBatches=rows, timestamp=timestamp_ms, attributes={})
    return wire.written


def our_bytes(protocol: str, transport: str, message: bytes, answer: bytes = b"") -> bytes:
    wire = Wire(answer)
    Client(Hbase, WIRES[protocol][1](TRANSPORTS[transport](wire), decode_response=False)).send(METHOD, message)
    return wire.written


def row_of(key: bytes, columns: Mapping[bytes, bytes], *, is_delete: bool, wal: bool) -> BatchMutation:
    return BatchMutation(
        row=key,
        mutations=[
            ThriftMutation(isDelete=is_delete, column=column, value=value, writeToWAL=wal)
            for column, value in columns.items()
        ],
    )


@pytest.mark.parametrize("protocol", WIRES)
@given(table=BYTES, rows=ROWS, wal=st.booleans(), timestamp_ms=TIMES)
def test_puts_have_the_bytes_of_happybase(protocol: str, table: bytes, rows, wal: bool, timestamp_ms: int) -> None:
    messages = Messages(WIRES[protocol][0](), bool)
    for _ in range(2):  # first encoded, then cached
        made = [messages.put(row, columns, wal=wal) for row, columns in rows]
    expected = [row_of(row, columns, is_delete=False, wal=wal) for row, columns in rows]
    assert happybase_bytes(protocol, "buffered", table, expected, timestamp_ms) == messages.message(
        table, made, timestamp_ms
    )


@pytest.mark.parametrize("protocol", WIRES)
@given(table=BYTES, rows=ROWS, wal=st.booleans(), timestamp_ms=TIMES)
def test_deletes_have_the_bytes_of_happybase(protocol: str, table: bytes, rows, wal: bool, timestamp_ms: int) -> None:
    messages = Messages(WIRES[protocol][0](), bool)
    made = [messages.delete(row, list(columns), wal=wal) for row, columns in rows]
    expected = [row_of(row, dict.fromkeys(columns, b""), is_delete=True, wal=wal) for row, columns in rows]
    assert happybase_bytes(protocol, "buffered", table, expected, timestamp_ms) == messages.message(
        table, made, timestamp_ms
    )


@pytest.mark.parametrize("protocol", WIRES)
def test_more_columns_than_are_cached(protocol: str) -> None:
    messages = Messages(WIRES[protocol][0](), bool)
    rows = [(b"r%d" % number, {b"f:%d" % (number * 10 + one): b"v" for one in range(10)}) for number in range(1_000)]
    made = [messages.put(row, columns, wal=True) for row, columns in rows]
    expected = [row_of(row, columns, is_delete=False, wal=True) for row, columns in rows]
    assert happybase_bytes(protocol, "buffered", b"t", expected, 5) == messages.message(b"t", made, 5)


@pytest.mark.parametrize("protocol", WIRES)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("size", [1, 100_000])
def test_client_sends_the_message_in_its_transport(protocol: str, transport: str, size: int) -> None:
    messages = Messages(WIRES[protocol][0](), bool)
    columns = {b"f:q": b"v" * size}
    message = messages.message(b"t", [messages.put(b"r", columns, wal=True)], 5)
    expected = happybase_bytes(protocol, transport, b"t", [row_of(b"r", columns, is_delete=False, wal=True)], 5)
    assert expected == our_bytes(protocol, transport, message, answered(protocol, transport))


@pytest.mark.parametrize("protocol", WIRES)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", [HBaseIOError, IllegalArgument])
def test_errors_are_those_of_happybase(protocol: str, transport: str, kind: type[Exception]) -> None:
    field = {HBaseIOError: "io", IllegalArgument: "ia"}[kind]
    answer = answered(protocol, transport, **{field: kind(message=b"said \xff")})
    with pytest.raises(kind) as caught:
        our_bytes(protocol, transport, b"message", answer)
    assert caught.value.message == b"said \xff"


def answered(protocol: str, transport: str, **result: object) -> bytes:
    """The answer of a server."""
    wire = Wire()
    out = WIRES[protocol][1](TRANSPORTS[transport](wire))
    out.write_message_begin(METHOD, 2, 0)
    Hbase.mutateRowsTs_result(**result).write(out)
    out.write_message_end()
    out.trans.flush()
    return wire.written


@pytest.mark.parametrize("protocol", WIRES)
def test_invalid_column_is_an_error_and_not_cached(protocol: str) -> None:
    def check(column: bytes) -> None:
        if b":" not in column:
            raise ValueError(column)

    messages = Messages(WIRES[protocol][0](), check)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            messages.put(b"r", {b"f:q": b"", b"bad": b""}, wal=True)
    messages.delete(b"r", [b"family"], wal=True)
