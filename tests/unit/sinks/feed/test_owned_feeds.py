"""The change feeds of a pipeline on the driver: shards of micro-batches, and changes above the committed position."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ingest.api import (
    ConflictError,
    Delete,
    FamilySpec,
    FeedSpec,
    Mutation,
    Put,
    TableSpec,
    WriteRejectedError,
)
from ingest.api.feeds import FEED, feed_table
from ingest.clock import now_ms
from ingest.testing.tables import scanned
from sinks.feed.change_feed import ChangeFeed, MergeRequest, SplitRequest
from sinks.feed.changes import Op, encoded_change
from sinks.feed.keys import FEED_COLUMN, FeedKey, FeedSequence
from sinks.feed.owned_feeds import OwnedFeeds
from sinks.memory import MemoryStore
from sinks.owning.committed_position import COMMITTED, OWNER, CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.rowkeys.distribution import Distribution
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.writing.driver_store import DriverStore
from tests.support.owned import owned_of

HOUR = FeedSpec(3_600_000, shards=2)
VALUES = TableSpec("t", (FamilySpec(b"f"),), feed=HOUR)
SALTED = TableSpec("t", (FamilySpec(b"f"),), buckets=8, feed=HOUR)
UPDATES = TableSpec("t", (FamilySpec(b"f"),), updates='{"processor": "sum"}', feed=HOUR)


class Refusing(MemoryStore):
    """Refuses puts of the row `bad`."""

    def __init__(self) -> None:
        super().__init__(clock_ms=lambda: 10_000)

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        wrong = [index for index, one in enumerate(mutations) if table == "t" and one.row == b"bad"]
        if wrong:
            raise WriteRejectedError("too large", indexes=wrong)
        super().apply(table, mutations)


@pytest.fixture
def store() -> Refusing:
    made = Refusing()
    made.open()
    return made


def owned(store: MemoryStore, spec: TableSpec = VALUES, pipeline: str = "p", **options: Any) -> OwnedTables:
    if store.families(spec.name) is None:
        ensure_declared(store, spec)
    return owned_of(pipeline, {"s": DriverStore(store)}, {"s": [spec]}, **options)


def claimed(store: MemoryStore, spec: TableSpec = VALUES, **options: Any) -> OwnedTables:
    tables = owned(store, spec, **options)
    tables.claim()
    return tables


def feed_of(store: MemoryStore) -> ChangeFeed:
    return ChangeFeed.of(store.properties("t")[FEED], "t")


def request(store: MemoryStore, *requests: SplitRequest | MergeRequest) -> None:
    change_feed = feed_of(store)
    requested = change_feed
    for one in requests:
        requested = requested.with_request(one)
    assert store.set_property("t", FEED, change_feed.to_text(), requested.to_text())


def log(store: MemoryStore, row: bytes, time_ms: int, *mutations: Mutation, op: Op = Op.PUT, shard: int = 1) -> None:
    """Write a feed row, whose change the table lacks."""
    key = FeedKey(shard, FeedSequence(time_ms, 0, row)).encoded()
    store.apply("t_feed", [Put(key, {FEED_COLUMN: encoded_change(op, mutations)}, time_ms)])


def log_update(store: MemoryStore, time_ms: int) -> None:
    """Write an update and its change."""
    update = Put(UpdateKey(b"a", update_id_of(time_ms, 0)).encoded(), {b"f:q": b"1"}, time_ms)
    log(store, b"a", time_ms, update, op=Op.UPDATE)
    store.apply("t", [update])


def put(row: bytes, time_ms: int, value: bytes = b"v") -> Put:
    return Put(row, {b"f:q": value}, time_ms)


def committed_of(store: MemoryStore) -> CommittedPosition:
    return CommittedPosition.of(store.properties("t")[COMMITTED], "t")


def feed_rows(store: MemoryStore) -> list[FeedKey]:
    return [FeedKey.decoded(row.key) for row in scanned(store, "t_feed")]


def test_a_claim_creates_the_table_of_the_feed(store: Refusing) -> None:
    claimed(store)

    found = store.describe_table(feed_table("t"))
    assert found is not None
    assert found.families == (FamilySpec(b"f", ttl_s=7_200),)
    assert store.properties("t") == {OWNER: "p"}


def test_a_feed_opens_with_the_first_micro_batch(store: Refusing) -> None:
    batches = claimed(store).half(OwnedFeeds).batches("s", 1_000)

    assert feed_of(store).since_ms == 1_000
    assert (batches["t"].time_ms, batches["t"].shards.numbers) == (1_000, (1, 2))
    assert claimed(store).half(OwnedFeeds).batches("s", 1_002)["t"].shards == batches["t"].shards


def test_the_shards_of_a_salted_table_are_ranges_of_buckets(store: Refusing) -> None:
    assert claimed(store, SALTED).half(OwnedFeeds).batches("s", 1_000)["t"].shards.starts == (b"", b"\x04")


def test_another_expiration_is_recorded(store: Refusing) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    claimed(store, TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(7_200_000)))

    assert (feed_of(store).expiration_ms, len(feed_of(store).shards)) == (7_200_000, 2)
    found = store.describe_table("t_feed")
    assert found is not None
    assert found.families[0].ttl_s == 10_800


def test_changes_that_have_expired_stay_expired_with_a_longer_expiration(store: Refusing) -> None:
    """HBase may have removed them, and a reader must not get a gap without an error."""
    now_ms = 10_000_000
    change_feed = ChangeFeed.opened(1_000, 3_600_000, [b""])
    longer = change_feed.with_expiration(7_200_000, now_ms)
    assert (longer.expiration_ms, longer.horizon_ms(now_ms)) == (7_200_000, change_feed.horizon_ms(now_ms))
    assert longer.horizon_ms(now_ms + 10_000_000) == now_ms + 2_800_000
    shorter = longer.with_expiration(1_000, now_ms)
    assert shorter.horizon_ms(now_ms) == now_ms - 1_000
    assert shorter.with_expiration(7_200_000, now_ms).horizon_ms(now_ms) == now_ms - 1_000


def test_a_claim_notes_what_has_expired_by_the_former_expiration(store: Refusing) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    before_ms = now_ms()
    claimed(store, TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(7_200_000)))
    assert before_ms <= feed_of(store).kept_from_ms + 3_600_000 <= now_ms()
    kept_from_ms = feed_of(store).kept_from_ms
    claimed(store, TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(7_200_000)))
    assert feed_of(store).kept_from_ms == kept_from_ms


def test_a_feed_in_a_table_that_cannot_be_altered_expires_as_the_table_does(store: Refusing, monkeypatch) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    monkeypatch.setattr(Refusing, "capabilities", replace(store.capabilities, creates_families=False))
    claimed(store, TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(7_200_000)))
    assert feed_of(store).expiration_ms == 3_600_000


def test_a_request_takes_effect_when_a_micro_batch_begins(store: Refusing) -> None:
    feeds = claimed(store).half(OwnedFeeds)
    feeds.batches("s", 1_000)
    request(store, SplitRequest(1, b"c"))

    assert feeds.batches("s", 1_000)["t"].shards.numbers == (1, 2)  # a second attempt
    assert feeds.batches("s", 2_000)["t"].shards.numbers == (3, 4, 2)
    assert feed_of(store).requested == ()


def test_a_micro_batch_that_runs_again_has_the_same_shards(store: Refusing) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    request(store, SplitRequest(1, b"c"))
    restarted = claimed(store).half(OwnedFeeds)
    restarted.begun(1_000)

    assert restarted.batches("s", 1_000)["t"].shards.numbers == (1, 2)
    assert restarted.batches("s", 1_002)["t"].shards.numbers == (3, 4, 2)
    again = claimed(store).half(OwnedFeeds)
    again.begun(1_002)
    request(store, MergeRequest((3, 4)))
    assert again.batches("s", 1_002)["t"].shards.numbers == (3, 4, 2)


def test_a_request_takes_no_effect_at_or_below_the_committed_position(store: Refusing) -> None:
    tables = claimed(store)
    tables.half(OwnedFeeds).batches("s", 1_000)
    tables.move(CommittedPosition(9_000, {"t": 1}))
    request(store, SplitRequest(1, b"c"))

    feeds = claimed(store).half(OwnedFeeds)
    assert feeds.batches("s", 9_000)["t"].shards.numbers == (1, 2)
    assert feeds.batches("s", 9_002)["t"].shards.numbers == (3, 4, 2)


def test_a_feed_does_not_open_at_or_below_the_committed_position(store: Refusing) -> None:
    tables = claimed(store)
    tables.move(CommittedPosition(9_000, {"t": 1}))

    assert tables.half(OwnedFeeds).batches("s", 9_000) == {}
    assert FEED not in store.properties("t")
    assert tables.half(OwnedFeeds).batches("s", 9_002)["t"].time_ms == feed_of(store).since_ms == 9_002


def test_closed_shards_are_forgotten_after_their_changes_have_expired(store: Refusing) -> None:
    feeds = claimed(store).half(OwnedFeeds)
    feeds.batches("s", 1_000)
    request(store, SplitRequest(1, b"c"))
    feeds.batches("s", 2_000)
    request(store, SplitRequest(2, b"\xc0"))
    feeds.batches("s", 2_000 + 2 * 3_600_000)

    assert [shard.number for shard in feed_of(store).shards] == [2, 3, 4, 5, 6]


def test_changes_of_records_that_are_replayed_have_a_time_of_their_own(store: Refusing) -> None:
    feeds = claimed(store).half(OwnedFeeds)
    feeds.batches("s", 5_000)
    feeds.replay_at(6_000)

    assert feeds.batches("s", 1_000)["t"].time_ms == 6_000
    feeds.replay_at(None)
    assert feeds.batches("s", 7_000)["t"].time_ms == 7_000


def test_a_feed_that_is_no_longer_declared_is_closed(store: Refusing) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    plain = owned_of("p", {"s": DriverStore(store)}, {"s": []}, {"s": {"t"}})

    assert [each.table for each in plain.half(OwnedFeeds).release_others()] == ["t"]
    assert store.properties("t") == {}
    assert plain.half(OwnedFeeds).release_others() == []
    claimed(store).half(OwnedFeeds).batches("s", 2_000)
    assert feed_of(store).since_ms == 2_000


def test_the_feed_of_another_pipeline_is_not_closed(store: Refusing) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    other = owned_of("q", {"s": DriverStore(store)}, {"s": []}, {"s": {"t"}})

    with pytest.raises(ConflictError, match='pipeline "p" owns table "t" with its feed'):
        other.check()
    other.check(take_over=True)
    assert [each.table for each in other.release_undeclared()] == ["t"]


def test_a_feed_is_closed_though_a_split_is_requested_meanwhile(
    store: Refusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed(store).half(OwnedFeeds).batches("s", 1_000)
    set_property = store.set_property

    def after_a_request(table: str, name: str, before: str | None, value: str | None) -> bool:
        monkeypatch.undo()
        request(store, SplitRequest(1, b"\x20"))
        return set_property(table, name, before, value)

    monkeypatch.setattr(store, "set_property", after_a_request)
    plain = owned_of("p", {"s": DriverStore(store)}, {"s": []}, {"s": {"t"}})
    assert [each.table for each in plain.release_undeclared()] == ["t"]
    assert store.properties("t") == {}


@pytest.mark.parametrize("call", ["open", "close"])
def test_a_feed_that_changes_all_the_time_ends_the_call(
    store: Refusing, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    tables = claimed(store)
    if call == "close":
        tables.half(OwnedFeeds).batches("s", 1_000)
        tables = owned_of("p", {"s": DriverStore(store)}, {"s": []}, {"s": {"t"}})
    monkeypatch.setattr(store, "set_property", lambda *_: False)
    with pytest.raises(ConflictError, match='"feed of table t" changes all the time'):
        tables.half(OwnedFeeds).batches("s", 1_000) if call == "open" else tables.release_undeclared()


def test_another_pipeline_does_not_write_the_feed(store: Refusing) -> None:
    claimed(store)
    with pytest.raises(ConflictError, match='pipeline "p" owns table "t" with its feed'):
        claimed(store, pipeline="q")


@pytest.mark.parametrize("spec", [VALUES, SALTED])
def test_changes_above_the_committed_position_are_rolled_forward(store: Refusing, spec: TableSpec) -> None:
    tables = claimed(store, spec)
    tables.half(OwnedFeeds).batches("s", 1_000)
    tables.move(CommittedPosition(1_000, {"t": 1}))
    log(store, b"old", 1_000, put(b"old", 1_000))
    log(store, b"a", 2_000, put(b"a", 2_000))
    log(store, b"z", 2_000, Delete(b"z", 1_999), put(b"z", 2_000), shard=2)
    tables.roll_forward()
    tables.roll_forward()

    stored = Distribution(8).physical if spec is SALTED else bytes
    assert {row.key for row in scanned(store, "t")} == {stored(b"a"), stored(b"z")}
    assert committed_of(store) == CommittedPosition(2_000, {"t": 1})


def test_a_micro_batch_that_runs_again_is_not_rolled_forward(store: Refusing) -> None:
    tables = claimed(store)
    tables.half(OwnedFeeds).batches("s", 2_000)
    log(store, b"a", 2_000, put(b"a", 2_000))
    tables.roll_forward(keep_ms=2_000)

    assert scanned(store, "t") == []
    assert COMMITTED not in store.properties("t")
    log(store, b"b", 3_000, put(b"b", 3_000))
    tables.roll_forward(keep_ms=2_000)
    assert [row.key for row in scanned(store, "t")] == [b"a", b"b"]
    assert committed_of(store).time_ms == 3_000


def test_earlier_changes_are_rolled_forward_though_the_newest_belong_to_a_batch_that_runs_again(
    store: Refusing,
) -> None:
    tables = claimed(store)
    tables.half(OwnedFeeds).batches("s", 1_000)
    tables.move(CommittedPosition(1_000, {"t": 1}))
    log(store, b"a", 2_000, put(b"a", 2_000))
    log(store, b"b", 3_000, put(b"b", 3_000))
    tables.roll_forward(keep_ms=3_000)

    assert [row.key for row in scanned(store, "t")] == [b"a"]
    assert committed_of(store) == CommittedPosition(2_000, {"t": 1})


def test_a_change_that_the_store_refuses_is_removed(store: Refusing) -> None:
    tables = claimed(store)
    tables.half(OwnedFeeds).batches("s", 2_000)
    log(store, b"a", 2_000, put(b"a", 2_000))
    log(store, b"bad", 2_000, put(b"bad", 2_000))
    tables.roll_forward()

    assert [row.key for row in scanned(store, "t")] == [b"a"]
    assert [key.sequence.row for key in feed_rows(store)] == [b"a"]


def test_changes_of_a_former_feed_are_not_rolled_forward(store: Refusing) -> None:
    tables = claimed(store)
    log(store, b"former", 1_000, put(b"former", 1_000))
    tables.half(OwnedFeeds).batches("s", 2_000)
    tables.roll_forward()

    assert scanned(store, "t") == []


def test_deferred_updates_are_rolled_back_with_their_changes(store: Refusing) -> None:
    tables = claimed(store, UPDATES)
    tables.half(OwnedFeeds).batches("s", 1_000)
    log_update(store, 1_000)
    log_update(store, 2_000)
    tables.move(CommittedPosition(1_000, {}))
    tables.roll_forward()
    assert committed_of(store).time_ms == 1_000
    tables.remove_uncommitted(lambda newest_ms: newest_ms)

    assert [UpdateKey.decoded(row.key).start for row in scanned(store, "t")] == [update_id_of(1_000, 0)]
    assert [key.sequence.time_ms for key in feed_rows(store)] == [1_000]


def test_a_table_is_taken_over_without_the_updates_that_its_former_owner_did_not_complete(store: Refusing) -> None:
    tables = claimed(store, UPDATES)
    tables.half(OwnedFeeds).batches("s", 1_000)
    log_update(store, 1_000)
    tables.move(CommittedPosition(1_000, {}))
    log_update(store, 2_000)
    tables = owned(store, UPDATES, "q")
    tables.claim(take_over=True)

    assert store.properties("t")[OWNER] == "q"
    assert [UpdateKey.decoded(row.key).start for row in scanned(store, "t")] == [update_id_of(1_000, 0)]
    assert [key.sequence.time_ms for key in feed_rows(store)] == [1_000]


def test_a_take_over_completes_a_table_before_a_later_position_shows_its_changes(store: Refusing) -> None:
    """The new owner has another table, whose position is later than the interrupted micro-batch."""
    other = TableSpec("u", (FamilySpec(b"f"),), feed=HOUR)
    tables = claimed(store)
    tables.half(OwnedFeeds).batches("s", 1_000)
    tables.move(CommittedPosition(1_000, {}))
    log(store, b"a", 2_000, put(b"a", 2_000))
    ensure_declared(store, other)
    both = owned_of("q", {"s": DriverStore(store)}, {"s": [other]})
    both.claim()
    both.move(CommittedPosition(5_000, {}))
    owned_of("q", {"s": DriverStore(store)}, {"s": [other, VALUES]}).claim(take_over=True)

    assert committed_of(store).time_ms == 5_000
    assert [row.key for row in scanned(store, "t")] == [b"a"]


def test_a_take_over_that_is_killed_takes_the_updates_back_again(
    store: Refusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed(store, UPDATES).half(OwnedFeeds).batches("s", 1_000)
    log_update(store, 2_000)
    set_property = store.set_property
    monkeypatch.setattr(store, "set_property", lambda *change: change[1] != OWNER and set_property(*change))
    with pytest.raises(ConflictError):
        owned(store, UPDATES, "q").claim(take_over=True)

    assert store.properties("t")[OWNER] == "p"
    assert (scanned(store, "t"), feed_rows(store)) == ([], [])


def test_no_update_is_left_without_its_change_when_a_take_over_is_killed(
    store: Refusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader of the feed sees what the table has, or more; never less."""
    claimed(store, UPDATES).half(OwnedFeeds).batches("s", 1_000)
    log_update(store, 2_000)
    apply = store.apply

    def killed_at_changes(table: str, mutations: Sequence[Mutation]) -> None:
        if table != "t":
            raise RuntimeError("killed")
        apply(table, mutations)

    monkeypatch.setattr(store, "apply", killed_at_changes)
    with pytest.raises(RuntimeError, match="killed"):
        owned(store, UPDATES, "q").claim(take_over=True)
    assert (scanned(store, "t"), len(feed_rows(store))) == ([], 1)


def test_a_new_checkpoint_starts_at_the_committed_positions_of_deferred_updates_alone(store: Refusing) -> None:
    tables = claimed(store)
    tables.move(CommittedPosition(1_000, {"t": 1}))

    assert tables.resume_at() is None
    assert not tables.add_to_rows
    newest = tables.newest()
    assert newest is not None
    assert newest.time_ms == 1_000
