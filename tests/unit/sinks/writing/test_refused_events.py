"""Events of which the store refuses a row: what earlier attempts have written of them in tables with features."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ingest.api import (
    Capabilities,
    Event,
    FamilySpec,
    FeedSpec,
    MappingError,
    Mutation,
    Put,
    StoreBusyError,
    TableSpec,
    WriteCounts,
    WriteRejectedError,
)
from ingest.api.feeds import FEED, feed_table_spec
from ingest.testing.tables import scanned
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.feed.change_feed import ShardMap
from sinks.feed.feed_rows import FeedBatch
from sinks.feed.keys import FeedKey
from sinks.mapping.mapper import Mapped, Mapper, MapperSettings
from sinks.memory import MemoryStore
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from sinks.writing.messages import Prepared, RejectedRows, StoreResult
from sinks.writing.retry import store_retry
from sinks.writing.row_reader import SenderReader
from sinks.writing.sending import DirectSender
from sinks.writing.store_sink import StoreSink
from sinks.writing.writer import Writer
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_000
SUMS = '{"processor": "sum"}'
ROWS = {"u": RowFormat(updates=SUMS)}
TASKS_WRITE = Capabilities(written_by_driver=False, creates_families=True, creates_tables=True)


class TwoRows(Mapper[MapperSettings]):
    """The body names the rows: `table:row` and a value, as in `t:a=1 u:b=2`."""

    kind = "two_rows"

    def map(self, event: Event, batch_time_ms: int) -> Sequence[Mapped]:
        found: list[Mapped] = []
        for part in event.body.split():
            place, _, value = part.partition(b"=")
            table, _, row = place.partition(b":")
            found.append((table.decode(), Put(row, {b"f:q": value}, batch_time_ms)))
        return found


class Picky(MemoryStore):
    """Refuses rows of some keys; and is busy for some reads of families."""

    def __init__(self) -> None:
        super().__init__(clock_ms=lambda: BATCH_MS)
        self.bad: set[tuple[str, bytes]] = set()
        self.busy = 0

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        def logical(row: bytes) -> bytes:
            return UpdateKey.decoded(row).row if table in ROWS else row

        wrong = [
            index
            for index, each in enumerate(mutations)
            if isinstance(each, Put) and (table, logical(each.row)) in self.bad
        ]
        if wrong:
            raise WriteRejectedError("too bad", indexes=wrong)
        super().apply(table, mutations)

    def families(self, table: str) -> frozenset[bytes] | None:
        if self.busy:
            self.busy -= 1
            raise StoreBusyError("busy")
        return super().families(table)


@pytest.fixture
def store() -> Picky:
    made = Picky()
    made.open()
    for name in ("t", "v", "u", "p"):
        feed = FeedSpec(3_600_000) if name in "tv" else None
        spec = TableSpec(name, (FamilySpec(b"f"),), updates=SUMS if name == "u" else "", feed=feed)
        ensure_declared(made, spec)
        own = feed_table_spec(spec)
        if own is not None:
            ensure_declared(made, own)
    return made


def sink(store: Picky) -> StoreSink:
    return sink_of(
        [DirectSender(store)],
        capabilities=TASKS_WRITE,
        buffer_bytes=1 << 20,
        updates={"u": Merging(Sum(Sum.settings_class()()))},
        feeds={name: FeedSpec(3_600_000) for name in "tv"},
    )


def attempt(
    made: StoreSink,
    splits: dict[int, list[bytes]],
    refused: RejectedRows,
    *,
    counts: WriteCounts | None = None,
    max_failures: int | None = None,
) -> tuple[list[bytes], RejectedRows]:
    """The events that failed in an attempt, and the rows that the store has refused."""
    feeds = {name: {FEED: FeedBatch(BATCH_MS, ShardMap((b"",), (1,))).packed()} for name in "tv"}
    spec = replace(spec_of(BATCH_MS), max_failures=max_failures)
    made.begin(spec, Prepared(refused=refused, declared=ROWS, features=feeds).packed(), counts or WriteCounts())
    write = Writer(TwoRows(MapperSettings()), made).write
    failed = []
    for rank, bodies in splits.items():
        made.split_start(rank)
        for body in bodies:
            try:
                write(Event(body, {}))
            except MappingError:
                failed.append(body)
        made.split_end()
    return failed, StoreResult.unpacked(made.flush().payload).refused


def changes(store: MemoryStore, table: str) -> list[bytes]:
    return [FeedKey.decoded(row.key).sequence.row for row in scanned(store, f"{table}_feed")]


def keys(store: MemoryStore, table: str) -> list[bytes]:
    rows = [row.key for row in scanned(store, table)]
    return [UpdateKey.decoded(row).row for row in rows] if table in ROWS else rows


def test_all_changes_of_an_event_with_two_refused_rows_are_withdrawn(store: Picky) -> None:
    store.bad = {("t", b"a"), ("v", b"b")}
    made, splits = sink(store), {0: [b"t:a=1 v:b=2"], 1: [b"t:c=3"]}
    failed, refused = attempt(made, splits, {})
    assert (failed, len(refused)) == ([], 2)
    assert attempt(made, splits, refused) == ([b"t:a=1 v:b=2"], {})
    assert (changes(store, "t"), changes(store, "v")) == ([b"c"], [])


@pytest.mark.parametrize("bad", [("u", b"a"), ("p", b"a"), ("t", b"a")])
def test_updates_of_an_event_with_a_refused_row_are_not_counted(store: Picky, bad: tuple[str, bytes]) -> None:
    """A replay of its dead letter counts them."""
    store.bad = {bad}
    event = b"%s:a=1 u:b=2" % bad[0].encode()
    made, splits = sink(store), {0: [event, b"u:c=5"], 1: [b"u:b=7"]}
    _, refused = attempt(made, splits, {})
    assert attempt(made, splits, refused) == ([event], {})
    values = {(UpdateKey.decoded(row.key).row, row.cells[0].value) for row in scanned(store, "u")}
    assert values == {(b"c", b"5"), (b"b", b"7")}


def test_updates_of_other_events_of_the_split_stay(store: Picky) -> None:
    store.bad = {("u", b"a")}
    made, splits = sink(store), {0: [b"u:b=2 u:a=1", b"u:b=3"]}
    _, refused = attempt(made, splits, {})
    assert attempt(made, splits, refused) == ([b"u:b=2 u:a=1"], {})
    assert [row.cells[0].value for row in scanned(store, "u")] == [b"3"]


def test_a_refused_feed_row_is_of_its_table(store: Picky) -> None:
    """Two tables have a change with the same key."""
    made, splits = sink(store), {0: [b"t:a=1", b"v:a=2"]}
    attempt(made, splits, {})
    (key,) = (row.key for row in scanned(store, "t_feed"))
    store.bad = {("t_feed", key)}
    assert attempt(made, splits, {})[1].keys() == {("t_feed", key)}


def test_refused_rows_have_their_places_though_families_are_needed_meanwhile(store: Picky) -> None:
    store.bad = {("t", b"a")}
    made = sink(store)
    write = Writer(TwoRows(MapperSettings()), made).write
    feeds = {name: {FEED: FeedBatch(BATCH_MS, ShardMap((b"",), (1,))).packed()} for name in "tv"}
    made.begin(spec_of(BATCH_MS), Prepared(declared=ROWS, features=feeds).packed(), WriteCounts())
    for rank in range(2):  # the second change of the row sends the first one
        made.split_start(rank)
        write(Event(b"t:a=1", {}))
        made.split_end()
    made.families.need("t", {b"new"})
    refused = StoreResult.unpacked(made.flush().payload).refused
    assert [(table, FeedKey.decoded(key).sequence.row) for table, key in refused] == [("t_feed", b"a")]


def test_events_of_one_refused_row_count_once_towards_the_error_budget(store: Picky) -> None:
    store.bad = {("p", b"a")}
    made, splits = sink(store), {0: [b"p:a=%d" % number for number in range(5)]}
    _, refused = attempt(made, splits, {}, max_failures=2)
    assert attempt(made, splits, refused, max_failures=2) == (splits[0], {})


def test_a_busy_store_is_counted_for_reads_too(store: Picky) -> None:
    store.busy = 1
    counts = WriteCounts()
    retry = store_retry(attempts=2, sleep=lambda _seconds: None)
    made = sink_of([DirectSender(store, retry=retry)], capabilities=TASKS_WRITE)
    made.begin(spec_of(BATCH_MS), Prepared().packed(), counts)
    Writer(TwoRows(MapperSettings()), made).write(Event(b"p:a=1", {}))
    assert (counts.busy, [wait.reason for wait in counts.busy_waits]) == (1, ["store_busy"])


def test_rows_are_read_below_the_blobs_of_another_table(store: Picky) -> None:
    rules = {"p": LargeValues("p_blobs", BlobOptions(), 1 << 20)}
    reader = SenderReader(DirectSender(BlobMovingStore(store, rules)))
    store.apply("t", [Put(b"a", {b"f:q": b"1"}, 5)])
    row = reader.read(lambda read: read.get("t", b"a"))
    assert row is not None
    assert [cell.value for cell in row.cells] == [b"1"]
