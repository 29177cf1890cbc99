"""The write buffer: chunks are bounded by bytes and rows, and fit into one call."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Durability, Mutation, Put
from sinks.folding.sizes import CELL_COST_BYTES, ROW_COST_BYTES
from sinks.writing.buffer import Chunk, WriteBuffer


class Sending(WriteBuffer):
    """Keeps the chunks that are to be sent."""

    def __init__(self, limit_bytes: int, **options: int | bool) -> None:
        super().__init__(limit_bytes, **options)
        self.chunks: list[Chunk] = []

    def add(self, table: str, mutation: Mutation) -> Sequence[Chunk]:
        full = super().add(table, mutation)
        self.chunks += full
        return full

    def flush(self) -> None:
        self.chunks += self.take()


def collecting(limit_bytes: int = 10_000, **options: int | bool) -> tuple[Sending, list[Chunk]]:
    buffer = Sending(limit_bytes, **options)
    return buffer, buffer.chunks


def put(
    row: bytes, value: bytes = b"v", at: int = 1, *, durability: Durability = Durability.SYNC, column: bytes = b"f:q"
) -> Put:
    return Put(row, {column: value}, at, durability)


def rows(chunk: Chunk) -> list[bytes]:
    return [mutation.row for mutation in chunk.mutations]


def test_nothing_is_sent_before_the_buffer_is_full():
    buffer, chunks = collecting()
    buffer.add("t", put(b"a"))
    assert chunks == []
    buffer.flush()
    assert [rows(chunk) for chunk in chunks] == [[b"a"]]
    assert buffer.buffered_bytes == 0


def test_size_counts_names_values_and_fixed_costs():
    buffer, _ = collecting()
    buffer.add("t", put(b"abc", b"12345"))
    assert buffer.buffered_bytes == ROW_COST_BYTES + CELL_COST_BYTES + 3 + 3 + 5


def test_chunk_is_bounded_by_bytes():
    buffer, chunks = collecting(limit_bytes=1_000)
    for number in range(3):
        buffer.add("t", put(b"%d" % number, b"x" * 400))
    assert [rows(chunk) for chunk in chunks] == [[b"0", b"1"]]


def test_chunk_is_bounded_by_rows():
    buffer, chunks = collecting(max_rows=2)
    for number in range(5):
        buffer.add("t", put(b"%d" % number))
    assert [rows(chunk) for chunk in chunks] == [[b"0", b"1"], [b"2", b"3"]]


def test_row_larger_than_the_limit_is_sent_alone():
    buffer, chunks = collecting(limit_bytes=1_000)
    buffer.add("t", put(b"small"))
    buffer.add("t", put(b"large", b"x" * 5_000))
    assert [rows(chunk) for chunk in chunks] == [[b"small"], [b"large"]]


def test_chunk_has_one_table_timestamp_wal_flag_ttl_and_type():
    buffer, chunks = collecting()
    first = [put(b"a"), put(b"a", at=2), put(b"a", durability=Durability.SKIP), Delete(b"a", 1)]
    second = [put(b"b"), put(b"b", at=2), put(b"b", durability=Durability.SKIP), Delete(b"b", 1)]
    first.append(Put(b"a", {b"f:q": b"v"}, 1, ttl_ms=5))
    second.append(Put(b"b", {b"f:q": b"v"}, 1, ttl_ms=5))
    for mutation in (*first, *second):
        buffer.add("t", mutation)
    buffer.add("u", put(b"c"))
    buffer.flush()
    pairs = [list(pair) for pair in zip(first, second, strict=True)]
    assert [(chunk.table, chunk.mutations) for chunk in chunks] == [
        *(("t", pair) for pair in pairs),
        ("u", [put(b"c")]),
    ]


def test_chunk_of_a_store_that_mixes_puts_has_one_table_and_type():
    buffer, chunks = collecting(mixes_puts=True)
    puts = [put(b"a"), put(b"b", at=2), put(b"a", durability=Durability.SKIP), Put(b"c", {b"f:q": b"v"}, 1, ttl_ms=5)]
    deletes = [Delete(b"a", 1), Delete(b"b", 2, durability=Durability.SKIP)]
    for pair in zip(puts, [*deletes, *deletes], strict=True):
        for mutation in pair:
            buffer.add("t", mutation)
    buffer.add("u", put(b"c"))
    buffer.flush()
    assert [(chunk.table, chunk.mutations) for chunk in chunks] == [
        ("t", puts),
        ("t", [*deletes, *deletes]),
        ("u", [put(b"c")]),
    ]


def test_chunks_of_several_timestamps_are_buffered_together():
    buffer, chunks = collecting(limit_bytes=1_000_000)
    for row in (b"a", b"b", b"c"):
        for at in range(1, 6):
            buffer.add("t", put(row, at=at))
    buffer.flush()
    assert [rows(chunk) for chunk in chunks] == [[b"a", b"b", b"c"]] * 5


@pytest.mark.parametrize("mixes_puts", [False, True])
def test_mixed_buffer_keeps_the_order_of_a_table(*, mixes_puts: bool):
    buffer, chunks = collecting(mixed=True, mixes_puts=mixes_puts)
    mutations = [
        put(b"a", b"1"),
        put(b"a", b"2", at=2),
        Delete(b"a", 1),
        put(b"a", b"3"),
        put(b"a", b"4", durability=Durability.SKIP),
    ]
    for mutation in mutations:
        buffer.add("t", mutation)
    buffer.add("u", put(b"b"))
    buffer.flush()
    assert [(chunk.table, chunk.mutations) for chunk in chunks] == [("t", mutations), ("u", [put(b"b")])]


def test_clear_empties_the_buffer():
    buffer, chunks = collecting()
    buffer.add("t", put(b"a"))
    buffer.clear()
    buffer.flush()
    assert chunks == []
    assert buffer.buffered_bytes == 0


def test_full_buffer_sends_its_largest_chunks():
    buffer, chunks = collecting(limit_bytes=3_000)
    for number in range(10):
        buffer.add("t", put(b"large%d" % number, b"x" * 100, at=1))
    for number in range(20):
        buffer.add("t", put(b"small%d" % number, at=100 + number))
    assert [rows(chunk) for chunk in chunks] == [[b"large%d" % number for number in range(10)]]


@given(
    puts=st.lists(
        st.builds(
            lambda table, row, at, durability, size: (table, Put(row, {b"f:q": b"x" * size}, at, durability)),
            st.sampled_from(["t", "u"]),
            st.binary(min_size=1, max_size=2),
            st.integers(min_value=1, max_value=5),
            st.sampled_from(Durability),
            st.integers(min_value=0, max_value=900),
        ),
        max_size=40,
    ),
    limit=st.integers(min_value=100, max_value=3_000),
)
def test_memory_is_bounded_and_nothing_is_lost(puts, limit):
    buffer, chunks = collecting(limit, max_rows=7)
    for table, one in puts:
        size = ROW_COST_BYTES + CELL_COST_BYTES + len(one.row) + 3 + len(one.columns[b"f:q"])
        buffer.add(table, one)
        assert buffer.buffered_bytes <= max(limit, size)
    buffer.flush()
    assert buffer.buffered_bytes == 0
    sent = []
    for chunk in chunks:
        assert len(chunk.mutations) <= 7
        assert len({(one.timestamp_ms, one.durability) for one in chunk.mutations}) == 1
        assert chunk.cells == len(chunk.mutations)
        sent += [(chunk.table, one) for one in chunk.mutations]
    assert sorted(sent, key=repr) == sorted(puts, key=repr)
