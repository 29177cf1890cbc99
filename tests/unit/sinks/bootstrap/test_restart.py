"""A consumer group that restarts from a dump after changes have expired unread."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigError, FamilySpec, Scan, StoreUnavailableError
from sinks.bootstrap.restart import restart_from_dump
from sinks.dumps.errors import DumpNotAvailableError, TableNotInDumpError
from sinks.dumps.layout import FileFormat
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.feed.client import FeedClient, IteratorType
from sinks.feed.consuming import FeedConsumer
from sinks.feed.envelope import DebeziumEnvelope, OwnEnvelope
from sinks.feed.errors import FeedIdMismatchError, TrimmedError
from sinks.feed.gaps import GapPolicy
from sinks.feed.group import GroupMember, GroupOptions
from sinks.feed.leases import SHARD_END
from sinks.feed.outputs import LineOutput
from sinks.feed.position import FeedPosition
from sinks.files.opening import open_root
from sinks.memory import MemoryStore
from sinks.rowkeys.row_format import UPDATES
from tests.support.clock import Clock
from tests.support.dumps import FullRoot, ReadOnlyRoot
from tests.support.feeds import HOUR_MS, FeedFixture, T
from tests.support.group_leases import property_leases

SPECS = {"orders": DumpedTable((), families=(FamilySpec(b"d"),))}


class Restarted:
    """A feed that keeps its changes for an hour, and its dumps."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.clock = Clock(T + 1000)
        self.store = MemoryStore(clock_ms=self.clock)
        self.store.open()
        self.writer = FeedFixture(self.store, expiration_ms=HOUR_MS)
        self.client = FeedClient(self.store, "orders", self.clock)
        self.leases = property_leases(self.store, "orders_feed")

    def put(self, *rows: bytes, value: bytes) -> None:
        """A micro-batch at the present time."""
        self.writer.put(*rows, value=value, time_ms=self.clock.now)
        self.clock.now += 1000

    def dump(self, *, has_feed: bool = True) -> None:
        """A dump of the table; the positions are recorded before it is read."""
        positions = {str(shard): token for shard, token in self.client.latest().items()}
        root = open_root(self.root)
        with DumpRun(root, f"run-{self.clock.now}", clock_ms=self.clock) as run:
            run.start(["orders"], FileFormat.GZIP)
            rows = self.store.scan("orders", Scan())
            with closing(rows):
                run.add("orders", 0, write_table_file(root, run.folder, "orders", 0, rows, FileFormat.GZIP))
            run.finish(SPECS, feed={"orders": positions} if has_feed else None)

    def consumed(self, policy: GapPolicy | None, *, is_own: bool = True) -> list[dict[str, Any]]:
        """What a worker of the group writes until it has read everything."""
        lines: list[str] = []
        member = GroupMember(
            self.client, self.leases, GroupOptions("g", "w", gap_policy=policy), lambda: 0.0, self.clock
        )
        form = OwnEnvelope("orders") if is_own else DebeziumEnvelope("orders", self.clock)
        FeedConsumer(member, LineOutput(lines.append, lambda: None), form, lambda _seconds: False).run(once=True)
        return [json.loads(line) for line in lines]


def brief(records: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (record["op"], record.get("row"), *[column["value"] for column in record.get("columns", ())])
        for record in records
    ]


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Restarted]:
    found = Restarted(str(tmp_path / "dumps"))
    yield found
    found.store.close()


def test_rows_of_the_dump_stand_for_expired_changes(feed: Restarted):
    feed.put(b"a", value=b"1")
    assert brief(feed.consumed(None)) == [("PUT", "a", "1")]
    feed.put(b"a", b"b", value=b"2")
    feed.clock.now += 3 * HOUR_MS
    feed.put(b"c", value=b"3")
    feed.dump()
    feed.put(b"b", value=b"4")
    with pytest.raises(TrimmedError):
        feed.consumed(None)
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        found = brief(feed.consumed(policy))
    assert found == [("GAP", None), ("READ", "a", "2"), ("READ", "b", "2"), ("READ", "c", "3"), ("PUT", "b", "4")]
    assert feed.consumed(None) == []
    feed.put(b"d", value=b"5")
    assert brief(feed.consumed(None)) == [("PUT", "d", "5")]


def test_newest_dump_counts_at_each_gap(feed: Restarted):
    feed.put(b"a", value=b"1")
    feed.consumed(None)
    feed.dump()
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        feed.put(b"a", value=b"2")
        feed.clock.now += 3 * HOUR_MS
        feed.put(b"b", value=b"3")
        feed.dump()
        assert brief(feed.consumed(policy))[1:] == [("READ", "a", "2"), ("READ", "b", "3")]
        assert len(list((Path(feed.root) / "_pins").iterdir())) == 1
    assert list((Path(feed.root) / "_pins").iterdir()) == []


def test_dumps_that_cannot_be_pinned_are_reported_unless_the_root_is_unavailable(feed: Restarted):
    feed.put(b"a", value=b"1")
    feed.consumed(None)
    feed.put(b"a", value=b"2")
    feed.clock.now += 3 * HOUR_MS
    feed.put(b"b", value=b"3")
    feed.dump()
    reasons: list[str] = []
    with (
        restart_from_dump(FullRoot(Path(feed.root)), feed.store, "orders", on_unpinned=reasons.append) as policy,
        pytest.raises(StoreUnavailableError, match="No space left"),
    ):
        policy.resume(feed.client.state(), None, FeedPosition("s", 1))
    assert reasons == []
    with restart_from_dump(ReadOnlyRoot(Path(feed.root)), feed.store, "orders", on_unpinned=reasons.append) as policy:
        assert brief(feed.consumed(policy))[1:] == [("READ", "a", "2"), ("READ", "b", "3")]
    assert ["Permission denied" in reason for reason in reasons] == [True]


def test_messages_of_debezium(feed: Restarted):
    feed.put(b"a", value=b"1")
    feed.consumed(None)
    feed.put(b"a", value=b"2")
    feed.clock.now += 3 * HOUR_MS
    feed.put(b"b", value=b"3")
    feed.dump()
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        found = feed.consumed(policy, is_own=False)
    assert [(each["op"], each["after"], each["source"]["snapshot"]) for each in found] == [
        ("r", {"~id": "a", "d:a": "2"}, "true"),
        ("r", {"~id": "b", "d:a": "3"}, "true"),
    ]


def test_shard_that_was_split_before_the_dump(feed: Restarted):
    """The closed shard is at its end afterwards; those that continue it restart by themselves."""
    feed.put(b"a", b"x", value=b"1")
    feed.consumed(None)
    feed.put(b"a", b"x", value=b"2")
    feed.client.split(1, b"m")
    feed.put(b"b", b"y", value=b"3")
    feed.clock.now += 3 * HOUR_MS
    feed.put(b"c", value=b"4")
    feed.dump()
    feed.put(b"d", b"z", value=b"5")
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        found = brief(feed.consumed(policy))
    newest = {row: value for _, row, *value in found if row}
    assert newest == {"a": ["2"], "b": ["3"], "c": ["4"], "d": ["5"], "x": ["2"], "y": ["3"], "z": ["5"]}
    assert found[-2:] in ([("PUT", "d", "5"), ("PUT", "z", "5")], [("READ", "y", "3"), ("PUT", "z", "5")])
    assert feed.consumed(None) == []


def test_shard_that_was_opened_after_the_dump_is_refused(feed: Restarted):
    """The dump has recorded no position in it, and does not have its changes."""
    feed.put(b"a", b"x", value=b"1")
    position = FeedPosition.from_token(feed.client.iterator(1, IteratorType.TRIM_HORIZON))
    feed.dump()
    feed.client.split(1, b"m")
    feed.put(b"b", b"y", value=b"2")
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        state = feed.client.state()
        with pytest.raises(TrimmedError):
            policy.resume(state, state.shard("orders", 2), position)


def test_rows_of_the_dump_are_those_of_the_shard(feed: Restarted):
    feed.client.split(1, b"m")
    feed.put(b"a", b"b", b"x", value=b"1")
    feed.dump()
    state = feed.client.state()
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        found = [[row.key for row in policy.rows(state.shard("orders", shard))] for shard in (2, 3)]
    assert found == [[b"a", b"b"], [b"x"]]


def test_all_rows_of_the_dump_stand_for_a_shard_that_is_forgotten(feed: Restarted):
    feed.put(b"a", b"x", value=b"1")
    position = FeedPosition.from_token(feed.client.iterator(1, IteratorType.TRIM_HORIZON))
    feed.dump()
    with restart_from_dump(feed.root, feed.store, "orders") as policy:
        assert policy.resume(feed.client.state(), None, position) == SHARD_END
        assert [row.key for row in policy.rows(None)] == [b"a", b"x"]


def test_dump_that_is_too_old_is_refused(feed: Restarted):
    feed.put(b"a", value=b"1")
    feed.consumed(None)
    feed.dump()
    feed.put(b"b", value=b"2")
    feed.clock.now += 3 * HOUR_MS
    feed.put(b"c", value=b"3")
    with restart_from_dump(feed.root, feed.store, "orders") as policy, pytest.raises(TrimmedError):
        feed.consumed(policy)


def test_dump_of_an_earlier_feed_is_refused(feed: Restarted):
    feed.put(b"a", value=b"1")
    feed.dump()
    feed.writer.close_feed()
    FeedFixture(feed.store, expiration_ms=HOUR_MS, time_ms=feed.clock.now, feed_id="s2").put(b"b")
    feed.clock.now += 1000
    feed.consumed(None)
    writer = FeedFixture.of(feed.store, "orders")
    writer.put(b"c")
    feed.clock.now += 3 * HOUR_MS
    writer.put(b"d", time_ms=feed.clock.now)
    with restart_from_dump(feed.root, feed.store, "orders") as policy, pytest.raises(FeedIdMismatchError):
        feed.consumed(policy)


def test_unusable_dumps_are_refused(feed: Restarted):
    with pytest.raises(DumpNotAvailableError), restart_from_dump(feed.root, feed.store, "orders"):
        pass
    feed.put(b"a", value=b"1")
    feed.dump(has_feed=False)
    with (
        pytest.raises(ConfigError, match="has no positions in the change feed"),
        restart_from_dump(feed.root, feed.store, "orders"),
    ):
        pass
    with pytest.raises(TableNotInDumpError), restart_from_dump(feed.root, feed.store, "others"):
        pass
    feed.store.set_property("orders", UPDATES, None, '{"processor": "sum"}')
    with pytest.raises(ConfigError, match="has deferred updates"), restart_from_dump(feed.root, feed.store, "orders"):
        pass
