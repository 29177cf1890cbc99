"""Feeds: one change for each row and split, the same in every attempt, durable before the row."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ingest.api import (
    Capabilities,
    Cell,
    Delete,
    FamilySpec,
    FeedSpec,
    LifecycleError,
    MappingError,
    Mutation,
    Put,
    SinkResult,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    WriteCounts,
    WriteRejectedError,
)
from ingest.api.feeds import FEED, feed_table_spec
from ingest.testing.tables import scanned
from sinks.feed.change_feed import ShardMap
from sinks.feed.changes import Change, Op
from sinks.feed.feed_rows import CHANGE_TOO_LARGE, PLAIN, FeedBatch
from sinks.feed.keys import MAX_FEED_ROW_BYTES, FeedKey
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, RejectedRows, StoreResult
from sinks.writing.row_reader import SeparateReader
from sinks.writing.sending import DirectSender
from sinks.writing.staging import StagingWriter
from sinks.writing.store_sink import StoreSink
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_700_000_000_000
SUMS = '{"processor": "sum"}'
SHARDS = ShardMap((b"", b"m"), (1, 2))
ROWS = {"u": RowFormat(updates=SUMS), "salted": RowFormat(8)}


class Watched(MemoryStore):
    """
    Refuses rows, fails at a call, and records the calls.

    Attributes:
        is_refused: whether a put of a table is refused.
        calls_left: number of writing calls before one fails; None for no end.
        calls: table and row keys of each writing call.
    """

    def __init__(self) -> None:
        super().__init__(clock_ms=lambda: BATCH_MS)
        self.is_refused: Callable[[str, Put], bool] = lambda _table, _put: False
        self.calls_left: int | None = None
        self.calls: list[tuple[str, list[bytes]]] = []

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        if self.calls_left == 0:
            raise StoreUnavailableError("no answer")
        if self.calls_left is not None:
            self.calls_left -= 1
        wrong = [at for at, one in enumerate(mutations) if isinstance(one, Put) and self.is_refused(table, one)]
        if wrong:
            raise WriteRejectedError("too large", indexes=wrong)
        super().apply(table, mutations)
        self.calls.append((table, [one.row for one in mutations]))


@pytest.fixture
def store() -> Watched:
    made = Watched()
    made.open()
    declare(made, "t")
    return made


def declare(store: MemoryStore, name: str, *, buckets: int | None = None, updates: str = "") -> None:
    spec = TableSpec(name, (FamilySpec(b"f"),), buckets=buckets, updates=updates, feed=FeedSpec(3_600_000))
    feed = feed_table_spec(spec)
    assert feed is not None
    ensure_declared(store, spec)
    ensure_declared(store, feed)


class FedSink(StoreSink):
    """
    Keeps what the last flush says.

    Attributes:
        refused: rows that the store refused.
    """

    refused: RejectedRows

    def flush(self) -> SinkResult:
        result = super().flush()
        self.refused = StoreResult.unpacked(result.payload).refused
        return result


def fed(*parts: Any, **options: Any) -> FedSink:
    sink = sink_of(*parts, **options)
    sink.__class__ = FedSink
    return cast("FedSink", sink)


def sink_of_feeds(store: MemoryStore, *, before: bool = False, senders: int = 1) -> FedSink:
    return fed(
        [DirectSender(store) for _ in range(senders)],
        "s",
        capabilities=Capabilities(written_by_driver=False, creates_families=True, creates_tables=True),
        buffer_bytes=1 << 20,
        deletes=True,
        updates={"u": Merging(Sum(Sum.settings_class()()))},
        feeds={name: FeedSpec(3_600_000, before=before) for name in ("t", "salted", "u")},
    )


def prepared(refused: RejectedRows | None = None, time_ms: int = BATCH_MS) -> Prepared:
    return Prepared(
        refused=refused or {},
        declared=ROWS,
        features=messages(FeedBatch(time_ms, SHARDS)),
    )


def messages(batch: FeedBatch) -> dict[str, dict[str, bytes]]:
    """How the feeds of all tables are written."""
    return {name: {FEED: replace(batch, rows=ROWS.get(name, PLAIN)).packed()} for name in ("t", "salted", "u")}


def write(
    sink: FedSink,
    splits: dict[int, list[Mutation]],
    *,
    table: str = "t",
    refused: RejectedRows | None = None,
    time_ms: int = BATCH_MS,
) -> list[str]:
    """Run a flush cycle; returns the codes of the mutations that failed."""
    sink.begin(spec_of(time_ms), prepared(refused, time_ms).packed(), WriteCounts())
    failed = []
    for rank, mutations in splits.items():
        sink.split_start(rank)
        for mutation in mutations:
            try:
                sink.add(table, mutation)
            except MappingError as error:
                failed.append(error.code)
        sink.split_end()
    sink.flush()
    return failed


def put(row: bytes, value: bytes = b"v", column: bytes = b"f:q", time_ms: int = BATCH_MS) -> Put:
    return Put(row, {column: value}, time_ms)


def changes(store: MemoryStore, table: str = "t") -> list[tuple[int, Change]]:
    """The shards and changes of a feed, in its order."""
    found = []
    for row in scanned(store, f"{table}_feed"):
        key = FeedKey.decoded(row.key)
        (cell,) = row.cells
        assert cell.timestamp_ms == key.sequence.time_ms
        found.append((key.shard, Change.decoded(key, cell.value)))
    return found


def replica(store: MemoryStore, table: str = "t", *, buckets: int | None = None) -> MemoryStore:
    """Another store whose table has all changes of the feed."""
    made = MemoryStore()
    made.open()
    made.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    for _, change in changes(store, table):
        mutations = change.mutations()
        made.apply(
            table, mutations if buckets is None else with_physical_keys(mutations, Distribution(buckets).physical)
        )
    return made


def test_the_operations_on_a_row_in_a_split_become_one_change(store: Watched) -> None:
    write(sink_of_feeds(store), {3: [put(b"a", b"1"), put(b"z"), Delete(b"a", BATCH_MS), put(b"a", b"2", b"f:p")]})

    assert [(shard, change.row, change.op, change.time_ms, change.rank) for shard, change in changes(store)] == [
        (1, b"a", Op.PUT, BATCH_MS, 3),
        (2, b"z", Op.PUT, BATCH_MS, 3),
    ]
    assert changes(store)[0][1].mutations() == [
        Delete(b"a", BATCH_MS - 1),
        Put(b"a", {b"f:p": b"2"}, BATCH_MS),
    ]
    assert scanned(replica(store), "t") == scanned(store, "t")


def test_each_split_has_a_change_of_its_own(store: Watched) -> None:
    write(sink_of_feeds(store), {0: [put(b"a", b"1")], 7: [put(b"a", b"2", b"f:p")]})

    assert [(change.rank, change.row) for _, change in changes(store)] == [(0, b"a"), (7, b"a")]
    assert scanned(replica(store), "t") == scanned(store, "t")


def test_a_second_attempt_writes_the_same_feed(store: Watched) -> None:
    splits: dict[int, list[Mutation]] = {0: [put(b"a"), put(b"b")], 1: [put(b"a", b"5")]}
    write(sink_of_feeds(store), splits)
    first = changes(store)
    for rank, mutations in reversed(splits.items()):  # the splits are divided among other tasks
        write(sink_of_feeds(store), {rank: mutations})

    assert changes(store) == first


def test_feed_rows_are_durable_before_their_rows(store: Watched) -> None:
    write(sink_of_feeds(store), {0: [put(b"a"), put(b"b")], 1: [put(b"b")], 2: [put(b"c")]})

    seen: set[bytes] = set()
    for table, rows in store.calls:
        if table == "t_feed":
            seen |= {FeedKey.decoded(row).sequence.row for row in rows}
        else:
            assert seen >= set(rows)
    assert seen == {b"a", b"b", b"c"}


@pytest.mark.parametrize("calls", range(5))
def test_a_crash_at_any_call_leaves_no_row_without_its_change(store: Watched, calls: int) -> None:
    splits: dict[int, list[Mutation]] = {0: [put(b"a"), put(b"b")], 1: [put(b"b", b"w")], 2: [Delete(b"a", BATCH_MS)]}
    store.calls_left = calls
    with pytest.raises(StoreUnavailableError):
        write(sink_of_feeds(store), splits)
    store.open()
    assert {row.key for row in scanned(store, "t")} <= {change.row for _, change in changes(store)}

    store.calls_left = None
    write(sink_of_feeds(store), splits)
    assert len(changes(store)) == 4
    assert scanned(replica(store), "t") == scanned(store, "t")


def test_a_salted_table_has_shards_of_physical_keys_and_changes_of_logical_ones(store: Watched) -> None:
    declare(store, "salted", buckets=8)
    sink = sink_of_feeds(store)
    rows = [b"row%d" % number for number in range(20)]
    batch = FeedBatch(BATCH_MS, ShardMap((b"", b"\x04"), (1, 2)))
    salted = replace(prepared(), features=messages(batch))
    sink.begin(spec_of(BATCH_MS), salted.packed(), WriteCounts())
    sink.split_start(0)
    for row in rows:
        sink.add("salted", put(row))
    sink.split_end()
    sink.flush()

    assert {change.row: shard for shard, change in changes(store, "salted")} == {
        row: 1 if Distribution(8).physical(row)[0] < 4 else 2 for row in rows
    }
    assert scanned(replica(store, "salted", buckets=8), "salted") == scanned(store, "salted")


def test_the_changes_of_deferred_updates_are_their_update_rows(store: Watched) -> None:
    declare(store, "u", updates=SUMS)
    write(sink_of_feeds(store), {2: [put(b"a", b"1"), put(b"a", b"2")], 4: [put(b"a", b"5")]}, table="u")

    assert [(change.op, change.row, change.mutations()) for _, change in changes(store, "u")] == [
        (Op.UPDATE, b"a", [Put(UpdateKey(b"a", update_id_of(BATCH_MS, 2)).encoded(), {b"f:q": b"3"}, BATCH_MS)]),
        (Op.UPDATE, b"a", [Put(UpdateKey(b"a", update_id_of(BATCH_MS, 4)).encoded(), {b"f:q": b"5"}, BATCH_MS)]),
    ]
    assert scanned(replica(store, "u"), "u") == scanned(store, "u")


def test_a_rejected_row_withdraws_its_change_alone(store: Watched) -> None:
    sink = sink_of_feeds(store)
    store.is_refused = lambda table, one: table == "t" and one.columns.get(b"f:q") == b"bad"
    splits: dict[int, list[Mutation]] = {0: [put(b"a"), put(b"b")], 1: [put(b"a", b"bad"), put(b"c")]}
    assert write(sink, splits) == []
    (refused,) = sink.refused
    assert (refused[0], FeedKey.decoded(refused[1]).sequence) == ("t_feed", (BATCH_MS, 1, b"a"))

    assert write(sink, splits, refused=sink.refused) == ["write_rejected"]
    assert not sink.refused
    assert [(change.rank, change.row) for _, change in changes(store)] == [(0, b"a"), (0, b"b"), (1, b"c")]
    assert scanned(replica(store), "t") == scanned(store, "t")


def test_a_refused_feed_row_keeps_its_row_away(store: Watched) -> None:
    sink = sink_of_feeds(store)
    store.is_refused = lambda table, one: table == "t_feed" and one.row.endswith(b"a")
    splits: dict[int, list[Mutation]] = {0: [put(b"a"), put(b"b")]}
    write(sink, splits)
    assert [row.key for row in scanned(store, "t")] == [b"b"]

    assert write(sink, splits, refused=sink.refused) == ["write_rejected"]
    assert scanned(replica(store), "t") == scanned(store, "t")


def test_a_rejected_update_row_withdraws_the_changes_of_all_splits(store: Watched) -> None:
    declare(store, "u", updates=SUMS)
    sink = sink_of_feeds(store)
    bad = UpdateKey(b"a", update_id_of(BATCH_MS, 1)).encoded()
    store.is_refused = lambda table, one: table == "u" and one.row == bad
    splits: dict[int, list[Mutation]] = {0: [put(b"a", b"1"), put(b"b", b"1")], 1: [put(b"a", b"2")]}
    write(sink, splits, table="u")
    assert sink.refused.keys() == {("u", b"a")}

    assert len(write(sink, splits, table="u", refused=sink.refused)) == 2
    assert [change.row for _, change in changes(store, "u")] == [b"b"]
    assert scanned(replica(store, "u"), "u") == scanned(store, "u")


def test_update_rows_are_withdrawn_before_the_changes_that_describe_them(store: Watched) -> None:
    """Also if nothing else is written: a crash in between leaves no update row without its change."""
    declare(store, "u", updates=SUMS)
    sink = sink_of_feeds(store, senders=2)
    rows = [b"%d" % number for number in range(8)]
    splits: dict[int, list[Mutation]] = {0: [put(row, b"1") for row in rows]}
    write(sink, splits, table="u")
    store.calls.clear()
    write(sink, splits, table="u", refused={("u", row): ("write_rejected", "no") for row in rows})
    assert [table for table, _ in store.calls] == ["u", "u", "u_feed", "u_feed"]
    assert (scanned(store, "u"), scanned(store, "u_feed")) == ([], [])


def test_an_event_that_is_too_large_for_a_change_fails(store: Watched) -> None:
    large, escaped = put(b"a", b"x" * (9 << 20)), put(b"b", b"\x01" * (2 << 20))

    assert write(sink_of_feeds(store), {0: [large, escaped, put(b"c")]}) == [CHANGE_TOO_LARGE, CHANGE_TOO_LARGE]
    assert [change.row for _, change in changes(store)] == [b"c"]


def test_events_that_are_too_large_together_fail_in_the_next_attempt(store: Watched) -> None:
    sink = sink_of_feeds(store)
    splits: dict[int, list[Mutation]] = {
        0: [put(b"a", b"x" * (5 << 20)), put(b"a", b"x" * (5 << 20), b"f:p"), put(b"b")]
    }
    assert write(sink, splits) == []
    assert [row.key for row in scanned(store, "t")] == [b"b"]

    assert write(sink, splits, refused=sink.refused) == [CHANGE_TOO_LARGE] * 2
    assert [change.row for _, change in changes(store)] == [b"b"]


def test_an_event_whose_cells_have_a_time_to_live_fails(store: Watched) -> None:
    limited = Put(b"a", {b"f:q": b"v"}, BATCH_MS, ttl_ms=5)

    assert write(sink_of_feeds(store), {0: [limited, put(b"c")]}) == ["ttl_refused"]
    assert [change.row for _, change in changes(store)] == [b"c"]


def test_a_row_key_that_is_too_long_for_a_change_fails_its_event(store: Watched) -> None:
    longest = b"r" * MAX_FEED_ROW_BYTES

    assert write(sink_of_feeds(store), {0: [put(longest + b"r"), put(longest)]}) == ["row_key_too_long"]
    assert [change.row for _, change in changes(store)] == [longest]


def test_an_event_with_several_rows_changes_none_of_them_if_one_is_refused(store: Watched) -> None:
    sink = sink_of_feeds(store)
    sink.begin(spec_of(BATCH_MS), prepared().packed(), WriteCounts())
    sink.split_start(0)
    with pytest.raises(MappingError):
        sink.in_order([("t", put(b"a")), ("t", put(b"r" * (MAX_FEED_ROW_BYTES + 1)))])


def test_a_feed_without_the_ranks_of_splits_is_not_written(store: Watched) -> None:
    sink = sink_of_feeds(store)
    sink.begin(spec_of(BATCH_MS), prepared().packed(), WriteCounts())
    sink.add("t", put(b"a"))
    with pytest.raises(LifecycleError, match="ranks"):
        sink.split_end()


def test_changes_have_the_row_before(store: Watched) -> None:
    sink = sink_of_feeds(store, before=True)
    write(sink, {0: [put(b"a", b"1")]})
    write(sink, {0: [put(b"a", b"2", time_ms=BATCH_MS + 10)]}, time_ms=BATCH_MS + 10)
    write(sink, {0: [Delete(b"a", BATCH_MS + 20)]}, time_ms=BATCH_MS + 20)

    assert [(change.op, change.before) for _, change in changes(store)] == [
        (Op.PUT_ROW, ()),
        (Op.UPDATE_ROW, (Cell(b"f", b"q", BATCH_MS, b"1"),)),
        (Op.DELETE_ROW, (Cell(b"f", b"q", BATCH_MS + 10, b"2"),)),
    ]


def test_the_row_before_has_the_changes_of_earlier_splits_that_a_reader_does_not_see(store: Watched) -> None:
    stale = Watched()
    stale.open()
    declare(stale, "t")
    stale.apply("t", [put(b"a", b"0", time_ms=1_000)])
    sink = fed(
        [DirectSender(store)],
        "s",
        capabilities=store.capabilities,
        buffer_bytes=1 << 20,
        deletes=True,
        feeds={"t": FeedSpec(3_600_000, before=True)},
        reader=SeparateReader(stale),
    )
    write(sink, {0: [put(b"a", b"1", b"f:p")], 1: [Delete(b"a", BATCH_MS)], 2: [put(b"a", b"2")], 3: [put(b"b")]})

    first, second, third, other = (change for _, change in changes(store))
    assert first.before == (Cell(b"f", b"q", 1_000, b"0"),)
    assert second.before == (Cell(b"f", b"p", BATCH_MS, b"1"), Cell(b"f", b"q", 1_000, b"0"))
    assert third.before == (Cell(b"f", b"p", BATCH_MS, b"1"),)
    assert (other.op, other.before) == (Op.PUT_ROW, ())

    write(sink, {0: [put(b"a", time_ms=BATCH_MS + 10)]}, time_ms=BATCH_MS + 10)
    assert changes(store)[-1][1].before == (Cell(b"f", b"q", 1_000, b"0"),)


@pytest.mark.parametrize("calls", [1, 2])
def test_a_second_attempt_keeps_the_row_before(store: Watched, calls: int) -> None:
    write(sink_of_feeds(store), {0: [put(b"a", b"1", time_ms=1_000), put(b"b", b"1", time_ms=1_000)]}, time_ms=1_000)
    splits: dict[int, list[Mutation]] = {0: [put(b"a", b"2")], 1: [put(b"a", b"3"), put(b"b", b"3")]}
    store.calls_left = calls
    with pytest.raises(StoreUnavailableError):
        write(sink_of_feeds(store, before=True), splits)
    store.open()
    store.calls_left = None
    write(sink_of_feeds(store, before=True), splits)

    assert [(change.rank, change.before) for _, change in changes(store) if change.time_ms == BATCH_MS] == [
        (0, (Cell(b"f", b"q", 1_000, b"1"),)),
        (1, (Cell(b"f", b"q", BATCH_MS, b"2"),)),
        (1, (Cell(b"f", b"q", 1_000, b"1"),)),
    ]


def test_a_rejected_update_row_beside_a_feed_is_named_by_its_logical_row(store: Watched) -> None:
    sink = fed(
        [DirectSender(store)],
        "s",
        capabilities=Capabilities(written_by_driver=False, creates_families=True, creates_tables=True),
        buffer_bytes=1 << 20,
        deletes=False,
        updates={"u": Merging(Sum(Sum.settings_class()()))},
        feeds={"t": FeedSpec(3_600_000)},
    )
    ensure_declared(store, TableSpec("u", (FamilySpec(b"f"),), updates=SUMS))
    store.is_refused = lambda table, _one: table == "u"
    write(sink, {0: [put(b"a", b"1")]}, table="u")

    assert sink.refused.keys() == {("u", b"a")}


@pytest.mark.parametrize("staging", [None, StagingWriter()])
def test_a_table_with_a_feed_is_not_written_without_it(
    store: Watched, tmp_path: Path, staging: StagingWriter | None
) -> None:
    """Tasks that stage files know from the driver that there is a feed."""
    assert store.set_property("t", FEED, None, "any")
    formats = {} if staging is None else FamilyRegistry(DriverStore(store), {}, {}, {}).formats()
    senders = [DirectSender(staging or store)]
    sink = fed(senders, "s", capabilities=store.capabilities, buffer_bytes=1 << 20, deletes=False, staging=staging)
    sink.begin(spec_of(BATCH_MS), Prepared(str(tmp_path), formats=formats).packed(), WriteCounts())
    sink.add("t", put(b"a"))
    with pytest.raises(StoreRefusedError, match='table "t" has a change feed') as caught:
        sink.flush()

    assert caught.value.code == "feed_undeclared"
