"""Deferred updates: one update row for each row key and split, the same in every attempt."""

from collections.abc import Sequence

import pytest

from ingest.api import (
    Capabilities,
    Delete,
    FamilySpec,
    LifecycleError,
    MappingError,
    Mutation,
    Put,
    TableSpec,
    UpdatesChangedError,
    WriteCounts,
    WriteRejectedError,
)
from ingest.testing.tables import scanned
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.keys import MAX_UPDATED_ROW_BYTES, UpdateKey, update_id_of
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from sinks.writing.messages import Prepared, RejectedRows, StoreResult
from sinks.writing.sending import DirectSender
from sinks.writing.store_sink import StoreSink
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_700_000_000_000
SUMS = '{"processor": "sum"}'


class Refusing(MemoryStore):
    """Refuses update rows of some row keys, and remembers what was applied."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[UpdateKey] = set()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        wrong = [
            index
            for index, one in enumerate(mutations)
            if isinstance(one, Put) and UpdateKey.decoded(one.row) in self.refused
        ]
        if wrong:
            raise WriteRejectedError("too large", indexes=wrong)
        super().apply(table, mutations)


@pytest.fixture
def store() -> Refusing:
    made = Refusing()
    made.open()
    ensure_declared(made, TableSpec("t", (FamilySpec(b"c"),), updates=SUMS))
    return made


def sink_of_updates(store: MemoryStore) -> StoreSink:
    return sink_of(
        [DirectSender(store)],
        "counts",
        capabilities=Capabilities(written_by_driver=False, creates_families=True, creates_tables=True),
        buffer_bytes=1 << 20,
        deletes=False,
        updates={"t": Merging(Sum(Sum.settings_class()()))},
    )


def hit(row: bytes, value: bytes = b"1", column: bytes = b"c:hits") -> Put:
    return Put(row, {column: value}, BATCH_MS)


def write(sink: StoreSink, splits: dict[int, list[Put]], prepared: Prepared | None = None) -> list[str]:
    """Run a flush cycle; returns the codes of the puts that failed."""
    return run(sink, splits, prepared)[0]


def run(
    sink: StoreSink, splits: dict[int, list[Put]], prepared: Prepared | None = None
) -> tuple[list[str], RejectedRows]:
    """The same, and the rows that the store refused."""
    declared = {"t": RowFormat(updates=SUMS)}
    sink.begin(spec_of(BATCH_MS), (prepared or Prepared(declared=declared)).packed(), WriteCounts())
    failed = []
    for rank, puts in splits.items():
        sink.split_start(rank)
        for put in puts:
            try:
                sink.add("t", put)
            except MappingError as error:
                failed.append(error.code)
        sink.split_end()
    return failed, StoreResult.unpacked(sink.flush().payload).refused


def stored(store: MemoryStore) -> dict[tuple[bytes, int], dict[bytes, bytes]]:
    """(logical row key, rank of the split) -> column -> update."""
    found = {}
    for row in scanned(store, "t"):
        key = UpdateKey.decoded(row.key)
        assert not key.is_merged
        assert {cell.timestamp_ms for cell in row.cells} == {BATCH_MS}
        found[key.row, key.start - update_id_of(BATCH_MS, 0)] = {
            b"c:" + cell.qualifier: cell.value for cell in row.cells
        }
    return found


def test_the_updates_of_a_row_in_a_split_become_one_update_row(store: Refusing) -> None:
    write(sink_of_updates(store), {3: [hit(b"a"), hit(b"b"), hit(b"a", b"2.5"), hit(b"a", b"4", b"c:bytes")]})
    assert stored(store) == {(b"a", 3): {b"c:hits": b"3.5", b"c:bytes": b"4"}, (b"b", 3): {b"c:hits": b"1"}}


def test_each_split_has_an_update_row_of_its_own(store: Refusing) -> None:
    write(sink_of_updates(store), {0: [hit(b"a")], 7: [hit(b"a"), hit(b"a")]})
    assert stored(store) == {(b"a", 0): {b"c:hits": b"1"}, (b"a", 7): {b"c:hits": b"2"}}


def test_a_second_attempt_writes_the_same_rows(store: Refusing) -> None:
    splits = {0: [hit(b"a"), hit(b"b")], 1: [hit(b"a", b"5")]}
    write(sink_of_updates(store), splits)
    first = stored(store)
    # the splits are divided among other tasks
    for rank, puts in splits.items():
        write(sink_of_updates(store), {rank: puts})
    assert stored(store) == first


def test_an_update_row_is_not_cut_by_bytes(store: Refusing) -> None:
    columns = [b"c:%d" % number for number in range(3_000)]
    write(sink_of_updates(store), {0: [hit(b"a", b"1", column) for column in [*columns, *columns]]})
    assert stored(store) == {(b"a", 0): dict.fromkeys(columns, b"2")}


def test_a_value_that_cannot_be_merged_fails_its_event_and_adds_nothing(store: Refusing) -> None:
    bad = Put(b"a", {b"c:bytes": b"9", b"c:hits": b"many"}, BATCH_MS)
    assert len(write(sink_of_updates(store), {0: [hit(b"a"), bad, hit(b"a")]})) == 1
    assert stored(store) == {(b"a", 0): {b"c:hits": b"2"}}


def test_a_split_in_which_all_values_fail_writes_nothing(store: Refusing) -> None:
    assert write(sink_of_updates(store), {0: [hit(b"a", b"many")], 1: [hit(b"a")]}) == ["not_a_number"]
    assert stored(store) == {(b"a", 1): {b"c:hits": b"1"}}


def test_an_event_with_several_rows_adds_none_of_them_if_one_cannot_be_merged(store: Refusing) -> None:
    sink = sink_of_updates(store)
    sink.begin(spec_of(BATCH_MS), Prepared(declared={"t": RowFormat(updates=SUMS)}).packed(), WriteCounts())
    sink.split_start(0)
    with pytest.raises(MappingError):
        sink.in_order([("t", hit(b"a")), ("t", hit(b"b", b"many"))])


def test_a_row_key_that_is_too_long_fails_its_event(store: Refusing) -> None:
    longest = b"a" * MAX_UPDATED_ROW_BYTES
    assert write(sink_of_updates(store), {0: [hit(longest), hit(longest + b"a"), hit(b"\x00" * 20_000)]}) == [
        "row_key_too_long",
        "row_key_too_long",
    ]
    assert set(stored(store)) == {(longest, 0)}


def test_an_event_cannot_delete_updates(store: Refusing) -> None:
    sink = sink_of_updates(store)
    sink.begin(spec_of(BATCH_MS), Prepared().packed(), WriteCounts())
    with pytest.raises(MappingError, match="cannot delete") as caught:
        sink.add("t", Delete(b"a", BATCH_MS))
    assert caught.value.code == "delete_of_updates"


def test_all_events_of_a_rejected_row_fail_and_no_split_keeps_a_part_of_them(store: Refusing) -> None:
    splits = {0: [hit(b"a"), hit(b"b")], 1: [hit(b"a", b"5")], 2: [hit(b"b")]}
    store.refused = {UpdateKey(b"a", update_id_of(BATCH_MS, 1))}
    sink = sink_of_updates(store)
    failed, refused = run(sink, splits)
    assert (failed, set(refused)) == ([], {("t", b"a")})
    assert (b"a", 0) in stored(store)
    prepared = Prepared(refused=refused, declared={"t": RowFormat(updates=SUMS)})
    failed, refused = run(sink, splits, prepared)
    assert (len(failed), refused) == (2, {})
    assert stored(store) == {(b"b", 0): {b"c:hits": b"1"}, (b"b", 2): {b"c:hits": b"1"}}


def test_updates_without_the_ranks_of_splits_are_not_written(store: Refusing) -> None:
    sink = sink_of_updates(store)
    sink.begin(spec_of(BATCH_MS), Prepared().packed(), WriteCounts())
    sink.add("t", hit(b"a"))
    with pytest.raises(LifecycleError, match="ranks"):
        sink.split_end()


def test_an_abandoned_split_leaves_nothing_to_the_next_flush_cycle(store: Refusing) -> None:
    sink = sink_of_updates(store)
    sink.begin(spec_of(BATCH_MS), Prepared().packed(), WriteCounts())
    sink.split_start(0)
    sink.add("t", hit(b"a"))
    write(sink, {0: [hit(b"b")]})
    assert set(stored(store)) == {(b"b", 0)}


@pytest.mark.parametrize("declared", [{}, {"t": RowFormat(updates='{"processor": "max"}')}], ids=["none", "others"])
def test_a_table_with_other_updates_is_not_written(store: Refusing, declared: dict[str, RowFormat]) -> None:
    with pytest.raises(UpdatesChangedError, match=r"updates \{processor: sum\}"):
        write(sink_of_updates(store), {0: [hit(b"a")]}, Prepared(declared=declared))
    assert stored(store) == {}


def test_the_bucket_of_an_update_row_is_that_of_its_logical_row(store: Refusing) -> None:
    ensure_declared(store, TableSpec("salted", (FamilySpec(b"c"),), buckets=8, updates=SUMS))
    rows = RowFormat.recorded(store, "salted")
    assert rows == RowFormat(8, SUMS)
    assert store.properties("salted") == {UPDATES: SUMS}
    physical_key, key = rows.physical_key(), UpdateKey(b"a", 5, 9).encoded()
    assert physical_key is not None
    assert physical_key(key) == Distribution(8).physical(b"a")[:1] + key
