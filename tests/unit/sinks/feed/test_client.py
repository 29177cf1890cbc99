"""Pages of a feed, on the stores that need no server; the numbers are those of the acceptance statements of a feed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.api import Cell, ConfigError, Delete, Put, Store
from sinks.feed.changes import Op
from sinks.feed.client import MAX_PAGE_BYTES, PAGING_MS, FeedClient, FeedPage, IteratorType
from sinks.feed.errors import (
    FeedDisabledError,
    FeedIdMismatchError,
    InvalidIteratorError,
    ShardNotFoundError,
    TrimmedError,
)
from sinks.memory import MemoryStore
from sinks.rewriting.withdrawn_times import withdraw_times
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.updates.intervals import Interval
from tests.support.clock import Clock
from tests.support.feeds import DAY_MS, HOUR_MS, FeedFixture, T

OLDEST, LATEST = IteratorType.TRIM_HORIZON, IteratorType.LATEST


@pytest.fixture
def clock() -> Clock[int]:
    return Clock(T + 1000)


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock[int]) -> Iterator[Store[Any]]:
    if request.param == "memory":
        found: Store[Any] = MemoryStore(clock_ms=clock)
    else:
        found = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")), clock_ms=clock)
    found.open()
    yield found
    found.close()


@pytest.fixture
def writer(store: Store[Any]) -> FeedFixture:
    return FeedFixture(store)


@pytest.fixture
def client(store: Store[Any], clock: Clock[int]) -> FeedClient:
    return FeedClient(store, "orders", clock)


def rows(page: FeedPage) -> list[bytes]:
    return [record.change.row for record in page.records]


def test_changes_of_a_withdrawn_time_are_left_out_and_pages_go_on(
    store: Store[Any], writer: FeedFixture, client: FeedClient
):
    """A call of a killed process may be executed after the withdrawal of its updates; the feed has them too."""
    for time_ms in (T, T + 1, T + 2, T + 5):
        writer.batch(
            {
                b"%d-%d" % (time_ms - T, row): [Put(b"%d-%d" % (time_ms - T, row), {b"d:a": b"1"}, time_ms)]
                for row in range(3)
            },
            time_ms,
        )
    withdraw_times(store, "orders", Interval(T + 1, T + 2))
    found: list[bytes] = []
    iterator: str | None = client.iterator(1, OLDEST)
    while iterator is not None:
        page = client.records(iterator, 2)
        assert page.records or page.behind_ms == 0
        found += rows(page)
        iterator = page.next_iterator if page.behind_ms else None
    assert found == [b"0-0", b"0-1", b"0-2", b"5-0", b"5-1", b"5-2"]


def test_4c1_changes_of_a_row_come_in_their_order(writer: FeedFixture, client: FeedClient):
    first = Cell(b"d", b"a", T, b"1")
    writer.batch({b"pk3": [Put(b"pk3", {b"d:a": b"1"}, T)]}, T, before={})
    writer.batch({b"pk3": [Put(b"pk3", {b"d:a": b"2"}, T + 1)]}, T + 1, before={b"pk3": (first,)})
    writer.batch({b"pk3": [Delete(b"pk3", T + 2)]}, T + 2, before={b"pk3": (first._replace(value=b"2"),)})
    page = client.records(client.iterator(1, OLDEST))
    assert [record.change.op for record in page.records] == [Op.PUT_ROW, Op.UPDATE_ROW, Op.DELETE_ROW]
    sequences = [record.sequence for record in page.records]
    assert sequences == sorted(sequences)
    assert len(set(sequences)) == 3
    assert page.behind_ms == 0


def test_4c2_latest_is_before_the_next_change(writer: FeedFixture, client: FeedClient):
    at_first = client.iterator(1, LATEST)
    writer.put(b"w")
    before = client.iterator(1, LATEST)
    empty = client.records(before)
    assert (rows(empty), empty.behind_ms) == ([], 0)
    assert empty.next_iterator is not None
    writer.put(b"x")
    after = client.iterator(1, LATEST)
    assert rows(client.records(at_first)) == [b"w", b"x"]
    assert rows(client.records(before)) == rows(client.records(empty.next_iterator)) == [b"x"]
    assert rows(client.records(after)) == []


def test_4c3_pages_do_not_overlap(writer: FeedFixture, client: FeedClient):
    writer.put(b"a", b"b", b"c")
    writer.put(b"d")
    writer.put(b"e")
    pages: list[list[bytes]] = []
    iterator: str | None = client.iterator(1, OLDEST)
    behind = []
    for _ in range(3):
        assert iterator is not None
        page = client.records(iterator, 2)
        assert page == client.records(iterator, 2)
        pages.append(rows(page))
        behind.append(page.behind_ms)
        iterator = page.next_iterator
    assert pages == [[b"a", b"b"], [b"c", b"d"], [b"e"]]
    assert behind == [2, 1, 0]


def test_incomplete_micro_batch_is_not_seen(writer: FeedFixture, client: FeedClient):
    time_ms = writer.batch({b"a": [Put(b"a", {b"d:a": b"1"}, T)]}, T, is_complete=False)
    iterator = client.iterator(1, OLDEST)
    page = client.records(iterator)
    assert rows(page) == []
    writer.complete(time_ms)
    assert page.next_iterator is not None
    assert rows(client.records(page.next_iterator)) == rows(client.records(iterator)) == [b"a"]


def test_4c4_feed_that_was_closed_is_a_new_feed(writer: FeedFixture, client: FeedClient, store: Store[Any]):
    writer.put(b"a")
    old = client.iterator(1, OLDEST)
    writer.close_feed()
    with pytest.raises(FeedDisabledError):
        client.records(old)
    again = FeedFixture(store, time_ms=writer.time_ms + 10, feed_id="s2")
    again.put(b"c")
    with pytest.raises(FeedIdMismatchError) as refused:
        client.records(old)
    assert (refused.value.exit_code, refused.value.code) == (3, "feed_id_mismatch")
    assert rows(client.records(client.iterator(1, OLDEST))) == [b"c"]


def test_4c5_split_shard_ends_with_its_children(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, shards=2)
    client = FeedClient(store, "orders", clock)
    writer.put(b"\x80a", b"\x80b", b"\xf0a")
    writer.put(b"\x80c", b"\xf0b")
    client.split(2, b"\xc0")
    page = client.records(client.iterator(2, OLDEST))
    assert (rows(page), page.child_shards) == ([b"\x80a", b"\x80b", b"\xf0a", b"\x80c", b"\xf0b"], ())
    assert page.next_iterator is not None
    writer.put(b"\x80d", b"\xf0c", b"\x10")
    assert client.records(page.next_iterator) == FeedPage((), None, 0, (3, 4))
    last = client.records(client.iterator(2, IteratorType.AT_SEQUENCE, sequence=page.records[-1].sequence))
    assert (rows(last), last.next_iterator, last.child_shards) == ([b"\xf0b"], None, (3, 4))
    assert [rows(client.records(client.iterator(number, OLDEST))) for number in (1, 3, 4)] == [
        [b"\x10"],
        [b"\x80d"],
        [b"\xf0c"],
    ]
    change_feed = client.state().feed
    assert [shard.parents for shard in change_feed.shards if shard.number > 2] == [(2,), (2,)]
    assert client.records(client.iterator(2, LATEST)).next_iterator is None


def test_4c7_merged_shards_have_two_parents(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, shards=3)
    client = FeedClient(store, "orders", clock)
    writer.put(b"\x01", b"\x60", b"\xf0")
    before = store.properties("orders")
    with pytest.raises(ConfigError, match="not adjacent"):
        client.merge(1, 3)
    with pytest.raises(ShardNotFoundError):
        client.merge(1, 9)
    assert store.properties("orders") == before
    client.merge(1, 2)
    writer.put(b"\x02", b"\x61")
    assert client.state().feed.shard(4).parents == (1, 2)
    assert client.records(client.iterator(1, OLDEST)).child_shards == (4,)
    assert rows(client.records(client.iterator(4, OLDEST))) == [b"\x02", b"\x61"]
    with pytest.raises(ConfigError, match="shard 1 is closed"):
        client.merge(1, 3)


def test_request_is_made_once(writer: FeedFixture, client: FeedClient):
    assert client.split(1, b"m") == client.split(1, b"m")
    assert len(client.state().feed.requested) == 1
    writer.put(b"a")
    assert client.state().feed.requested == ()


def test_4c10_expired_changes_are_an_error_and_no_gap(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"a", time_ms=T)
    writer.put(b"b", time_ms=T + 10 * 60_000)
    first = client.records(client.iterator(1, OLDEST), 1)
    at_first = client.iterator(1, IteratorType.AT_SEQUENCE, sequence=first.records[0].sequence)
    since_t = client.iterator(1, IteratorType.AT_TIMESTAMP, time_ms=T)
    assert rows(client.records(at_first)) == rows(client.records(since_t)) == [b"a", b"b"]
    clock.now = T + HOUR_MS + 1
    second = client.records(client.iterator(1, OLDEST))
    assert rows(second) == [b"b"]
    for refused in (at_first, since_t):
        with pytest.raises(TrimmedError) as trimmed:
            client.records(refused)
        assert (trimmed.value.oldest, trimmed.value.exit_code) == (second.records[0].sequence, 3)
    clock.now = T + 2 * HOUR_MS
    with pytest.raises(TrimmedError) as trimmed:
        client.records(at_first)
    assert trimmed.value.oldest is None
    assert "has no newer ones" in str(trimmed.value)


def test_reader_may_continue_for_half_an_hour(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"a", b"b", b"c", time_ms=T)
    clock.now = T + HOUR_MS
    page = client.records(client.iterator(1, OLDEST), 1)
    assert page.next_iterator is not None
    clock.now += PAGING_MS
    assert rows(client.records(page.next_iterator)) == [b"b", b"c"]
    clock.now += 1
    with pytest.raises(TrimmedError):
        client.records(page.next_iterator)


def test_reader_of_a_quiet_table_has_no_gap(store: Store[Any], clock: Clock[int]):
    """Changes that come after days without any are read; the reader was at the end during these days."""
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"a", time_ms=T)
    clock.now = T + 1000
    at_end = client.records(client.iterator(1, OLDEST)).next_iterator
    assert at_end is not None
    clock.now = T + 3 * DAY_MS
    later = client.records(at_end)  # nothing was written since, so nothing has expired
    assert rows(later) == []
    assert later.next_iterator is not None
    clock.now += 1000
    writer.put(b"b", time_ms=clock.now)
    assert rows(client.records(later.next_iterator)) == [b"b"]
    with pytest.raises(TrimmedError):
        client.records(at_end)  # it is not known what was written in the three days


def test_reader_whose_clock_was_ahead_has_no_hidden_gap(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"0", time_ms=T)
    now = clock.now
    clock.now += DAY_MS
    ahead = client.latest()[1]
    clock.now = now + 60_000
    corrected = client.records(ahead).next_iterator
    assert corrected is not None
    writer.put(b"a", time_ms=clock.now)
    assert rows(client.records(ahead)) == [b"a"]
    clock.now += 5 * HOUR_MS
    writer.put(b"b", time_ms=clock.now)
    for iterator in (ahead, corrected):
        with pytest.raises(TrimmedError):
            client.records(iterator)
    clock.now = now + DAY_MS
    with pytest.raises(TrimmedError):
        client.records(corrected)


def test_micro_batch_that_was_blocked_beyond_the_expiration_is_a_gap(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"a", time_ms=T)
    blocked_ms = writer.batch({b"b": [Put(b"b", {b"d:a": b"1"}, T + 1)]}, T + 1, is_complete=False)
    iterator = client.iterator(1, LATEST)
    for _ in range(10):
        clock.now += HOUR_MS // 2
        page = client.records(iterator)
        assert rows(page) == []
        iterator = page.next_iterator or ""
    writer.complete(blocked_ms)
    with pytest.raises(TrimmedError):
        client.records(iterator)


@pytest.mark.parametrize("limit", [0, -1, 5_001])
def test_4c14_limit_out_of_range_is_refused(writer: FeedFixture, client: FeedClient, limit: int):
    writer.put(b"a")
    with pytest.raises(ConfigError, match="1 to 5000 are allowed") as refused:
        client.records(client.iterator(1, OLDEST), limit)
    assert refused.value.exit_code == 2


def test_4c14_iterators_of_other_shards_and_tables_are_refused(store: Store[Any], clock: Clock[int]):
    FeedFixture(store)
    FeedFixture(store, "other", feed_id="s9")
    orders, other = FeedClient(store, "orders", clock), FeedClient(store, "other", clock)
    with pytest.raises(FeedIdMismatchError):
        orders.records(other.iterator(1, OLDEST))
    for number in (0, 2):
        with pytest.raises(ShardNotFoundError):
            orders.iterator(number, OLDEST)
    with pytest.raises(InvalidIteratorError):
        orders.records("damaged")
    with pytest.raises(FeedDisabledError):
        FeedClient(store, "nothing", clock).state()


def test_4c14_large_change_is_returned_alone(writer: FeedFixture, client: FeedClient):
    large = bytes(6 << 20)
    writer.put(b"a")
    writer.put(b"b", value=large)
    writer.put(b"c", b"d")
    pages, iterator = [], client.iterator(1, OLDEST)
    for _ in range(3):
        page = client.records(iterator)
        pages.append(rows(page))
        iterator = page.next_iterator or ""
    assert pages == [[b"a"], [b"b"], [b"c", b"d"]]


def test_page_has_a_maximum_size(writer: FeedFixture, client: FeedClient):
    writer.put(b"a", b"b", b"c", value=b"x" * (MAX_PAGE_BYTES // 2))
    assert [len(client.records(client.iterator(1, OLDEST), limit).records) for limit in (1, 5_000)] == [1, 1]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (OLDEST, {"sequence": "00"}),
        (LATEST, {"time_ms": 1}),
        (IteratorType.AT_SEQUENCE, {}),
        (IteratorType.AT_TIMESTAMP, {}),
        (IteratorType.AT_SEQUENCE, {"sequence": "zz"}),
        (IteratorType.AFTER_SEQUENCE, {"sequence": "00" * 11}),
    ],
)
def test_iterator_of_wrong_arguments_is_refused(
    writer: FeedFixture, client: FeedClient, kind: IteratorType, arguments: dict[str, Any]
):
    writer.put(b"a")
    with pytest.raises(InvalidIteratorError):
        client.iterator(1, kind, **arguments)


def test_latest_has_an_iterator_for_each_open_shard(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, shards=2)
    client = FeedClient(store, "orders", clock)
    client.split(1, b"\x10")
    writer.put(b"a", b"\xff")
    found = client.latest()
    assert sorted(found) == [2, 3, 4]
    writer.put(b"\x01", b"a", b"\xff")
    assert {number: rows(client.records(each)) for number, each in found.items()} == {
        2: [b"\xff"],
        3: [b"\x01"],
        4: [b"a"],
    }


def test_shard_whose_changes_have_expired_is_trimmed(store: Store[Any], clock: Clock[int]):
    writer = FeedFixture(store, expiration_ms=HOUR_MS)
    client = FeedClient(store, "orders", clock)
    writer.put(b"a")
    iterator = client.iterator(1, OLDEST)
    client.split(1, b"m")
    edge = writer.put(b"b")
    writer.set_property("feed", client.state().feed.trimmed(edge + 1).to_text())
    with pytest.raises(TrimmedError):
        client.records(iterator)
