"""Folded operations give the result of the original ones, in any order and after a replay."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Durability, FamilySpec, MappingError, Mutation, Put, Scan, TableSpec
from sinks.folding.fold import Fold
from sinks.folding.sizes import CELL_COST_BYTES
from sinks.memory import MemoryStore

TABLE = "t"
BATCH_MS = 1_000

rows = st.sampled_from([b"r1", b"r2"])
families = st.sampled_from([b"a", b"b"])
qualifiers = st.sampled_from([b"", b"x", b"y"])
puts = st.builds(
    lambda row, columns, durability: Put(row, {f + b":" + q: v for (f, q), v in columns.items()}, BATCH_MS, durability),
    rows,
    st.dictionaries(st.tuples(families, qualifiers), st.binary(max_size=2), min_size=1, max_size=3),
    st.sampled_from(Durability),
)
deletes = st.one_of(
    st.builds(Delete, rows, st.just(BATCH_MS), durability=st.sampled_from(Durability)),
    st.builds(Delete, rows, st.just(BATCH_MS), families, durability=st.sampled_from(Durability)),
    st.builds(Delete, rows, st.just(BATCH_MS), families, qualifiers, durability=st.sampled_from(Durability)),
)
operations = st.lists(st.one_of(puts, deletes), max_size=12)
times = st.integers(min_value=1, max_value=4)


def store(initial: list[Mutation]) -> MemoryStore:
    made = MemoryStore()
    made.open()
    made.ensure_table(TableSpec(TABLE, (FamilySpec(b"a", versions=3), FamilySpec(b"b"))))
    made.apply(TABLE, initial)
    return made


def copy(mutation: Mutation, timestamp_ms: int) -> Mutation:
    if isinstance(mutation, Put):
        return replace(mutation, columns=dict(mutation.columns), timestamp_ms=timestamp_ms)
    return replace(mutation, timestamp_ms=timestamp_ms)


def folded(mutations: list[Mutation]) -> list[Mutation]:
    fold = Fold()
    for mutation in mutations:
        fold.add(TABLE, copy(mutation, mutation.timestamp_ms))
    return [one for _, one in fold.deletes()] + [one for _, one in fold.puts()]


def seen(in_store: MemoryStore) -> list[tuple[bytes, bytes, bytes, bytes]]:
    return [
        (row.key, cell.family, cell.qualifier, cell.value) for row in in_store.scan(TABLE, Scan()) for cell in row.cells
    ]


@pytest.fixture(scope="module")
def before() -> list[Mutation]:
    """Rows of an earlier batch; batches are at least 2 ms apart."""
    return [Put(row, {b"a:x": b"old", b"a:": b"old", b"b:y": b"old"}, BATCH_MS - 2) for row in (b"r1", b"r2")]


@given(operations=operations, turn=st.randoms(use_true_random=False))
def test_fold_gives_the_result_of_the_operations(before, operations, turn):
    one_by_one = store(before)
    for index, mutation in enumerate(operations):
        one_by_one.apply(TABLE, [copy(mutation, BATCH_MS + index)])
    result = folded(operations)
    applied = store(before)
    applied.apply(TABLE, result)
    assert seen(applied) == seen(one_by_one)

    applied.apply(TABLE, result)
    assert seen(applied) == seen(one_by_one), "a replay changed something"

    shuffled = store(before)
    order = list(result)
    turn.shuffle(order)
    for mutation in order:
        shuffled.apply(TABLE, [mutation])
    assert seen(shuffled) == seen(one_by_one), "the order of sending mattered"


@given(operations=operations)
def test_fold_of_each_row_gives_the_result_of_one_fold(before, operations):
    together = store(before)
    together.apply(TABLE, folded(operations))
    apart = store(before)
    for row in (b"r2", b"r1"):
        apart.apply(TABLE, folded([mutation for mutation in operations if mutation.row == row]))
    assert seen(apart) == seen(together)


@given(operations=st.lists(st.tuples(st.one_of(puts, deletes), times), max_size=10))
def test_fold_with_event_times_orders_by_time_then_arrival(operations):
    timed = [copy(mutation, at * 10) for mutation, at in operations]
    reference = store([])
    for index, mutation in enumerate(timed):
        reference.apply(TABLE, [copy(mutation, mutation.timestamp_ms * 100 + index)])
    applied = store([])
    result = folded(timed)
    applied.apply(TABLE, result)
    applied.apply(TABLE, result)
    assert seen(applied) == seen(reference)


@given(operations=operations)
def test_fold_gives_one_put_for_each_row_timestamp_and_durability(operations):
    result = [one for one in folded(operations) if isinstance(one, Put)]
    keys = [(one.row, one.timestamp_ms, one.durability) for one in result]
    assert len(set(keys)) == len(keys)
    cells = [(one.row, column) for one in result for column in one.columns]
    assert len(set(cells)) == len(cells)


@given(
    before=st.dictionaries(st.tuples(rows, families, qualifiers, times), st.just(b"old"), max_size=8),
    operations=st.lists(
        st.one_of(
            st.tuples(rows, families, qualifiers, times, st.binary(max_size=2)),
            st.tuples(rows, families, qualifiers, times, st.none()),
        ),
        max_size=12,
    ),
    turn=st.randoms(use_true_random=False),
)
def test_exact_delete_hides_its_version_unless_a_later_put_replaces_it(before, operations, turn):
    def cells(of_store: MemoryStore) -> dict[tuple[bytes, bytes, bytes, int], bytes]:
        return {
            (row.key, cell.family, cell.qualifier, cell.timestamp_ms): cell.value
            for row in of_store.scan(TABLE, Scan(versions=9))
            for cell in row.cells
        }

    def mutation(row: bytes, family: bytes, qualifier: bytes, at: int, value: bytes | None) -> Mutation:
        if value is None:
            return Delete(row, at, family, qualifier, exact=True)
        return Put(row, {family + b":" + qualifier: value}, at)

    expected = dict(before)
    for *version, value in operations:
        if value is None:
            expected.pop(tuple(version), None)
        else:
            expected[tuple(version)] = value
    result = folded([mutation(*operation) for operation in operations])
    turn.shuffle(result)
    applied = MemoryStore()
    applied.open()
    applied.ensure_table(TableSpec(TABLE, (FamilySpec(b"a", versions=9), FamilySpec(b"b", versions=9))))
    applied.apply(TABLE, [mutation(*version, value) for version, value in before.items()])
    for _ in range(2):
        applied.apply(TABLE, result)
        assert cells(applied) == expected


def test_exact_delete_keeps_its_time_beside_other_deletes():
    first = Put(b"r", {b"a:x": b"1", b"a:y": b"1"}, 5)
    exact = Delete(b"r", 5, b"a", b"x", exact=True)
    assert folded([first, exact]) == [exact, Put(b"r", {b"a:y": b"1"}, 5)]
    assert folded([first, exact, Delete(b"r", 5)]) == [Delete(b"r", 4), exact]
    assert folded([Delete(b"r", 0, b"a", b"x", exact=True)]) == [Delete(b"r", 0, b"a", b"x", exact=True)]


def test_delete_is_one_millisecond_earlier():
    result = folded([Put(b"r", {b"a:x": b"1"}, 5), Delete(b"r", 5), Put(b"r", {b"a:y": b"2"}, 5)])
    assert result == [Delete(b"r", 4), Put(b"r", {b"a:y": b"2"}, 5)]


def test_row_delete_replaces_family_and_column_deletes():
    result = folded([Delete(b"r", 5, b"a"), Delete(b"r", 5, b"a", b"x"), Delete(b"r", 5, durability=Durability.SKIP)])
    assert result == [Delete(b"r", 4)]


def test_row_has_the_strongest_durability_of_its_operations():
    words = [Durability.ASYNC, Durability.FSYNC, Durability.SKIP]
    (put,) = folded([Put(b"r", {b"a:x": b"1"}, 5, word) for word in words])
    assert put.durability is Durability.FSYNC
    (delete,) = folded([Put(b"r", {b"a:x": b"1"}, 5, Durability.SKIP), Delete(b"r", 5, durability=Durability.ASYNC)])
    assert delete.durability is Durability.ASYNC


def test_delete_at_time_zero_is_refused():
    with pytest.raises(MappingError) as caught:
        folded([Delete(b"r", 0)])
    assert caught.value.code == "delete_at_zero"


@pytest.mark.parametrize(
    ("second", "joined"),
    [
        (Put(b"r", {b"a:x": b"2"}, 5), 0),
        (Put(b"r", {b"a:y": b"2"}, 5), 1),
        (Put(b"r", {b"a:x": b"2", b"a:y": b"2"}, 5), 1),
        (Put(b"r", {b"a:y": b"2"}, 6), 1),
        (Put(b"s", {b"a:y": b"2"}, 5), 0),
    ],
)
def test_puts_that_leave_columns_of_several_events_are_told(second: Put, joined: int):
    fold = Fold()
    fold.add(TABLE, Put(b"r", {b"a:x": b"1"}, 5))
    fold.add(TABLE, second)
    assert (fold.take_joined(), fold.take_joined()) == (joined, 0)


def test_put_after_a_delete_of_its_row_is_that_of_one_event():
    fold = Fold()
    fold.add(TABLE, Put(b"r", {b"a:x": b"1"}, 5))
    fold.add(TABLE, Delete(b"r", 5))
    fold.add(TABLE, Put(b"r", {b"a:y": b"2"}, 5))
    assert fold.take_joined() == 0


def test_clear_discards_all_operations():
    fold = Fold()
    fold.add(TABLE, Put(b"r", {b"a:x": b"1"}, 5))
    fold.clear()
    assert [*fold.deletes(), *fold.puts()] == []


@given(
    st.lists(
        st.dictionaries(st.sampled_from([b"a:x", b"a:y", b"b:z"]), st.binary(max_size=60), min_size=1), min_size=2
    ),
    st.integers(1, 200),
)
def test_puts_of_several_events_have_a_bounded_size(written, limit):
    fold = Fold(limit)
    columns: dict[bytes, bytes] = {}
    for each in written:
        columns.update(each)
        fold.add(TABLE, Put(b"r", dict(each), BATCH_MS))
    parts = [put.columns for _, put in fold.puts()]
    assert {name: value for part in parts for name, value in part.items()} == columns
    assert sum(map(len, parts)) == len(columns)
    for part in parts:
        size = sum(CELL_COST_BYTES + len(name) + len(value) for name, value in part.items())
        assert size <= limit or len(part) == 1


def test_put_of_one_event_is_not_divided():
    fold = Fold(1)
    put = Put(b"r", {b"a:x": b"1", b"a:y": b"2"}, BATCH_MS)
    fold.add(TABLE, put)
    assert list(fold.puts()) == [(TABLE, put)]


def test_cells_of_a_row_with_several_times_to_live_are_puts_of_their_own():
    first = Put(b"r", {b"a:x": b"1", b"a:y": b"1", b"b:": b"1"}, BATCH_MS, ttl_ms=50)
    second = Put(b"r", {b"a:x": b"2", b"b:x": b"2"}, BATCH_MS, ttl_ms=70)
    third = Put(b"r", {b"a:y": b"3"}, BATCH_MS)
    assert folded([first, second, third]) == [
        Put(b"r", {b"a:x": b"2", b"b:x": b"2"}, BATCH_MS, ttl_ms=70),
        Put(b"r", {b"a:y": b"3"}, BATCH_MS),
        Put(b"r", {b"b:": b"1"}, BATCH_MS, ttl_ms=50),
    ]
    assert folded([first]) == [first]
    assert folded([third, first]) == [first]


def test_deletes_hide_cells_whatever_their_time_to_live_and_leave_later_ones_theirs():
    first = Put(b"r", {b"a:x": b"1", b"a:y": b"1"}, BATCH_MS, ttl_ms=50)
    delete = Delete(b"r", BATCH_MS, b"a", b"x")
    again = Put(b"r", {b"a:x": b"2"}, BATCH_MS)
    assert folded([first, delete, again]) == [
        Delete(b"r", BATCH_MS - 1, b"a", b"x"),
        Put(b"r", {b"a:y": b"1"}, BATCH_MS, ttl_ms=50),
        Put(b"r", {b"a:x": b"2"}, BATCH_MS),
    ]


def test_a_put_of_another_time_has_its_own_time_to_live():
    puts = [Put(b"r", {b"a:x": b"1"}, at, ttl_ms=ttl_ms) for at, ttl_ms in ((3, 50), (4, None), (5, 70))]
    assert folded(puts) == puts
