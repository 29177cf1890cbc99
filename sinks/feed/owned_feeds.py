"""The change feeds of the tables that a pipeline writes, and the shards of each micro-batch."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ingest.api import FeedSpec, Store, TableSpec
from ingest.api.driver_feature import DriverFeature, DriverTables, PreparedFeatures, Released, StartAfter
from ingest.api.feeds import FEED, MARGIN_S, feed_table_spec
from ingest.clock import now_ms
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.register import changed
from sinks.feed.change_feed import ChangeFeed, even_starts
from sinks.feed.feed_rows import FeedBatch
from sinks.feed.rolling_forward import newest_change_ms, recorded_feed, roll_back_changes, roll_forward
from sinks.owning.committed_position import COMMITTED, OWNER, CommittedPosition
from sinks.owning.owner import OtherOwnerError, release
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared

_CLOSED = "the change feed of a table is closed: the file does not declare it any more"


class OwnedFeeds(DriverFeature):
    """
    The feeds of one pipeline, on the driver.

    A feed opens with the first micro-batch that writes it. Requested splits and merges take effect when a micro-batch
    runs for the first time, so a micro-batch that runs again has the same shards.

    Args:
        tables: those without a change feed are ignored.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, tables: DriverTables, clock_ms: Callable[[], int] = now_ms) -> None:
        self._clock_ms = clock_ms
        self._pipeline = tables.pipeline
        self._stores = tables.stores
        self._tables = {
            name: [(spec, spec.feed) for spec in specs if spec.feed is not None] for name, specs in tables.owned.items()
        }
        self._others = tables.others
        self._owning = tables.owning
        self._expirations_ms: dict[str, int] = {}
        self._begun_ms = 0
        self._replay_ms: int | None = None
        self._known: dict[str, tuple[int, dict[str, FeedBatch]]] = {}

    def claim(self) -> None:
        """Create the tables of the feeds, and note their expirations."""
        for name, spec, _ in self._all():
            with self._stores[name].held() as store:
                expiration_ms = self._expirations_ms[spec.name] = _ensure_table(store, spec)
                changed(_register(store, spec.name), partial(self._with_expiration, spec.name, expiration_ms))

    def check_others(self) -> None:
        """Check that no other pipeline owns a table with a change feed that this one writes without one."""
        for name, tables in self._others.items():
            for table in tables:
                with self._stores[name].held() as store:
                    found = store.properties(table)
                owner = found.get(OWNER)
                if FEED in found and owner not in (None, self._pipeline):
                    raise OtherOwnerError(
                        f'pipeline "{owner}" owns table "{table}" with its feed, and "{self._pipeline}" would write it '
                        "without one",
                        hint=f'if "{owner}" has ended for good, run with --take-over; else use another table',
                    )

    def release_others(self) -> list[Released]:
        """Close the feeds of tables that the pipeline no longer declares with a change feed."""
        closed: list[Released] = []
        for name, tables in self._others.items():
            for table in tables:
                with self._stores[name].held() as store:
                    found = store.properties(table)
                    if FEED not in found:
                        continue
                    changed(_register(store, table), lambda _: None)
                    release(store, table, self._owning - {FEED})
                    closed.append(Released(table, _CLOSED))
        return closed

    def newest_edge_ms(self) -> int:
        """
        The newest time at which a feed opened or changed its shards; 0 if there is none.

        Raises:
            IntegrityError: a feed cannot be read.
            StoreError: a store is unavailable.
        """
        edges = [0]
        for name, spec, _ in self._all():
            with self._stores[name].held() as store:
                text = store.properties(spec.name).get(FEED)
            if text is not None:
                edges += (shard.from_ms for shard in ChangeFeed.of(text, spec.name).shards)
        return max(edges)

    def withdraw(self, store: Store[Any], spec: TableSpec, first_ms: int, last_ms: int) -> None:
        """Delete the changes, after the rows that they describe: the table never has a cell that its feed lacks."""
        self._roll_back(store, spec, first_ms, last_ms)

    def withdraw_after(
        self,
        store: Store[Any],
        spec: TableSpec,
        committed_ms: int,
        start_after: StartAfter,  # noqa: ARG002 - of the rows
    ) -> None:
        """The same for all that follow the committed position."""
        self._roll_back(store, spec, committed_ms + 1, None)

    def _roll_back(self, store: Store[Any], spec: TableSpec, first_ms: int, last_ms: int | None) -> None:
        change_feed = recorded_feed(store, spec.name)
        if change_feed is not None:
            roll_back_changes(store, spec.name, change_feed, first_ms, last_ms)

    def roll_forward(self, store: Store[Any], spec: TableSpec, committed_ms: int, keep_ms: int | None) -> int | None:
        """Complete the table from the changes; raises as `sinks.feed.rolling_forward.roll_forward`."""
        feed = recorded_feed(store, spec.name)
        if feed is None:
            return None
        is_kept = keep_ms is not None and newest_change_ms(store, spec.name, feed, committed_ms) == keep_ms
        last_ms = keep_ms - 1 if keep_ms is not None and is_kept else None
        return roll_forward(store, spec.name, feed, committed_ms, last_ms)

    def begun(self, time_ms: int) -> None:
        """Note that the micro-batch of a time has run before, at least in part."""
        self._begun_ms = max(self._begun_ms, time_ms)

    def replay_at(self, time_ms: int | None) -> None:
        """Give the changes of the following micro-batches this time; their cells keep the batch times."""
        self._replay_ms = time_ms
        self._known.clear()

    def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:
        """How the feeds of a micro-batch are written."""
        batches = self.batches(store, batch_time_ms)
        times_ms = {batch.time_ms for batch in batches.values()}
        return PreparedFeatures({table: {FEED: batch.packed()} for table, batch in batches.items()}, tuple(times_ms))

    def batches(self, name: str, batch_time_ms: int) -> Mapping[str, FeedBatch]:
        """
        Table -> how a micro-batch writes its feed, for the tables of one store.

        A feed neither opens nor changes its shards at or below the committed position of its table: readers have
        passed that time. A table without an open feed at such a time is left out, so its feed cannot be written.

        Args:
            name: of the store.
            batch_time_ms: of the micro-batch.

        Raises:
            IntegrityError: a feed cannot be read.
            StoreError: the store is unavailable.
        """
        tables = self._tables.get(name)
        if not tables:
            return {}
        time_ms = batch_time_ms if self._replay_ms is None else self._replay_ms
        known = self._known.get(name)
        if known is not None and known[0] == time_ms:
            return known[1]
        is_new = self._replay_ms is None and time_ms > self._begun_ms
        with self._stores[name].held() as store:
            change_feeds = {
                spec.name: self._change_feed(store, spec, feed, time_ms, is_new=is_new) for spec, feed in tables
            }
        found = {
            spec.name: FeedBatch(time_ms, change_feed.map_at(time_ms), RowFormat(spec.buckets, spec.updates))
            for spec, _ in tables
            if (change_feed := change_feeds[spec.name]) is not None
        }
        self._known[name] = time_ms, found
        if self._known.keys() >= {each for each, some in self._tables.items() if some}:
            self.begun(time_ms)
        return found

    def _change_feed(
        self, store: Store[Any], spec: TableSpec, feed: FeedSpec, time_ms: int, *, is_new: bool
    ) -> ChangeFeed | None:
        """
        The change feed of a table for a micro-batch; None if none is open at or below the committed position.

        What was requested takes effect if the micro-batch is new.
        """

        def change(text: str | None) -> str | None:
            if text is None:
                starts = even_starts(feed.shards, spec.buckets, spec.splits)
                expiration_ms = self._expirations_ms.get(spec.name, feed.expiration_ms)
                return ChangeFeed.opened(time_ms, expiration_ms, starts).to_text() if is_above() else None
            change_feed = ChangeFeed.of(text, spec.name)
            if not (is_new and change_feed.requested and is_above()):
                return text
            expired_ms = time_ms - change_feed.expiration_ms - MARGIN_S * 1000
            return change_feed.trimmed(expired_ms).at_edge(time_ms).to_text()

        def is_above() -> bool:  # only this pipeline changes the committed position
            committed = store.properties(spec.name).get(COMMITTED)
            return committed is None or time_ms > CommittedPosition.of(committed, spec.name).time_ms

        text = changed(_register(store, spec.name), change)
        return None if text is None else ChangeFeed.of(text, spec.name)

    def _with_expiration(self, table: str, expiration_ms: int, text: str | None) -> str | None:
        """The text of a feed, if there is one, with another expiration."""
        if text is None:
            return None
        return ChangeFeed.of(text, table).with_expiration(expiration_ms, self._clock_ms()).to_text()

    def _all(self) -> Iterator[tuple[str, TableSpec, FeedSpec]]:
        return ((name, spec, feed) for name, tables in self._tables.items() for spec, feed in tables)


def _register(store: Store[Any], table: str) -> PropertyRegister:
    return PropertyRegister(calls_of(store), table, FEED)


def _ensure_table(store: Store[Any], spec: TableSpec) -> int:
    """
    Create the table of a feed, or give its rows the declared time to live; as far as the store can.

    Returns:
        How long the table keeps changes that can be read, in milliseconds.
    """
    declared = feed_table_spec(spec)
    if declared is None or spec.feed is None:
        raise ValueError(f'table "{spec.name}" has no change feed')
    (family,) = declared.families
    found = store.describe_table(declared.name)
    if found is None:
        # a store that cannot create regions creates the table with one
        can_split = store.capabilities.creates_families
        ensure_declared(store, declared if can_split else replace(declared, splits=()))
        return spec.feed.expiration_ms
    stored = next((each for each in found.families if each.name == family.name), None)
    if stored is None:
        ensure_declared(store, declared)
    elif stored.ttl_s != family.ttl_s and store.capabilities.creates_families:
        store.change_family(declared.name, replace(stored, ttl_s=family.ttl_s))
    elif stored.ttl_s is not None and family.ttl_s is not None and stored.ttl_s < family.ttl_s:
        return max(1, stored.ttl_s - MARGIN_S) * 1_000
    return spec.feed.expiration_ms
