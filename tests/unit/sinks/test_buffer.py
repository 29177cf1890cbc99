"""Chunks are cut by bytes and rows, and a row's puts leave in the order they came."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Put
from sinks.buffer import CELL_COST_BYTES, ROW_COST_BYTES, Chunk, WriteBuffer


def collecting(limit_bytes: int = 10_000, **options: int | bool) -> tuple[WriteBuffer, list[Chunk]]:
    chunks: list[Chunk] = []
    return WriteBuffer(limit_bytes, chunks.append, **options), chunks


def put(row: bytes, value: bytes = b"v", at: int = 1, *, wal: bool = True, column: bytes = b"f:q") -> Put:
    return Put(row, {column: value}, at, wal)


def rows(chunk: Chunk) -> list[bytes]:
    return [mutation.row for mutation in chunk.mutations]


def test_nothing_leaves_before_it_is_full():
    buffer, chunks = collecting()
    buffer.put("t", put(b"a"))
    assert chunks == []
    buffer.flush()
    assert [rows(chunk) for chunk in chunks] == [[b"a"]]
    assert buffer.waiting_bytes == 0


def test_size_counts_names_values_and_fixed_costs():
    buffer, _ = collecting()
    buffer.put("t", put(b"abc", b"12345"))
    assert buffer.waiting_bytes == ROW_COST_BYTES + CELL_COST_BYTES + 3 + 3 + 5


def test_bytes_cut_a_chunk():
    buffer, chunks = collecting(limit_bytes=1_000)
    for number in range(3):
        buffer.put("t", put(b"%d" % number, b"x" * 400))
    assert [rows(chunk) for chunk in chunks] == [[b"0", b"1"]]


def test_rows_cut_a_chunk():
    buffer, chunks = collecting(max_rows=2)
    for number in range(5):
        buffer.put("t", put(b"%d" % number))
    assert [rows(chunk) for chunk in chunks] == [[b"0", b"1"], [b"2", b"3"]]


def test_row_larger_than_the_limit_goes_alone():
    buffer, chunks = collecting(limit_bytes=1_000)
    buffer.put("t", put(b"small"))
    buffer.put("t", put(b"large", b"x" * 5_000))
    assert [rows(chunk) for chunk in chunks] == [[b"small"], [b"large"]]


def test_puts_of_one_row_become_one_and_the_later_value_wins():
    buffer, chunks = collecting()
    buffer.put("t", Put(b"a", {b"f:x": b"1", b"f:y": b"1"}, 1))
    buffer.put("t", Put(b"a", {b"f:x": b"2"}, 1))
    buffer.flush()
    assert [chunk.mutations for chunk in chunks] == [[Put(b"a", {b"f:x": b"2", b"f:y": b"1"}, 1)]]


def test_merging_goes_on_after_a_chunk_was_cut():
    buffer, chunks = collecting(max_rows=1)
    for value in (b"1", b"2"):
        buffer.put("t", put(b"a", value))
    assert [chunk.mutations for chunk in chunks] == [[put(b"a", b"1")], [put(b"a", b"2")]]


def test_other_flag_of_the_same_row_sends_the_pending_put_first():
    buffer, chunks = collecting()
    buffer.put("t", put(b"a", b"1"))
    buffer.put("t", put(b"b", b"1", wal=False))
    buffer.put("t", put(b"a", b"2", wal=False))
    assert [chunk.mutations for chunk in chunks] == [[put(b"a", b"1")]]
    buffer.flush()
    assert chunks[1].mutations == [put(b"b", b"1", wal=False), put(b"a", b"2", wal=False)]


def test_other_time_of_the_same_row_sends_the_pending_put_first():
    buffer, chunks = collecting()
    buffer.put("t", put(b"a", at=1))
    buffer.put("t", put(b"b", at=2))
    buffer.put("t", put(b"a", at=2))
    assert [chunk.mutations for chunk in chunks] == [[put(b"a", at=1)]]


def test_the_same_row_of_another_table_waits_on():
    buffer, chunks = collecting()
    buffer.put("t", put(b"a", at=1))
    buffer.put("u", put(b"a", at=2))
    assert chunks == []


def test_deletes_wait_in_chunks_of_their_own():
    buffer, chunks = collecting()
    buffer.delete("t", Delete(b"a", 1))
    buffer.put("t", put(b"a", at=1))
    buffer.flush()
    assert [chunk.mutations for chunk in chunks] == [[Delete(b"a", 1)], [put(b"a", at=1)]]


def test_store_of_many_times_gets_them_in_one_chunk():
    buffer, chunks = collecting(many_times=True)
    buffer.put("t", put(b"a", b"1", at=1))
    buffer.put("t", put(b"a", b"2", at=2))
    buffer.put("t", put(b"a", b"3", at=2))
    buffer.put("t", put(b"a", b"4", at=2, wal=False))
    buffer.flush()
    assert [chunk.mutations for chunk in chunks] == [
        [put(b"a", b"1", at=1), put(b"a", b"3", at=2)],
        [put(b"a", b"4", at=2, wal=False)],
    ]


def test_clear_forgets_what_waits():
    buffer, chunks = collecting()
    buffer.put("t", put(b"a"))
    buffer.clear()
    buffer.flush()
    assert chunks == []
    assert buffer.waiting_bytes == 0


def test_when_room_is_needed_the_largest_chunks_leave():
    buffer, chunks = collecting(limit_bytes=3_000)
    for number in range(10):
        buffer.put("t", put(b"large%d" % number, b"x" * 100, at=1))
    for number in range(20):
        buffer.put("t", put(b"small%d" % number, at=100 + number))
    assert [chunk.timestamp_ms for chunk in chunks] == [1]


@given(
    puts=st.lists(
        st.builds(
            lambda table, row, at, wal, size: (table, Put(row, {b"f:q": b"x" * size}, at, wal)),
            st.sampled_from(["t", "u"]),
            st.binary(min_size=1, max_size=2),
            st.integers(min_value=1, max_value=5),
            st.booleans(),
            st.integers(min_value=0, max_value=900),
        ),
        max_size=40,
    ),
    limit=st.integers(min_value=100, max_value=3_000),
)
def test_memory_is_bounded_and_every_row_keeps_its_order(puts, limit):
    chunks: list[Chunk] = []
    buffer = WriteBuffer(limit, chunks.append, max_rows=7)
    last: dict[tuple[str, bytes, int], bytes] = {}
    for table, one in puts:
        size = ROW_COST_BYTES + CELL_COST_BYTES + len(one.row) + 3 + len(one.columns[b"f:q"])
        last[table, one.row, one.timestamp_ms] = one.columns[b"f:q"]
        buffer.put(table, Put(one.row, dict(one.columns), one.timestamp_ms, one.wal))
        assert buffer.waiting_bytes <= max(limit, size)
    buffer.flush()
    assert buffer.waiting_bytes == 0
    applied: dict[tuple[str, bytes, int], bytes] = {}
    for chunk in chunks:
        assert len(chunk.mutations) <= 7
        for mutation in chunk.mutations:
            assert isinstance(mutation, Put)
            assert (mutation.timestamp_ms, mutation.wal) == (chunk.timestamp_ms, chunk.wal)
            applied[chunk.table, mutation.row, mutation.timestamp_ms] = mutation.columns[b"f:q"]
    assert applied == last
