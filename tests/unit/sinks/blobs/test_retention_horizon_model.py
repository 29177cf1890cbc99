"""
Random histories of a table, its feed, its dumps and its sweeps: each pointer that is left can be followed.

Dumps read row by row between other steps, are killed, resumed, completed and removed. Micro-batches are interrupted
between their feed rows and their rows, and run again. Sweeps are killed at any write, look at some blobs at a time,
and use the dumps that they found at their start.
"""

import contextlib
import random
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

from ingest.api import Delete, FamilySpec, Mutation, Put, Row, Scan, TableSpec
from ingest.api.feeds import MARGIN_S, feed_table
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import Pointer
from sinks.blobs.retention_horizon import RetentionHorizon
from sinks.blobs.sweep import Sweep
from sinks.dumps.expiry import Retention, expire, plan_expiry
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.feed.changes import Change, stored_before
from sinks.feed.keys import FEED_COLUMN, FeedKey
from sinks.memory import MemoryStore
from tests.support.feeds import FeedFixture
from tests.support.killed_stores import KilledError, KilledStore
from tests.support.memory_root import MemoryRoot

HOUR_S = 3600
DAY_MS = 24 * HOUR_S * 1000
OPTIONS = BlobOptions(block_bytes=100, sweep_after_s=12 * HOUR_S)
RULES = {"events": LargeValues("events_blobs", OPTIONS, 20)}
KEYS = [b"a", b"b", b"c"]
VALUES = [bytes([number]) * (150 + number) for number in range(4)]
EXPIRATION_MS = 2 * DAY_MS
KEEP_MS = 3 * DAY_MS


class History:
    """One history, of a table with dumps, with a change feed or with both; each step is a method named `do_…`."""

    def __init__(self, store: Any, clock: Any, seed: int) -> None:
        self.random = random.Random(seed)
        self.store = store
        self.clock = clock
        self.root = MemoryRoot()
        self.root.renames_folders = seed % 2 == 0
        store.ensure_table(TableSpec("events", (FamilySpec(b"d", versions=1 + seed % 2),)))
        self.blobs = self.opened(store)
        self.blobs.prepare()
        self.has_dumps, self.has_feed = seed % 3 != 0, seed % 3 != 1
        if self.has_feed:
            self.feed = FeedFixture(store, "events", expiration_ms=EXPIRATION_MS, time_ms=clock())
        self.moving = BlobMovingStore(store, RULES, clock_ms=clock)
        self.batch_ms = 0
        self.interrupted: tuple[int, dict[bytes, list[Mutation]]] | None = None
        self.run: DumpRun | None = None
        self.read: list[Row] = []
        self.left = list(KEYS)
        self.sweep: Sweep | None = None
        self.next: bytes | None = None
        self.dumped: dict[str, list[Row]] = {}
        self.followed = {"table": 0, "feed": 0, "dump": 0}
        self.purged = 0

    def opened(self, store: Any) -> BlobStore:
        return BlobStore(store, "events_blobs", OPTIONS, owner="events", clock_ms=self.clock)

    @cached_property
    def steps(self) -> list[Callable[[], None]]:
        names = [name for name in sorted(dir(self)) if name.startswith("do_")]
        names = [name for name in names if self.has_dumps or "dump" not in name]
        return [getattr(self, name) for name in names] + [self.do_wait, self.do_sweep] * 2

    def do_wait(self) -> None:
        self.clock.advance(self.random.choice([1, HOUR_S, 6 * HOUR_S, 13 * HOUR_S, 30 * HOUR_S]))

    def do_put_large(self) -> None:
        """By a micro-batch from before the feed was declared, and the threshold removed."""
        put = Put(self.random.choice(KEYS), {b"d:a": self.random.choice(VALUES)}, self.next_time_ms())
        killed = KilledStore(self.store, self.random.choice([2, 5, 1_000]))
        with contextlib.suppress(KilledError):
            BlobMovingStore(killed, RULES, clock_ms=self.clock).apply("events", [put])
            return
        self.moving.apply("events", [put])

    def do_change(self) -> None:
        """
        A micro-batch with a change feed: it replaces or deletes a value; it may be interrupted after its feed row.
        """
        if self.interrupted is not None:
            time_ms, rows = self.interrupted
        else:
            time_ms, row = self.next_time_ms(), self.random.choice(KEYS)
            change = self.random.choice([Put(row, {b"d:a": b"small"}, time_ms), Delete(row, time_ms)])
            rows = {row: [change]}
        if not self.has_feed:
            self.store.apply("events", [mutation for mutations in rows.values() for mutation in mutations])
            return
        before = {row: self.before(row, time_ms) for row in rows}
        store = self.feed.store = KilledStore(self.store, self.random.choice([0, 1, 2, 2]))
        try:
            self.feed.batch(rows, time_ms, before=before, is_complete=False)
            self.interrupted = None
        except KilledError:
            self.interrupted = time_ms, rows
        self.feed.store = store._store

    def do_start_dump(self) -> None:
        """The one before is killed; its rows are read on if it is resumed."""
        self.clock.advance(1)
        is_resumed = self.run is not None and self.random.random() < 0.5
        if self.run is not None:
            self.run.__exit__(None, None, None)
        run_id = self.run.id if self.run is not None and is_resumed else f"id{self.clock()}"
        self.run = DumpRun(self.root, run_id, clock_ms=self.clock)
        self.run.__enter__()
        if is_resumed:
            self.run.resume()
        else:
            self.read, self.left = [], list(KEYS)
            self.run.start(["events"], plan=self.read_first)

    def read_first(self) -> dict[str, Any]:
        """A frozen view is made before the plan is written; a sweep may begin meanwhile."""
        if self.random.random() < 0.5:
            self.do_read_row_of_dump()
            self.do_begin_sweep()
        return {}

    def do_read_row_of_dump(self) -> None:
        if self.run is not None and self.left:
            row = self.store.get("events", self.left.pop(0))
            self.read += [] if row is None else [row]

    def do_complete_dump(self) -> None:
        if self.run is None or self.left:
            return
        if self.read:
            self.run.add("events", 0, write_table_file(self.root, self.run.folder, "events", 0, self.read))
        self.dumped[self.run.finish({"events": DumpedTable(())}).dump] = self.read
        self.run.__exit__(None, None, None)
        self.run, self.read = None, []

    def do_expire_dumps(self) -> None:
        if self.run is None:
            plan = plan_expiry(self.root, Retention(keep_ms=KEEP_MS), self.clock())
            for name in expire(self.root, plan, self.clock()):
                self.dumped.pop(name, None)

    def do_remove_complete_dumps(self) -> None:
        for name in self.dumped:
            self.root.remove_tree(name)
        self.dumped.clear()

    def do_begin_sweep(self) -> None:
        horizon = RetentionHorizon.of_dumps([self.root], "events", clock_ms=self.clock)
        killed = KilledStore(self.store, self.random.choice([1, 2, 3, 4] + [1_000] * 6))
        self.sweep, self.next = self.opened(killed).new_sweep(horizon), b""

    def do_sweep(self) -> None:
        if self.sweep is None or self.next is None:
            self.do_begin_sweep()
        assert self.sweep is not None
        try:
            self.next = self.sweep.run(self.next or b"", self.random.choice([1, 2, None]))
        except KilledError:
            self.next = None
        if self.next is None:
            self.purged += self.sweep.counts.purged
            self.sweep = None

    def next_time_ms(self) -> int:
        self.batch_ms = max(self.clock(), self.batch_ms + 2)
        return self.batch_ms

    def before(self, row: bytes, time_ms: int) -> Any:
        """As a task reads it: what an earlier attempt has stored, else the row."""
        for found in self.store.scan(feed_table("events"), Scan(columns=(FEED_COLUMN,))):
            sequence = FeedKey.decoded(found.key).sequence
            if (sequence.time_ms, sequence.row) == (time_ms, row):
                return stored_before(found.cells[0].value)
        present = self.store.get("events", row)
        return () if present is None else present.cells

    def check(self) -> None:
        """Follow all pointers that are left."""
        for row in self.store.scan("events", Scan(versions=2)):
            self.follow("table", [cell.value for cell in row.cells])
        for row in self.store.scan(feed_table("events"), Scan()) if self.has_feed else ():
            change = Change.decoded(FeedKey.decoded(row.key), row.cells[0].value)
            self.follow("feed", [cell.value for cell in change.before or ()])
        for rows in [self.read, *self.dumped.values()]:
            self.follow("dump", [cell.value for row in rows for cell in row.cells])

    def follow(self, where: str, values: list[bytes]) -> None:
        for pointer in filter(None, map(Pointer.of_value, values)):
            assert self.blobs.open(pointer.blob).read() in VALUES, where
            self.followed[where] += 1

    def end(self) -> int:
        """Remove all copies and wait; returns the number of blobs that are left without a cell."""
        if self.run is not None:
            self.run.__exit__(None, None, None)
        for name in [entry.name for entry in self.root.entries("")]:
            self.root.remove_tree(name) if name in self.root._folders else self.root.remove_file(name)
        for _ in range(3):
            self.clock.advance(OPTIONS.sweep_after_s + EXPIRATION_MS // 1000 + MARGIN_S)
            self.purged += self.blobs.sweep(
                RetentionHorizon.of_dumps([self.root], "events", clock_ms=self.clock)
            ).purged
        readable = {blob for blob, status, _ in self.blobs._tables.statuses.all() if status.is_readable}
        cells = [cell.value for row in self.store.scan("events", Scan(versions=2)) for cell in row.cells]
        return len(readable - {pointer.blob for pointer in map(Pointer.of_value, cells) if pointer is not None})


def run(history: History, steps: int) -> None:
    chosen = history.steps
    for _ in range(steps):
        history.random.choice(chosen)()
        history.check()
    assert history.end() == 0


def test_2c9_pointers_of_dumps_and_of_unexpired_changes_can_be_followed(clock):
    followed, purged = {"table": 0, "feed": 0, "dump": 0}, 0
    for seed in range(120):
        store = MemoryStore(clock_ms=clock)
        store.open()
        history = History(store, clock, seed)
        run(history, 120)
        purged += history.purged
        for where, number in history.followed.items():
            followed[where] += number
    assert min(followed.values()) > 2_000, followed
    assert purged > 50, purged


@pytest.mark.parametrize("seed", [1_000, 1_001])
def test_the_same_in_each_store(store, clock, seed):
    run(History(store, clock, seed), 150)
