"""Mutations as calls: order, times and WAL flags are kept, sizes are bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Mutation, Put, WriteRejectedError
from sinks.hbase.encoding import calls, check, size_of, too_large

FAMILIES = (b"f", b"g")
BIG = 1 << 30
COLUMNS = st.tuples(st.sampled_from([b"f", b"g"]), st.binary(max_size=3)).map(b":".join)
MUTATIONS = st.one_of(
    st.builds(
        Put,
        st.binary(min_size=1, max_size=3),
        st.dictionaries(COLUMNS, st.binary(max_size=40), min_size=1, max_size=3),
        st.integers(0, 2),
        st.booleans(),
    ),
    st.builds(Delete, st.binary(min_size=1, max_size=3), st.integers(0, 2), wal=st.booleans()),
    st.builds(Delete, st.binary(min_size=1, max_size=3), st.integers(0, 2), st.sampled_from([b"f", b"g"])),
)


def told(mutation: Mutation) -> list[tuple[object, ...]]:
    if isinstance(mutation, Put):
        return [(False, column, value, mutation.wal) for column, value in mutation.columns.items()]
    return [
        (True, family, b"", mutation.wal) for family in (FAMILIES if mutation.family is None else [mutation.family])
    ]


@given(st.lists(MUTATIONS, max_size=12), st.sampled_from([1, 100, 200, BIG]))
def test_nothing_is_lost_moved_or_changed(mutations: list[Mutation], max_bytes: int) -> None:
    made = list(calls(mutations, FAMILIES, max_bytes))
    assert [index for call in made for index in call.indexes] == list(range(len(mutations)))
    for call in made:
        within = mutations[call.indexes.start : call.indexes.stop]
        assert [row.row for row in call.rows] == [mutation.row for mutation in within]
        assert {mutation.timestamp_ms for mutation in within} == {call.timestamp_ms}
        assert len({(type(mutation), mutation.wal) for mutation in within}) == 1
        assert [
            [(cell.isDelete, cell.column, cell.value, cell.writeToWAL) for cell in row.mutations] for row in call.rows
        ] == [told(mutation) for mutation in within]
        assert len(within) == 1 or sum(size_of(mutation) for mutation in within) <= max_bytes


def test_what_is_alike_goes_in_one_call() -> None:
    puts = [Put(b"%d" % number, {b"f:q": b"v"}, 7) for number in range(1000)]
    assert [len(call.rows) for call in calls(puts, (), BIG)] == [1000]


def test_deletes_name_family_or_column() -> None:
    (call,) = calls(
        [Delete(b"a", 1), Delete(b"b", 1, b"f"), Delete(b"c", 1, b"f", b""), Delete(b"d", 1, b"f", b"x:y")],
        FAMILIES,
        BIG,
    )
    assert [[cell.column for cell in row.mutations] for row in call.rows] == [[b"f", b"g"], [b"f"], [b"f:"], [b"f:x:y"]]


@pytest.mark.parametrize(
    "mutation",
    [
        Put(b"", {b"f:q": b""}, 1),
        Put(b"k" * 32_768, {b"f:q": b""}, 1),
        Put(b"r", {b"f:q": b""}, -1),
        Put(b"r", {b"f:q": b""}, 2**63 - 1),
        Put(b"r", {}, 1),
        Put(b"r", {b"fq": b""}, 1),
        Put(b"r", {b":q": b""}, 1),
        Delete(b"r", 1, b""),
        Delete(b"r", 1, b"f:"),
        Delete(b"", 1),
    ],
)
def test_check_names_what_the_server_would_refuse(mutation: Mutation) -> None:
    good = Put(b"k" * 32_767, {b"f:": b""}, 0)
    with pytest.raises(WriteRejectedError) as caught:
        check([good, mutation, good])
    assert caught.value.indexes == [1]


def test_rows_larger_than_a_frame_are_named() -> None:
    mutations = [Put(b"a", {b"f:q": b"x" * 100}, 1), Put(b"b", {b"f:q": b"x"}, 1)]
    check(mutations)
    with pytest.raises(WriteRejectedError) as caught:
        check(mutations, 100)
    assert caught.value.indexes == [0]


def test_too_large_counts_row_column_and_value() -> None:
    limit = 10 * 1024 * 1024
    fits = Put(b"r", {b"f:q": b"x" * (limit - 24)}, 1)
    assert too_large([fits, Put(b"r", {b"f:q": b"x" * (limit - 23)}, 1), Delete(b"r", 1)]) == [1]
