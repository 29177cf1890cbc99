"""
Random histories of a pipeline with two counters, against a list of what was counted.

Micro-batches are killed at any call to the store, before and after their committed positions and their acknowledgement;
the pipeline starts again with the same or another configuration, another number of tasks, and a new checkpoint;
compactions are killed; micro-batches are rolled back, and replayed at new times.
"""

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import (
    Capabilities,
    ConflictError,
    Delete,
    FamilySpec,
    Mutation,
    Put,
    StoreUnavailableError,
    TableSpec,
    WriteCounts,
)
from ingest.catalog import Catalog
from ingest.config import load
from ingest.formats.times import moment
from ingest.service.kafka.source import KafkaSource
from ingest.service.replay import interrupted as interrupted_module
from ingest.service.replay.interrupted import InterruptedBatch
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.service.replay.update_replay import UpdateReplay, unfinished
from ingest.service.rewriting.rollback import RollbackOptions, rollback_steps
from ingest.service.rewriting.table_group import TableGroup
from ingest.service.state_folders import replay_folder, update_replay_file
from ingest.service.tables import OwnerOptions, PipelineTables
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.memory import MemoryStore
from sinks.owning.owned_tables import OwnedTables
from sinks.rewriting.compaction import CompactionTarget, RangeCompaction, bound_of
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LEASE
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import EVERYTHING
from sinks.scanning.update_rows import update_rows
from sinks.table_records import ensure_declared
from sinks.updates.compaction import CompactionRules
from sinks.updates.groups import by_row, merged_row
from sinks.updates.intervals import is_in
from sinks.updates.keys import update_id_of
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from sinks.writing.driver_store import DriverStore
from sinks.writing.messages import Prepared
from sinks.writing.sending import DirectSender
from tests.support.checkpoint import acknowledge
from tests.support.owned import owned_of
from tests.support.place import Here, borrowed, replay_options
from tests.support.sources import driver_context
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

TABLES = ("hits", "bytes")
SUMS = '{"processor": "sum"}'
SPECS = [TableSpec(table, (FamilySpec(b"c"),), updates=SUMS) for table in TABLES]
MERGING = Merging(Sum(Sum.settings_class()()))
PARTITIONS = (0, 1)
ROWS = (b"a", b"b", b"c", b"d")
FILE = """
version: 1
state_dir: {folder}/state
stores: {{s: {{rocksdb: {{path: {folder}/store}}}}}}
pipelines:
  counts:
    source: {{kafka: {{brokers: "localhost:9092", topics: [t]}}}}
    decorators: [value: {{attribute: note, value: "{note}"}}]
    sinks: [attr2hbase: {{table: hits}}]
"""
REQUEST = replay_options(0, 1)
KAFKA = KafkaSource.settings_class()(brokers="localhost:9092", topics=["t"])

Ends = dict[int, int]
"""Partition -> offset after the last record."""


class KilledError(Exception):
    """The process ends here."""


class Killable(MemoryStore):
    """
    A memory store whose rows survive a close; it ends the process before a writing call.

    Attributes:
        sent: calls of tasks with which the process has ended; the store executes them later.
    """

    calls_left: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, Sequence[Mutation]]] = []
        self.is_written_by_tasks = False

    def close(self) -> None:
        pass

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        try:
            self.step()
        except (KilledError, StoreUnavailableError):
            if self.is_written_by_tasks:
                self.sent.append((table, mutations))
            raise
        super().apply(table, mutations)

    def execute_late(self) -> None:
        """Execute the calls of processes that have ended."""
        while self.sent:
            super().apply(*self.sent.pop())

    def remove_rows(self, table: str, deletes: Sequence[Delete]) -> None:
        self.step()
        super().remove_rows(table, deletes)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        self.step()
        return super().set_property(table, name, before, value)

    def step(self) -> None:
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                if threading.current_thread() is threading.main_thread():
                    raise KilledError
                raise StoreUnavailableError("the process of this thread has ended")


@dataclass
class Counted:
    """
    A complete micro-batch.

    Attributes:
        missing: tables that do not have it.
        replayed: tables that have it at a later time.
    """

    time_ms: int
    begins: Ends
    ends: Ends
    note: str
    missing: set[str] = field(default_factory=set)
    replayed: set[str] = field(default_factory=set)


def events(begins: Ends, ends: Ends, note: str) -> Iterator[tuple[int, int, bytes, int]]:
    """Partition, offset, row and value of the events of a micro-batch, by split; another configuration has others."""
    rows = ROWS[:-1] if note == "a" else ROWS[1:]
    for partition in PARTITIONS:
        for offset in range(begins[partition], ends[partition]):
            yield partition, offset, rows[(offset * 7 + partition) % len(rows)], offset % 5 + 1


class World:
    """The topic, the store, the checkpoint, and what was counted."""

    def __init__(self, folder: Path, *, combines: bool) -> None:
        self._folder = folder
        self._combines = combines
        self._now_ms = 1_000
        self._opened = ExitStack()
        self._note = self._written_by = "a"
        self._tasks = 1
        self._number = 0
        self._planned: tuple[Ends, Ends] | None = None
        self._tables: PipelineTables | None = None
        self.complete: Ends = dict.fromkeys(PARTITIONS, 0)
        self.counted: list[Counted] = []
        self._notes: dict[int, str] = {}  # of the configurations that have written the replayed micro-batches
        self.store = Killable()
        self.store.open()
        for spec in SPECS:
            ensure_declared(self.store, spec)
        self.calls = StoreCalls(lambda: nullcontext(self.store))
        self.configuration = self._load()
        self.folder = Path(str(checkpoint_folder(self.configuration, "counts")))

    def close(self) -> None:
        self._opened.close()

    def batch(self, sizes: tuple[int, int], kill: int | None) -> None:
        """Plan and run a micro-batch, which may be killed: at a call, or after it was written (a negative number)."""
        self.restart()
        begins = self.complete
        ends = {partition: begins[partition] + size for partition, size in zip(PARTITIONS, sizes, strict=True)}
        acknowledge(self.folder, self._number, {"t": ends})
        (self.folder / "commits" / str(self._number)).unlink()
        self._planned = begins, ends
        self._run(kill)

    def stop(self, note: str, tasks: int, *, forgets: bool) -> None:
        """End the process; the next one has another configuration or number of tasks, or a new checkpoint."""
        self._end()
        self._note, self._tasks = note, tasks
        self.configuration = self._load()
        if forgets and self.folder.exists():
            kept = self.folder.with_name("kept")
            self.folder.rename(kept)
            self._start()
            shutil.rmtree(kept)
            resumed = self._live().resume_at() or {"t": dict.fromkeys(map(str, PARTITIONS), 0)}
            position = {int(partition): offset for partition, offset in resumed["t"].items()}
            if position != self.complete:
                self._count(position)
            self._planned, self._number = None, 0

    def restart(self) -> None:
        """Start the pipeline, if it does not run, and let an interrupted micro-batch end."""
        if self._tables is None:
            self._start()
        if self._planned is not None:
            self._run(None)

    def compact(self, window_ms: int, kill: int | None) -> None:
        committed = self._group().oldest_committed("hits")
        if committed is None:
            return
        bound, window = bound_of(committed.time_ms, 0), update_id_of(window_ms, 0)
        with self._killed_at(kill):
            for table in TABLES:
                rules = CompactionRules(bound, window, max_rows=3, withdrawn=withdrawn_times(self.store, table))
                target = CompactionTarget(table, RowFormat.recorded(self.store, table), rules)
                assert RangeCompaction(self.calls, target, MERGING).run(EVERYTHING) is None

    def roll_back(self, place: int, table: str, kill: int | None) -> None:
        """Roll a micro-batch back; what is left of it in merged rows stays."""
        candidates = [batch for batch in self.counted if table not in batch.missing]
        if not candidates:
            return
        batch = candidates[place % len(candidates)]

        def rolled_back() -> list[list[int]]:
            options = RollbackOptions.model_validate({"from": moment(batch.time_ms), "to": moment(batch.time_ms)})
            *_, last = rollback_steps(SPECS[TABLES.index(table)], options, self.calls, self._group(), Here())
            assert last.result is not None
            return [*last.result["rolled_back_ms"]]

        with self._killed_at(kill), suppress(ConflictError):  # not below the committed positions
            rolled_back()
        if (lease := self.store.properties(table).get(LEASE)) is not None:
            assert self.store.set_property(table, LEASE, lease, None)  # that of a killed process ends by itself
        with suppress(ConflictError):
            if rolled_back() == [[batch.time_ms] * 2]:
                batch.missing.add(table)

    def replay(self, place: int, kill: int | None, again: str, kill_again: int | None) -> None:
        """
        Replay a micro-batch into the tables from which it was rolled back.

        Its command may be killed twice, and is run again: as it was, with another configuration, or for another range.
        """
        rolled_back = [batch for batch in self.counted if batch.missing - batch.replayed]
        if not rolled_back:
            return
        if self._number == 0:
            self.batch((1, 1), None)  # under a new checkpoint, a replay waits for the first micro-batch
        self.restart()
        self._end()
        batch = rolled_back[place % len(rolled_back)]
        ranges = {("t", each): (batch.begins[each], batch.ends[each]) for each in PARTITIONS}
        tables = frozenset(batch.missing - batch.replayed)
        wanted = UnfinishedBatch(ReplayBatch(BatchKind.WHOLE, 0, batch.time_ms, ranges), tables)
        time_ms = None
        for each in (kill, kill_again, None):
            with self._killed_at(each):
                time_ms = self._replay(wanted, batch, again)
            if time_ms is not None:
                break
            self.compact(3, None)
            if again == "changed":
                self._note = "b" if self._note == "a" else "a"
                self.configuration = self._load()
        assert time_ms is not None
        others = set(TABLES) - tables
        note = self._notes[time_ms]
        self.counted.append(Counted(time_ms, batch.begins, batch.ends, note, missing=set(others), replayed=set(others)))
        batch.replayed |= tables

    def expected(self) -> dict[str, dict[bytes, int]]:
        sums: dict[str, Counter[bytes]] = {table: Counter() for table in TABLES}
        for batch in self.counted:
            for table in sums.keys() - batch.missing:
                for _, _, row, value in events(batch.begins, batch.ends, batch.note):
                    sums[table][row] += value
        return {table: dict(+found) for table, found in sums.items()}

    def found(self) -> dict[str, dict[bytes, int]]:
        sums: dict[str, dict[bytes, int]] = {}
        for table in TABLES:
            sums[table] = {}
            for row, rows in by_row(update_rows(self.store, table, RowFormat.recorded(self.store, table))):
                merged = merged_row(rows, MERGING, withdrawn_times(self.store, table))
                if merged is not None:  # else all of them are withdrawn
                    sums[table][row] = int(merged.columns[b"c:n"])
        return sums

    def _load(self) -> Any:
        path = self._folder / "p.yaml"
        path.write_text(FILE.format(folder=self._folder, note=self._note))
        return load(path, env={}, lookup=Catalog())

    def _clock(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def _owned(self) -> OwnedTables:
        return owned_of("counts", {"s": DriverStore(self.store)}, {"s": SPECS})

    def _group(self) -> TableGroup:
        replay = update_replay_file(self.configuration, "counts")
        return TableGroup("counts", {"s": TABLES}, {"s": self.calls}, replay)

    def _live(self) -> PipelineTables:
        assert self._tables is not None
        return self._tables

    def _start(self) -> None:
        self._now_ms += 1_000
        checkpoint = Checkpoint(self.folder)
        checkpoint.lock()
        self._opened.callback(checkpoint.unlock)
        self._times = BatchTimes(self.folder / "times", self._clock)
        fingerprint = self.configuration.pipelines["counts"].fingerprint
        self._tables = PipelineTables(
            self._owned(),
            checkpoint,
            self._times,
            fingerprint=fingerprint,
            replay=update_replay_file(self.configuration, "counts"),
            options=OwnerOptions(),
        )
        self._tables.claim(KafkaSource(KAFKA, driver_context(self.folder)), lambda *_batch: None)
        checkpoint.note_configuration(fingerprint)
        self.store.execute_late()

    def _end(self) -> None:
        self._opened.close()
        self._tables = None

    @contextmanager
    def _killed_at(self, kill: int | None) -> Iterator[None]:
        """The block ends with the process before its writing call of this number, or at its end."""
        self.store.calls_left, self.store.is_written_by_tasks = kill, False
        try:
            yield
        except (KilledError, StoreUnavailableError):  # a sender makes this one of it
            self._end()
        finally:
            self.store.calls_left = None

    def _run(self, kill: int | None) -> None:
        """Run the planned micro-batch as the query does."""
        assert self._planned is not None
        begins, ends = self._planned
        with self._killed_at(kill):
            time_ms = self._times.of(self._number)
            if not self._live().is_complete(self._number, time_ms):
                self._written_by = self._note
                self._write(begins, ends, time_ms, TABLES)
                self._live().complete(self._number, time_ms)
            self.store.step()
            acknowledge(self.folder, self._number, {"t": ends})
            self._number += 1
            self._count(ends)

    def _count(self, ends: Ends) -> None:
        """Note that all tables have the planned micro-batch, as the last configuration that ran it has written it."""
        assert self._planned is not None
        begins, planned = self._planned
        assert planned == ends
        committed = self._group().oldest_committed("hits")
        assert committed is not None
        self.counted.append(Counted(committed.time_ms, begins, ends, self._written_by))
        self.complete, self._planned = ends, None

    def _write(self, begins: Ends, ends: Ends, time_ms: int, tables: Sequence[str]) -> None:
        """Write the splits of a micro-batch, each by one of the tasks; without the combiner an event is a split."""
        splits: dict[int, list[tuple[bytes, int]]] = {}
        for number, (partition, _, row, value) in enumerate(events(begins, ends, self._note)):
            splits.setdefault(partition if self._combines else number, []).append((row, value))
        self.store.is_written_by_tasks = True
        for task in range(self._tasks):
            sink = sink_of(
                [DirectSender(self.store)],
                "s",
                capabilities=Capabilities(written_by_driver=False, creates_families=True, creates_tables=True),
                buffer_bytes=64,
                deletes=False,
                updates=dict.fromkeys(TABLES, MERGING),
            )
            declared = {table: RowFormat(updates=SUMS) for table in TABLES}
            sink.begin(spec_of(time_ms), Prepared(declared=declared).packed(), WriteCounts())
            for rank, split in splits.items():
                if rank % self._tasks == task:
                    sink.split_start(rank)
                    for row, value in split:
                        for table in tables:
                            sink.add(table, Put(row, {b"c:n": b"%d" % value}, time_ms))
                    sink.split_end()
            sink.flush()
        self.store.is_written_by_tasks = False

    def _replay(self, wanted: UnfinishedBatch, batch: Counted, again: str) -> int:
        """Replay a micro-batch as `attr2hbase replay` does; returns its new time."""
        pipeline = self.configuration.pipelines["counts"]
        state = ReplayState(replay_folder(self.configuration, "counts"), REQUEST, pipeline.fingerprint)
        stored = unfinished(update_replay_file(self.configuration, "counts"))
        written: list[int] = []

        def write(time_ms: int) -> None:
            written.append(time_ms)
            self._notes[time_ms] = self._note
            self._write(batch.begins, batch.ends, time_ms, sorted(wanted.tables))

        with ExitStack() as opened:
            replay = UpdateReplay(
                self.configuration,
                pipeline,
                borrowed(self.configuration, pipeline, opened),
                self._owned(),
                clock=self._clock,
            )
            replay.settle_batch(InterruptedBatch(state, KAFKA))
            if stored is not None and not all(
                is_in(rolled_back(self.store, table), batch.time_ms) for table in wanted.tables
            ):
                state.finish()
                return stored.time_ms
            if again != "other range":
                state.start([wanted.batch], {}, ReplayTotals())
            replay.run(wanted.to_plain(), write)
            replay.note_replayed(wanted)
            state.finish()
            replay.finish()
        return written[-1]


class Cluster:
    """The topic has all records."""

    def __init__(self, _connection: object) -> None:
        """The cluster is not reached."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is open."""

    def existing(self, topics: Sequence[str]) -> set[str]:
        return set(topics)

    def topic_ids(self, _topics: Sequence[str]) -> dict[str, str]:
        return {}

    def earliest(self, _topics: Sequence[str]) -> dict[tuple[str, int], int]:
        return {("t", partition): 0 for partition in PARTITIONS}

    def ends(self, _topics: Sequence[str]) -> dict[tuple[str, int], int]:
        return {("t", partition): 1_000 for partition in PARTITIONS}


AGAIN = ["as it was", "changed", "other range"]
kills = st.none() | st.integers(0, 14)
few = st.none() | st.integers(0, 5)
actions = st.one_of(
    st.tuples(st.just("batch"), st.tuples(st.integers(0, 4), st.integers(1, 4)), kills),
    st.tuples(st.just("batch"), st.tuples(st.integers(0, 4), st.integers(1, 4)), kills),
    st.tuples(st.just("stop"), st.sampled_from("ab"), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("compact"), st.sampled_from([3, 2_000, 2_000]), few),
    st.tuples(st.just("roll back"), st.integers(0, 9), st.sampled_from(TABLES), few),
    st.tuples(st.just("replay"), st.integers(0, 9), kills, st.sampled_from(AGAIN), kills),
)


@given(st.lists(actions, min_size=6, max_size=16), st.booleans())
@example(history=[("batch", (0, 1), 0), ("stop", "a", 1, False), ("stop", "a", 1, True)], combines=False)
def test_every_event_counts_once(history: list[Any], combines: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(interrupted_module, "KafkaAdmin", Cluster)
        world = World(Path(folder), combines=combines)
        try:
            for name, *arguments in history:
                match name:
                    case "batch":
                        world.batch(*arguments)
                    case "stop":
                        note, tasks, forgets = arguments
                        world.stop(note, tasks, forgets=forgets)
                    case "compact":
                        world.compact(*arguments)
                    case "roll back":
                        world.roll_back(*arguments)
                    case _:
                        world.replay(*arguments)
            world.restart()
            assert world.found() == world.expected()
        finally:
            world.close()
