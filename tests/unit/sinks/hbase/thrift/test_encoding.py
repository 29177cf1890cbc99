"""Encoder: order, timestamps and durabilities are kept, sizes are bounded, invalid mutations are rejected first."""

import struct
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.transport import TMemoryBuffer

from ingest.api import Delete, Durability, Mutation, Put, WriteRejectedError
from sinks.hbase.settings import HBaseSettings, Transport
from sinks.hbase.thrift.encoding import MAX_CALL_BYTES, MAX_FRAME_BYTES, Call, Encoder
from sinks.hbase.thrift.thrift1 import Hbase

FAMILIES = (b"f", b"g")
PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
COLUMNS = st.tuples(st.sampled_from([b"f", b"g"]), st.binary(max_size=3)).map(b":".join)
MUTATIONS = st.one_of(
    st.builds(
        Put,
        st.binary(min_size=1, max_size=3),
        st.dictionaries(COLUMNS, st.binary(max_size=40), min_size=1, max_size=3),
        st.integers(0, 2),
        st.sampled_from(Durability),
        ttl_ms=st.sampled_from([None, None, 1, 2**63 - 4]),
    ),
    st.builds(Delete, st.binary(min_size=1, max_size=3), st.integers(0, 2), durability=st.sampled_from(Durability)),
    st.builds(Delete, st.binary(min_size=1, max_size=3), st.integers(0, 2), st.sampled_from([b"f", b"g"])),
)
LIMIT = 10 * 1024 * 1024


def encoder(**options: object) -> Encoder:
    return Encoder(HBaseSettings.model_validate(options))


def calls(mutations: list[Mutation], made: Encoder | None = None) -> list[Call]:
    return list((made or encoder()).calls("t", mutations, lambda: FAMILIES))


def read(call: Call, protocol: str = "binary"):
    """The arguments of a call, as thriftpy2 decodes them."""
    data = PROTOCOLS[protocol](TMemoryBuffer(call.message), decode_response=False)
    assert data.read_message_begin()[0] in {b"mutateRowsTs", "mutateRowsTs"}
    found = Hbase.mutateRowsTs_args()
    found.read(data)
    return found


def named(mutation: Mutation) -> list[tuple[object, ...]]:
    if isinstance(mutation, Put):
        return [
            (False, column, value, mutation.durability is not Durability.SKIP)
            for column, value in mutation.columns.items()
        ]
    return [
        (True, family, b"", mutation.durability is not Durability.SKIP)
        for family in (FAMILIES if mutation.family is None else [mutation.family])
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(st.lists(MUTATIONS, max_size=12), st.sampled_from([1, 150, 300, 1 << 30]))
def test_calls_have_all_mutations_in_order(protocol: str, mutations: list[Mutation], max_bytes: int) -> None:
    with patch.dict(MAX_CALL_BYTES, {Transport.BUFFERED: max_bytes}):
        cutter = encoder(protocol=protocol)
    made = calls(mutations, cutter)
    assert [index for call in made for index in call.indexes] == list(range(len(mutations)))
    for call in made:
        found = read(call, protocol)
        within = mutations[call.indexes.start : call.indexes.stop]
        (ttl_ms,) = {mutation.ttl_ms for mutation in within}
        assert found.tableName == b"t"
        assert found.attributes == ({} if ttl_ms is None else {b"_ttl": struct.pack(">q", ttl_ms)})
        assert [row.row for row in found.rowBatches] == [mutation.row for mutation in within]
        assert {mutation.timestamp_ms for mutation in within} == {found.timestamp}
        assert len({(type(mutation), mutation.durability) for mutation in within}) == 1
        assert [
            [(cell.isDelete, cell.column, cell.value, cell.writeToWAL) for cell in row.mutations]
            for row in found.rowBatches
        ] == [named(mutation) for mutation in within]
        assert len(within) == 1 or len(call.message) <= max_bytes


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("transport", Transport)
def test_calls_are_as_large_as_allowed_and_no_larger(protocol: str, transport: Transport) -> None:
    puts = [Put(b"%05d" % number, {b"f:q": b"x" * 9_000}, 7) for number in range(5_000)]
    made = calls(puts, encoder(protocol=protocol, transport=transport))
    limit = MAX_CALL_BYTES[transport]
    assert max(len(call.message) for call in made) <= limit
    assert min(len(call.message) for call in made[:-1]) > limit - 10_000


def test_mutations_of_one_type_and_timestamp_are_one_call() -> None:
    puts = [Put(b"%d" % number, {b"f:q": b"v"}, 7) for number in range(1000)]
    assert [call.indexes for call in calls(puts)] == [range(1000)]


def test_deletes_name_family_or_column() -> None:
    (call,) = calls([Delete(b"a", 1), Delete(b"b", 1, b"f"), Delete(b"c", 1, b"f", b""), Delete(b"d", 1, b"f", b"x:y")])
    assert [[cell.column for cell in row.mutations] for row in read(call).rowBatches] == [
        [b"f", b"g"],
        [b"f"],
        [b"f:"],
        [b"f:x:y"],
    ]


def test_families_are_read_once_and_only_for_row_deletes() -> None:
    asked = []

    def families() -> tuple[bytes, ...]:
        asked.append(1)
        return FAMILIES

    list(encoder().calls("t", [Put(b"a", {b"f:q": b""}, 1), Delete(b"b", 1, b"f")], families))
    assert asked == []
    list(encoder().calls("t", [Delete(b"a", 1), Delete(b"b", 1)], families))
    assert asked == [1]


@pytest.mark.parametrize(
    ("mutation", "reason"),
    [
        (Put(b"", {b"f:q": b""}, 1), "row key of 0 bytes"),
        (Put(b"k" * 32_768, {b"f:q": b""}, 1), "row key of 32768 bytes"),
        (Put(b"r", {b"f:q": b""}, -1), "not a valid timestamp"),
        (Put(b"r", {b"f:q": b""}, 2**63 - 1), "not a valid timestamp"),
        (Put(b"r", {b"f:q": b""}, 1, ttl_ms=0), "time to live 0 ms"),
        (Put(b"r", {b"f:q": b""}, 1, ttl_ms=2**63 - 2), "time to live 9223372036854775806 ms"),
        (Put(b"r", {}, 1), "without a cell"),
        (Put(b"r", {b"f:q": b"", b"fq": b""}, 1), '"fq" is not a column'),
        (Put(b"r", {b":q": b""}, 1), '":q" is not a column'),
        (Put(b"r", {b"f" * 128 + b":q": b""}, 1), "family of 128 bytes"),
        (Delete(b"r", 1, b""), "is not a family"),
        (Delete(b"r", 1, b"f:"), "is not a family"),
        (Delete(b"r", 1, b"f" * 128), "is not a family"),
        (Delete(b"r", 1, b"f", b"q", exact=True), "cannot delete one version"),
        (Delete(b"", 1), "row key of 0 bytes"),
        (Put(b"r", {b"f:q": b"x" * LIMIT}, 1), "cell too large"),
    ],
)
def test_invalid_mutations_are_rejected_with_their_indexes(mutation: Mutation, reason: str) -> None:
    good = Put(b"k" * 32_767, {b"f" * 127 + b":": b""}, 0)
    made = encoder()
    with pytest.raises(WriteRejectedError, match=reason) as caught:
        made.calls("t", [good, mutation, good, mutation], lambda: FAMILIES)
    assert caught.value.indexes == [1, 3]
    assert len(calls([good, good], made)) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_single_row_may_fill_a_frame_but_not_exceed_it(protocol: str) -> None:
    framed = encoder(protocol=protocol, transport="framed")
    rest = MAX_FRAME_BYTES - len(calls([Put(b"a", {b"f:q": b"x" * 2_000_000}, 2**62)], framed)[0].message) + 2_000_000
    fits = Put(b"a", {b"f:q": b"x" * rest}, 2**62)
    over = Put(b"b", {b"f:q": b"x" * (rest + 1)}, 2**62)
    small = Put(b"c", {b"f:q": b"x"}, 2**62)
    made = calls([small, fits, small], framed)
    assert [len(call.indexes) for call in made] == [1, 1, 1]
    assert len(made[1].message) == MAX_FRAME_BYTES
    with pytest.raises(WriteRejectedError, match="framed") as caught:
        calls([small, over, fits, over], framed)
    assert caught.value.indexes == [1, 3]
    assert len(calls([small, over], encoder(protocol=protocol))) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_size_of_a_cell_is_counted_as_by_hbase(protocol: str) -> None:
    made = encoder(protocol=protocol)
    rest = 24 + len(b"row") + len(b"f") + len(b"q")
    fits = Put(b"row", {b"f:q": b"x" * (LIMIT - rest), b"f:a": b""}, 1)
    over = Put(b"row", {b"f:a": b"", b"f:q": b"x" * (LIMIT - rest + 1)}, 1)
    assert [call.indexes for call in calls([fits], made)] == [range(1)]
    with pytest.raises(WriteRejectedError, match="10485761 bytes") as caught:
        calls([fits, over, Delete(b"row", 1)], made)
    assert caught.value.indexes == [1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(st.integers(0, 40), st.integers(1, 60), st.integers(0, 20))
def test_maximum_size_of_a_cell_can_be_set(protocol: str, value: int, key: int, qualifier: int) -> None:
    made = encoder(protocol=protocol, max_cell_bytes="80B")
    put = Put(b"k" * key, {b"f:" + b"q" * qualifier: b"v" * value}, 1)
    if 24 + key + 1 + qualifier + value <= 80:
        assert len(calls([put], made)) == 1
    else:
        with pytest.raises(WriteRejectedError):
            calls([put], made)
