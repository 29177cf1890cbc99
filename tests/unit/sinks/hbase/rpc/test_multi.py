"""The message of a call with many mutations, and its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Durability, Mutation, Put
from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import Message, WireError, data, flag, number
from sinks.hbase.rpc.multi import Batch, MultiEncoder, failures

NO_FAMILY = "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException"
MOVED = "org.apache.hadoop.hbase.NotServingRegionException"


def stored(at: int) -> bytes:
    return data(1, number(1, at) + data(2, b""))


def failed(at: int, name: str) -> bytes:
    return data(1, number(1, at) + data(3, data(1, name.encode()) + data(2, b"text")))


def batch(size: int, region: bytes = b"r") -> Batch:
    return Batch(region, list(range(100, 100 + size)))


def test_request() -> None:
    mutations: list[Mutation] = [
        Put(b"a", {b"f:q": b"1", b"f:p": b"1"}, 5),
        Delete(b"b", 6),
        Put(b"c", {b"f:q": b"1"}, 5, durability=Durability.SKIP),
        Delete(b"d", 7, b"f", b"q", durability=Durability.ASYNC),
        Put(b"e", {b"f:q": b"1"}, 5, durability=Durability.FSYNC),
        Put(b"g", {b"f:q": b"1"}, 5, ttl_ms=258),
        Put(b"h", {b"f:q": b"1"}, 5, ttl_ms=258),
    ]
    encoder = MultiEncoder()
    for _ in range(2):
        batches = [Batch(b"one", [0, 2]), Batch(b"two", [1, 3, 4]), Batch(b"three", [5, 6]), Batch(b"four", [5, 4])]
        one, two, *with_ttl = Message(encoder.request(batches, mutations)).messages(1)
        assert [(region.message(1).number(1), region.message(1).data(2)) for region in (one, two)] == [
            (1, b"one"),
            (1, b"two"),
        ]
        actions = [(action.number(1), action.message(2)) for region in (one, two) for action in region.messages(3)]
        assert [at for at, _ in actions] == [0, 1, 0, 1, 2]
        # type, durability, number of cells, row, time
        assert [(m.number(2), m.number(6), m.number(8), m.data(1), m.number(4)) for _, m in actions] == [
            (2, 3, 2, b"", 0),
            (2, 1, 1, b"", 0),
            (3, 3, 0, b"b", 6),
            (3, 2, 1, b"", 0),
            (2, 4, 1, b"", 0),
        ]
        # attributes
        assert not any(m.has(5) for _, m in actions)
        found = [action.message(2) for region in with_ttl for action in region.messages(3)]
        assert [[(pair.text(1), pair.data(2)) for pair in m.messages(5)] for m in found] == [
            [("_ttl", b"\0\0\0\0\0\0\x01\x02")],
            [("_ttl", b"\0\0\0\0\0\0\x01\x02")],
            [("_ttl", b"\0\0\0\0\0\0\x01\x02")],
            [],
        ]
        assert [(m.number(2), m.number(6), m.number(8)) for m in found] == [(2, 3, 1)] * 3 + [(2, 4, 1)]


def test_actions_of_few_kinds_are_kept() -> None:
    puts: list[Mutation] = [Put(b"a", {b"f:%d" % cell: b"1" for cell in range(cells)}, 5) for cells in range(1, 101)]
    encoder = MultiEncoder()
    requests = [encoder.request([Batch(b"r", list(range(len(puts))))], puts) for _ in range(2)]
    (region,) = Message(requests[0]).messages(1)
    found = [(action.number(1), action.message(2).number(8)) for action in region.messages(3)]
    assert found == [(at, at + 1) for at in range(100)]
    assert requests[0] == requests[1]
    assert len(encoder._actions) == 64


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=4), processed=st.booleans(), seed=st.randoms())
def test_answer_without_exceptions(sizes, processed, seed) -> None:
    answer = b""
    for size in sizes:
        order = list(range(size))
        seed.shuffle(order)
        answer += data(1, b"".join(map(stored, order)) + (flag(3) if processed else b""))
    assert failures(answer + flag(2), [batch(size) for size in sizes]) == []


def test_exceptions_of_rows_and_of_regions() -> None:
    answer = data(1, stored(1) + failed(0, NO_FAMILY) + stored(2))
    answer += data(1, data(2, data(1, MOVED.encode())))
    answer += data(1, stored(0))
    row, region = failures(answer, [batch(3), Batch(b"s", [7, 8]), batch(1)])
    assert (row.error.kind, row.indexes, row.is_of_region) == (Kind.NO_FAMILY, [100], False)
    assert (region.error.kind, region.indexes, region.is_of_region) == (Kind.MOVED, [7, 8], True)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        data(1, stored(0)),
        data(1, stored(0) + stored(0)),
        data(1, stored(0) + stored(2)),
        data(1, stored(0) + stored(1) + stored(1) + failed(1, NO_FAMILY))[:-1],
        data(2, b""),
    ],
)
def test_answer_that_lacks_a_result_is_an_error(answer: bytes) -> None:
    """No mutation counts as stored unless the server says so."""
    with pytest.raises(WireError):
        failures(answer, [batch(2)])


@given(answer=st.binary(max_size=40))
def test_any_answer_is_an_error_or_says_what_was_stored(answer: bytes) -> None:
    try:
        found = failures(answer, [batch(1)])
    except WireError:
        return
    assert found or 0 in [each.number(1) for each in Message(answer).messages(1)[0].messages(1)]


def test_cell_that_is_too_large_fails_its_whole_batch() -> None:
    """HBase 2.6.1 names every row, and has stored none."""
    name = "org.apache.hadoop.hbase.DoNotRetryIOException"
    text = f"{name}: Cell[r/f:q/1/Put] with size 1001 exceeds limit of 1000 bytes".encode()
    pair = data(1, name.encode()) + data(2, text)
    answer = data(1, b"".join(data(1, number(1, at) + data(3, pair)) for at in range(2)))
    (failure,) = failures(answer, [batch(2)])
    assert (failure.error.kind, failure.is_of_region) == (Kind.TOO_LARGE, True)
