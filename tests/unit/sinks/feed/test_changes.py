"""Changes as stored in feed rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Cell, Delete, IntegrityError, Mutation, Put
from sinks.feed.changes import Change, ChangedColumn, ColumnChange, Op, encoded_change, op_of
from sinks.feed.keys import FeedKey, FeedSequence
from sinks.updates.keys import UpdateKey, update_id_of

KEY = FeedKey(1, FeedSequence(1_000, 2, b"row"))
TIMES = st.integers(0, 2**62)
FAMILIES = st.sampled_from([b"f", b"g", b"\xff\x00"])
VALUES = st.binary() | st.sampled_from([b"", b"text", "größe".encode()])
PUTS = st.builds(
    Put,
    st.just(b"row"),
    st.dictionaries(st.tuples(FAMILIES, VALUES).map(b":".join), VALUES, min_size=1, max_size=4),
    TIMES,
)
DELETES = (
    st.builds(Delete, st.just(b"row"), TIMES)
    | st.builds(Delete, st.just(b"row"), TIMES, FAMILIES)
    | st.builds(Delete, st.just(b"row"), TIMES, FAMILIES, VALUES, exact=st.booleans())
)
MUTATIONS = st.tuples(st.lists(DELETES, max_size=3), st.lists(PUTS, max_size=3, unique_by=lambda put: put.timestamp_ms))
CELLS = st.builds(Cell, FAMILIES, VALUES, TIMES, VALUES)
BEFORE = st.none() | st.lists(CELLS, max_size=3).map(tuple)


def test_the_json_is_documented() -> None:
    mutations: list[Mutation] = [
        Delete(b"row", 999),
        Delete(b"row", 999, b"f"),
        Delete(b"row", 999, b"f", b"q"),
        Delete(b"row", 999, b"f", b"q", exact=True),
        Put(b"row", {b"f:q": b"v", b"f:\xff": b"\xfe"}, 1_000),
    ]

    assert encoded_change(Op.UPDATE_ROW, mutations, [Cell(b"f", b"q", 5, b"old")]) == (
        b'{"v":1,"op":"UPDATE_ROW",'
        b'"deletes":[["DELETE_ROW",999],["DELETE_FAMILY",999,"f"],["DELETE_ALL_VERSIONS",999,"f","q"],'
        b'["DELETE_ONE_VERSION",999,"f","q"]],'
        b'"puts":[[1000,"f:q","v",{"b64":"Zjr/"},{"b64":"/g=="}]],'
        b'"before":[["f:q",5,"old"]]}'
    )


def test_what_is_empty_is_left_out() -> None:
    assert encoded_change(Op.PUT, [Put(b"row", {b"f:q": b""}, 1)]) == b'{"v":1,"op":"PUT","puts":[[1,"f:q",""]]}'
    assert encoded_change(Op.PUT_ROW, [Put(b"row", {b"f:q": b""}, 1)], []).endswith(b'"before":[]}')


@given(MUTATIONS, st.sampled_from(sorted(set(Op) - {Op.UPDATE})), BEFORE)
def test_a_change_has_the_mutations_that_it_was_made_of(
    mutations: tuple[list[Delete], list[Put]], op: Op, before: tuple[Cell, ...] | None
) -> None:
    deletes, puts = mutations
    change = Change.decoded(KEY, encoded_change(op, [*deletes, *puts], before))

    assert change.mutations() == [*deletes, *puts]
    assert (change.row, change.op, change.before, change.time_ms, change.rank) == (b"row", op, before, 1_000, 2)


def test_columns_say_what_is_done() -> None:
    change = Change.decoded(
        KEY, encoded_change(Op.PUT, [Delete(b"row", 999, b"f"), Put(b"row", {b"f:a:b": b"v"}, 1_000)])
    )

    assert change.columns == (
        ChangedColumn(b"f", None, ColumnChange.DELETE_FAMILY, None, 999),
        ChangedColumn(b"f", b"a:b", ColumnChange.PUT, b"v", 1_000),
    )


def test_a_change_of_deferred_updates_applies_to_its_update_row() -> None:
    change = Change.decoded(KEY, encoded_change(Op.UPDATE, [Put(b"any", {b"f:n": b"1"}, 1_000)]))

    assert change.mutations() == [Put(UpdateKey(b"row", update_id_of(1_000, 2)).encoded(), {b"f:n": b"1"}, 1_000)]


@pytest.mark.parametrize(
    ("mutations", "unread", "absent", "present"),
    [
        ([Put(b"r", {b"f:q": b"v"}, 2)], Op.PUT, Op.PUT_ROW, Op.UPDATE_ROW),
        ([Delete(b"r", 1), Put(b"r", {b"f:q": b"v"}, 2)], Op.PUT, Op.PUT_ROW, Op.UPDATE_ROW),
        ([Delete(b"r", 1)], Op.DELETE, Op.DELETE_ROW, Op.DELETE_ROW),
        ([Delete(b"r", 1, b"f")], Op.DELETE, Op.UPDATE_ROW, Op.UPDATE_ROW),
    ],
)
def test_the_operation_depends_on_the_row_before(
    mutations: list[Mutation], unread: Op, absent: Op, present: Op
) -> None:
    assert op_of(mutations, None) is unread
    assert op_of(mutations, ()) is absent
    assert op_of(mutations, (Cell(b"f", b"q", 1, b"old"),)) is present


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"{}",
        b'{"v":1}',
        b'{"v":2,"op":"PUT"}',
        b'{"v":1,"op":"MERGE"}',
        b'{"v":1,"op":"PUT","puts":[[1,"no colon","v"]]}',
        b'{"v":1,"op":"PUT","puts":[[1,"f:q"]]}',
        b'{"v":1,"op":"PUT","puts":[[1,"f:q",5]]}',
        b'{"v":1,"op":"PUT","puts":[["1","f:q","v"]]}',
        b'{"v":1,"op":"PUT","puts":3}',
        b'{"v":1,"op":"PUT","puts":[[]]}',
        b'{"v":1,"op":"DELETE","deletes":[["DELETE",1]]}',
        b'{"v":1,"op":"DELETE","deletes":[["DELETE_FAMILY",1]]}',
        b'{"v":1,"op":"PUT","before":[["f:q",5]]}',
    ],
)
def test_other_values_are_refused(value: bytes) -> None:
    with pytest.raises(IntegrityError, match=f"shard 1 with sequence {KEY.sequence.to_text()} cannot be read"):
        Change.decoded(KEY, value)
