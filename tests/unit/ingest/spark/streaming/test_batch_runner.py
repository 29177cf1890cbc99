"""What makes a micro-batch durable, with tasks run in this process instead of Spark's workers."""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from structlog.testing import capture_logs

from decorators.lookup import Lookup
from decorators.split import Split
from decorators.template import Value
from ingest.api import (
    Batch,
    ConfigError,
    ConflictError,
    Decoding,
    Disposition,
    ErrorBudgetSpentError,
    FamilySpec,
    IngestError,
    OffsetUnit,
    OnError,
    Record,
    RecordPlace,
    Scan,
    SourceUnavailableError,
    Store,
    StoreUnavailableError,
    TableSpec,
)
from ingest.api.taps import Tap, TapCounts
from ingest.config.model import Component
from ingest.dead_letters import buffer
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.envelope import DeadLetter
from ingest.observe.taps import Taps
from ingest.pipeline.back_pressure import BackPressure
from ingest.pipeline.loop import StoppedError
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.pipeline.splits import TooManySplitsError
from ingest.plan.codec import packed
from ingest.plan.plan import Plan
from ingest.receipt import Counts, Receipt, TaskStatus
from ingest.spark.streaming import batch_runner, worker
from ingest.spark.streaming.batch_errors import AbandonedError, BatchFailedError, RunsAnewError
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.guard import Guarded
from ingest.spark.streaming.query import PipelineQuery, Trigger
from ingest.spark.streaming.rows import RECEIPT_SCHEMA, rows_of
from ingest.spark.streaming.timed_caller import TimedCaller
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings, MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.writing import staging
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared
from sinks.writing.staged_committer import StagedCommitter
from tests.support.arrow import as_batch
from tests.support.names import unique
from tests.support.parts import planned


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_runner, "BACK_OFF_S", (0.0,))


TICK = [("a", "1:2"), ("b", "3:4")]


class Row(NamedTuple):
    kind: str
    payload: bytes


@dataclass
class JavaFrame:
    """Stands for the Java object of a frame, its plan and the RDD in it, which its query has made of the offsets."""

    partitions: int

    def logicalPlan(self):  # noqa: N802 - Java's name
        return self

    def getClass(self):  # noqa: N802 - Java's name
        return self

    def getSimpleName(self) -> str:  # noqa: N802 - Java's name
        return "LogicalRDD"

    def rdd(self):
        return self

    def getNumPartitions(self) -> int:  # noqa: N802 - Java's name
        return self.partitions


@dataclass
class Frame:
    """Stands for Spark's frame of a micro-batch: applies a function to its partitions."""

    partitions: list[list[Record]]
    before: Callable[[int], None] = lambda _attempt: None
    attempts: int = 0

    def mapInArrow(self, function, schema):  # noqa: N802 - Spark's name
        assert schema == RECEIPT_SCHEMA
        self.function = function
        return self

    @property
    def _jdf(self):
        return JavaFrame(len(self.partitions))

    def coalesce(self, count: int):
        merged = [[record for part in self.partitions[at::count] for record in part] for at in range(count)]
        return replace(self, partitions=merged)

    def collect(self) -> Iterable[Row]:
        self.attempts += 1
        self.before(self.attempts)
        return [
            Row(*pair)
            for number, records in enumerate(self.partitions)
            for batch in self.run(number, records)
            for pair in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]

    def run(self, number: int, records: list[Record]) -> Iterable[pa.RecordBatch]:
        name, plan, log_level, spec = self.function.args
        return list(
            worker.process(name, plan, log_level, replace(spec, task_id=str(number)), iter([as_batch(records)]))
        )


@dataclass
class BatchObserver:
    reported: list[object] = field(default_factory=list)
    on_blocked: Callable[[], None] = lambda: None
    reasons: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def running(self) -> None:
        self.reported.append("running")

    def blocked(self, code: str, message: str) -> None:
        self.reasons.append(message)
        self.reported.append(code)
        self.on_blocked()

    def attempted(self, counts: Counts) -> None:
        self.reported.append(("attempted", counts.read))

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        self.seconds.append(seconds)
        self.reported.append(("durable", batch_id, batch_time_ms, counts.stored))


def test_running_stage_is_timed(tmp_path: Path) -> None:
    """An attempt, a commit and a publication are stages; a pause between them is not."""
    now = [100.0]
    bench = Bench(tmp_path, clock=lambda: now[0])
    during: list[float] = []
    in_pauses: list[float] = []

    def measure(*_arguments: object) -> None:
        now[0] += 7.0
        during.append(bench.runner.stage_s())

    def pause() -> None:
        now[0] += 7.0
        in_pauses.append(bench.runner.stage_s())

    apply, time_of = bench.store.apply, bench.batch_times.of
    bench.store.apply = lambda *arguments: (measure(), apply(*arguments))
    bench.before_publish = measure
    bench.batch_times.of = lambda batch_id: (measure(), time_of(batch_id))[1]
    bench.publish_errors = [StoreUnavailableError("not now")]
    bench.observer.on_blocked = pause
    frame = Frame([records(*TICK)], before=measure)
    bench.runner.on_batch(frame, 0)
    assert during.count(7.0) == len(during) >= 5
    assert in_pauses == [0.0]
    assert bench.observer.reasons == ["not now"]
    assert bench.observer.seconds == [now[0] - 107.0]  # without the stage that assigns the time
    assert bench.runner.stage_s() == 0.0


class Committing(StagedCommitter):
    """Counts the results of each batch."""

    def __init__(self, result_counts: list[int], *arguments: Any) -> None:
        super().__init__(*arguments)
        self.result_counts = result_counts

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        self.result_counts.append(len(results))
        super().commit(batch, results)


class Bench:
    """A runner with its store, and everything that it reported and published."""

    def __init__(
        self,
        folder: Path,
        *,
        max_created: int = 20,
        on_error: OnError = OnError.DEAD_LETTER,
        store: Store[Any] | None = None,
        max_tasks: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        hide: Callable[[str], str] = str,
        allowed_failures: float = 1,
    ) -> None:
        self.store = store or MemoryStore(MemorySettings())
        is_embedded = isinstance(self.store, RocksDBStore)
        path = "sinks.rocksdb.store:RocksDBStore" if is_embedded else "sinks.memory:MemoryStore"
        self.driver_store = DriverStore(self.store)
        self.observer = BatchObserver()
        self.published: list[tuple[list[bytes], int]] = []
        self.published_at: list[int] = []
        self.publish_errors: list[IngestError] = []
        self.result_counts: list[int] = []
        self.before_publish: Callable[[], None] = lambda: None
        options = {"store": "logs", "table": "t", "families": {"max_created": max_created}}
        self.plan = Plan(
            pipeline="p",
            fingerprint=unique("plan"),  # so that no live task of another bench is used
            timezone="UTC",
            on_error=on_error,
            decoding=Decoding(),
            decorators=(
                part(Split, separator=":", index=0, attribute="2hb_f:ts"),
                part(Split, separator=":", index=1, attribute="2hb_g:value"),
                part(Value, attribute="2hb_", value="%{key}"),
            ),
            sinks=(
                planned(
                    "attr2hbase",
                    "sinks.mapping.attr2hbase:Attr2HBase",
                    Attr2HBase.settings_class().model_validate(options),
                    on_error,
                ),
            ),
            stores={"logs": planned("logs", path, self.store.settings)},
        )
        self.folder = folder
        self.max_created = max_created
        self.max_tasks = max_tasks
        self.hide = hide
        self.error_budget = ErrorBudget(share=allowed_failures, min_events=0, window_s=300)
        self.clock = clock
        self.batch_times = BatchTimes(folder / "times", lambda: 5_000)
        self.record: Callable[[int, int], None] = lambda _batch_id, _batch_time_ms: None
        self.check_owner: Callable[[], None] = lambda: None
        self.needs_splits = False
        self.splits: Callable[[int], Iterable[RecordPlace] | None] = lambda _batch_id: None
        self.guard: Callable[[int, int, bool], Guarded | None] = lambda *_arguments: None
        self.limiter = RateLimiter(None)
        self.back_pressure = BackPressure()
        self.taps: Taps | None = None
        self.runner = self.runner_of(self.plan)

    def runner_of(self, plan: Plan, task_name: str | None = None) -> BatchRunner:
        """A runner that runs a plan into this store."""
        return BatchRunner(
            pipeline="p",
            task_name=task_name,
            plan=packed(plan),
            batch_times=self.batch_times,
            committers={
                "logs": Committing(
                    self.result_counts,
                    self.driver_store,
                    FamilyRegistry(self.driver_store, {}, {"t": self.max_created}, {}),
                    self.folder / "incoming",
                )
            },
            error_budget=self.error_budget,
            publish=self.publish,
            observer=self.observer,
            record=self.record,
            check_owner=self.check_owner,
            needs_splits=self.needs_splits,
            splits=self.splits,
            guard=self.guard,
            max_tasks=self.max_tasks,
            limiter=self.limiter,
            back_pressure=self.back_pressure,
            hide=self.hide,
            taps=self.taps,
            clock=self.clock,
        )

    def publish(self, dead_letters, batch_id: int, batch_time_ms: int) -> None:
        self.before_publish()
        if self.publish_errors:
            raise self.publish_errors.pop()
        self.published.append((list(dead_letters), batch_id))
        self.published_at.append(batch_time_ms)

    def keys(self) -> list[bytes]:
        return [row.key for row in self.store.scan("t", Scan())]


def part(component: type, **options: object) -> Component[Any]:
    settings = component.settings_class().model_validate(options)
    return planned(component.kind, f"{component.__module__}:{component.__name__}", settings, OnError.DEAD_LETTER)


def records(*pairs: tuple[str, str], partition: int = 0) -> list[Record]:
    return [
        Record("ticks", partition, offset, key.encode(), value.encode(), 1_000, ())
        for offset, (key, value) in enumerate(pairs)
    ]


def test_batch_is_stored_before_it_is_acknowledged(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.runner.on_batch(Frame([records(*TICK), records(("c", "5:6"), partition=1)]), 7)
    assert bench.keys() == [b"a", b"b", b"c"]
    assert bench.observer.reported[-1] == ("durable", 7, 5_000, 3)
    assert (bench.published, bench.published_at) == ([([], 7)], [5_000])
    assert list((tmp_path / "incoming").iterdir()) == []


def test_batch_is_logged_after_its_dead_letters_and_before_it_is_acknowledged(tmp_path: Path):
    bench = Bench(tmp_path)
    logged = []
    failures = [StoreUnavailableError("the disk is full")]

    def record(batch_id: int, batch_time_ms: int) -> None:
        if failures:
            raise failures.pop()
        logged.append((batch_id, batch_time_ms, len(bench.published), bench.keys()))

    bench.record = record
    bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)]), 7)
    assert logged == [(7, 5_000, 1, [b"a", b"b"])]


def guarded(*left: Record, count: int) -> Guarded:
    """What runs in place of a micro-batch: some of its records, and one dead letter for the others."""
    return Guarded(
        Frame([list(left)]),
        (b"place",),
        Counts(records=count, read=count, dead_lettered_by=Counter({("too_large", "source"): count})),
    )  # type: ignore[arg-type] # a frame without Spark


def test_guarded_batch_reads_only_what_is_left_and_has_the_dead_letters_of_the_rest(tmp_path: Path):
    bench = Bench(tmp_path, allowed_failures=0.1)  # the rest counts as no failure of the pipeline
    calls: list[tuple[int, int, bool]] = []
    totals: list[Counts] = []

    def guard(batch_id: int, batch_time_ms: int, has_failed: bool) -> Guarded:
        calls.append((batch_id, batch_time_ms, has_failed))
        return guarded(records(*TICK)[0], count=1)

    bench.guard = guard
    bench.observer.durable = lambda _id, _time, counts, _s: totals.append(counts)  # type: ignore[method-assign]
    frame = Frame([records(*TICK)])
    bench.runner_of(bench.plan).on_batch(frame, 7)
    assert (bench.keys(), bench.published, frame.attempts) == ([b"a"], [([b"place"], 7)], 0)
    assert calls == [(7, 5_000, False)]
    assert (totals[0].records, totals[0].read, totals[0].stored) == (2, 2, 1)
    assert totals[0].dead_lettered == {"too_large": 1}


def test_batch_is_guarded_when_its_job_has_failed_and_java_lives(tmp_path: Path):
    bench = Bench(tmp_path)
    calls: list[bool] = []

    def guard(_batch_id: int, _batch_time_ms: int, has_failed: bool) -> Guarded | None:
        calls.append(has_failed)
        return guarded(records(*TICK)[1], count=1) if has_failed else None

    def fail(_attempt: int) -> None:
        raise PySparkException("ExecutorLostFailure: the executor has ended")

    bench.guard = guard
    bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)], before=fail), 7)
    assert (bench.keys(), bench.published, calls) == ([b"b"], [([b"place"], 7)], [False, True])


@pytest.mark.parametrize("has_failed", [False, True])
def test_batch_that_must_run_at_another_time_ends_without_an_acknowledgement(tmp_path: Path, has_failed: bool):
    bench = Bench(tmp_path)
    renewed = guarded(records(*TICK)[1], count=1)._replace(must_renew=True)
    bench.guard = lambda _batch_id, _batch_time_ms, failed: renewed if failed == has_failed else None

    def fail(_attempt: int) -> None:
        raise PySparkException("ExecutorLostFailure: the executor has ended")

    runner = bench.runner_of(bench.plan)
    with pytest.raises(RunsAnewError, match="1 record of a micro-batch"):
        runner.on_batch(Frame([records(*TICK)], before=fail), 7)
    assert isinstance(runner.failure, RunsAnewError)
    assert (bench.published, runner.failure.disposition) == ([], Disposition.RETRY)


def test_batch_is_not_guarded_when_java_is_gone(tmp_path: Path):
    bench = Bench(tmp_path)
    calls: list[bool] = []
    bench.guard = lambda _batch_id, _batch_time_ms, has_failed: calls.append(has_failed)

    def fail(_attempt: int) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    with pytest.raises(BatchFailedError):
        bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)], before=fail), 7)
    assert calls == [False]


def test_guard_that_cannot_read_the_topic_blocks_the_batch_until_it_can(tmp_path: Path):
    bench = Bench(tmp_path)
    failures = [SourceUnavailableError("no broker answers")]

    def guard(*_arguments: object) -> None:
        if failures:
            raise failures.pop()

    bench.guard = guard
    bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)]), 7)
    assert bench.observer.reported[0] == "source_unavailable"
    assert bench.keys() == [b"a", b"b"]


class Owner:
    """Counts the checks of the checkpoint's lock; another driver takes over before check `loses_at`."""

    def __init__(self, loses_at: int) -> None:
        self.checks = 0
        self.loses_at = loses_at

    def check(self) -> None:
        self.checks += 1
        if self.checks >= self.loses_at:
            raise ConflictError("another driver has taken it", code="lease_lost")


@pytest.mark.parametrize(
    ("loses_at", "times", "stored", "published", "logged"),
    [
        *((1, 0, 0, 0, 0), (2, 1, 0, 0, 0), (3, 1, 0, 0, 0), (4, 1, 0, 0, 0), (5, 1, 0, 0, 0), (6, 1, 0, 0, 0)),
        *((7, 1, 2, 0, 0), (8, 1, 2, 1, 0), (9, 1, 2, 1, 1)),
    ],
)
def test_driver_that_was_replaced_writes_nothing_more(
    tmp_path: Path, *, loses_at: int, times: int, stored: int, published: int, logged: int
):
    bench, owner, logs = Bench(tmp_path), Owner(loses_at), list[int]()
    bench.check_owner, bench.record = owner.check, lambda batch_id, _time_ms: logs.append(batch_id)
    bench.runner.on_batch(Frame([records(("c", "5:6"))]), 6)  # creates the table
    runner = bench.runner_of(bench.plan)
    with pytest.raises(ConflictError, match="another driver"):
        runner.on_batch(Frame([records(*TICK)]), 7)
    assert isinstance(runner.failure, ConflictError)
    assert runner.finished_batch is None
    assert owner.checks == loses_at
    found = (len(list((tmp_path / "times").iterdir())), len(bench.keys()), len(bench.published), len(logs))
    assert found == (1 + times, 1 + stored, 1 + published, logged)


@pytest.mark.parametrize("blocked", ["commit", "publish", "record"])
def test_driver_that_is_replaced_while_it_is_blocked_does_not_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: str
):
    bench, owner, logs = Bench(tmp_path), Owner(loses_at=1_000), list[int]()

    def fail_once() -> None:
        if owner.loses_at:
            owner.loses_at = 0  # another driver takes over meanwhile
            raise StoreUnavailableError("the disk is full")

    def record(batch_id: int, _batch_time_ms: int) -> None:
        if blocked == "record":
            fail_once()
        logs.append(batch_id)

    def commit(committer: StagedCommitter, batch: Batch, results: Sequence[bytes]) -> None:
        fail_once()
        stored(committer, batch, results)

    if blocked == "commit":
        stored = StagedCommitter.commit
        monkeypatch.setattr(StagedCommitter, "commit", commit)
    if blocked == "publish":
        bench.before_publish = fail_once
    bench.record = record
    bench.check_owner = owner.check
    with pytest.raises(ConflictError, match="another driver"):
        bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)]), 7)
    assert bench.keys() == ([] if blocked == "commit" else [b"a", b"b"])
    assert (len(bench.published), logs) == (1 if blocked == "record" else 0, [])


def test_batch_waits_while_the_owner_cannot_be_checked(tmp_path: Path):
    bench, failures = Bench(tmp_path), [StoreUnavailableError("no NameNode", code="state_unavailable")]

    def check() -> None:
        if failures:
            raise failures.pop()

    bench.check_owner = check
    bench.runner_of(bench.plan).on_batch(Frame([records(*TICK)]), 7)
    assert bench.observer.reported[0] == "state_unavailable"
    assert bench.keys() == [b"a", b"b"]


def test_files_of_an_earlier_attempt_are_removed_by_the_next_batch(tmp_path: Path):
    bench = Bench(tmp_path)
    late = tmp_path / "incoming" / "p-6-0" / "000000-3.puts"
    late.parent.mkdir(parents=True)
    late.touch()
    bench.runner.on_batch(Frame([records(*TICK)]), 7)
    assert list((tmp_path / "incoming").iterdir()) == []
    assert bench.keys() == [b"a", b"b"]


def test_staged_files_have_the_compression_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is part of the task spec: otherwise tasks know only the families of a table."""
    monkeypatch.setattr(staging, "MIN_FILE_PUTS", 1)
    sizes = {}
    for compression in ("none", "zstd"):
        folder = tmp_path / compression
        bench = Bench(folder, store=RocksDBStore(RocksDBSettings(path=str(folder / "store"))))
        with bench.driver_store.held() as store:
            families = tuple(FamilySpec(name, compression=compression) for name in (b"f", b"g"))
            store.ensure_table(TableSpec("t", families))
        rows = [(f"{number:04d}", "the same text again:and again") for number in range(1_000)]
        bench.runner.on_batch(Frame([records(*rows)]), 0)
        assert len(bench.keys()) == 1_000
        sizes[compression] = sum(path.stat().st_size for path in (folder / "store").glob("*.sst"))
        bench.driver_store.close()
    assert 0 < sizes["zstd"] * 2 < sizes["none"]


def test_unknown_families_are_created_and_the_batch_runs_again(tmp_path: Path):
    bench = Bench(tmp_path)
    frame = Frame([records(*TICK)])
    bench.runner.on_batch(frame, 0)
    assert (frame.attempts, bench.store.families("t")) == (2, frozenset({b"f", b"g"}))


def test_events_of_families_above_the_limit_are_dead_letters(tmp_path: Path):
    bench = Bench(tmp_path, max_created=1)
    bench.runner.on_batch(Frame([records(*TICK)]), 0)
    assert bench.store.families("t") == frozenset({b"f"})
    assert len(bench.published[0][0]) == 2


def test_replay_writes_the_same_cells(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.runner.on_batch(Frame([records(*TICK)]), 0)
    first = list(bench.store.scan("t", Scan(versions=10)))
    bench.runner.on_batch(Frame([records(*TICK)]), 0)
    assert list(bench.store.scan("t", Scan(versions=10))) == first


def test_dead_letters_that_cannot_be_published_block_the_batch(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.publish_errors = [StoreUnavailableError("disk full")]
    bench.runner.on_batch(Frame([records(("", "1:2"))]), 0)
    assert bench.observer.reported.index("store_unavailable") < bench.observer.reported.index(("durable", 0, 5_000, 0))
    assert len(bench.published) == 1


@pytest.mark.parametrize("limit", ["budget", "size"])
def test_batch_above_a_limit_of_failures_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str):
    """It runs again after the pipeline was corrected, and may then have other events."""
    bench = Bench(tmp_path, allowed_failures=0.2 if limit == "budget" else 1)
    if limit == "size":
        monkeypatch.setattr(buffer, "MAX_DEAD_LETTER_BYTES", 1_000)
    failing = [[*records(*TICK), *records(("", "1:2"), partition=number)] for number in range(4)]
    with pytest.raises((ErrorBudgetSpentError, buffer.DeadLettersTooLargeError)):
        bench.runner.on_batch(Frame(failing), 0)
    assert (bench.result_counts, bench.keys(), bench.published) == ([], [], [])
    assert not list((tmp_path / "incoming").glob("*/*"))


def by_place(dead_letters: Sequence[bytes]) -> list[tuple[int, int, int | None]]:
    """Partition, first offset and end of each dead letter, the end if it is by place; without one it has its bytes."""
    letters = [DeadLetter.from_json(line) for line in dead_letters]
    return sorted(
        (each.record.partition, each.record.offset, each.by_place.end if each.by_place else None) for each in letters
    )


FAILING = [records(*[("", "1:2")] * 6, partition=0), records(*TICK, ("", "1:2"), partition=1)]
"""Six records of a partition, and the third one of another, have no row key."""


@pytest.mark.parametrize(
    ("limit", "expected", "attempts"),
    [
        (4_000, [(0, offset, None) for offset in range(6)] + [(1, 2, None)], 2),
        (2_000, [(0, 0, None), (0, 1, None), (0, 2, 6), (1, 2, None)], 1),
        (0, [(0, 0, 6), (1, 2, 3)], 1),
    ],
    ids=["all fit", "some fit", "none fits"],
)
@pytest.mark.parametrize("max_tasks", [2, None])
def test_dead_letters_beyond_the_limit_are_by_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, expected, attempts: int, max_tasks: int | None
):
    """A half of the limit is that of a task; both run again if that is too small for dead letters that all fit."""
    monkeypatch.setattr(buffer, "MAX_DEAD_LETTER_BYTES", limit)
    bench = Bench(tmp_path, max_tasks=max_tasks)
    runner = bench.runner_of(replace(bench.plan, read_again_by=OffsetUnit.RECORDS))
    runner.on_batch(Frame([records(*TICK)]), 2)  # creates the families, and sets up the log of the tasks
    frame = Frame(FAILING)
    ran: list[int] = []
    frame.before = ran.append
    with capture_logs() as logged:
        runner.on_batch(frame, 3)
    published, batch_id = bench.published[-1]
    assert (batch_id, by_place(published), bench.keys()) == (3, expected, [b"a", b"b"])
    warnings = [each["records"] for each in logged if each["event"] == batch_runner.WITHOUT_BYTES]
    assert (len(ran), len(warnings)) == (attempts, attempts == 1)


def test_failed_spark_job_is_retried_three_times(tmp_path: Path):
    def fail(attempt: int) -> None:
        if attempt <= 3:
            raise Py4JNetworkError("worker gone")

    bench = Bench(tmp_path)
    with bench.driver_store.held() as store:
        store.ensure_table(TableSpec("t"))
    frame = Frame([records(*TICK)], before=fail)
    bench.runner.on_batch(frame, 0)
    assert bench.observer.reported.count("spark_job_failed") == 3


def test_job_that_fails_a_fourth_time_leaves_the_batch_unacknowledged(tmp_path: Path):
    def fail(attempt: int) -> None:
        raise Py4JNetworkError("worker gone")

    bench = Bench(tmp_path)
    with pytest.raises(BatchFailedError, match="batch 0 is not acknowledged: Py4JNetworkError"):
        bench.runner.on_batch(Frame([records(*TICK)], before=fail), 0)
    assert bench.published == []
    assert isinstance(bench.runner.failure, Py4JNetworkError)


@pytest.mark.parametrize("text", ["worker gone", "KafkaIllegalStateException: Some data may have been lost"])
def test_exception_for_spark_has_no_text_of_a_failed_job(tmp_path: Path, text: str):
    """Spark would search it with a pattern that overflows its stack, and the query would end without a reason."""

    def fail(attempt: int) -> None:
        raise Py4JNetworkError(f"py4j.protocol.Py4JJavaError: An error occurred while calling o1.collect\n{text}")

    bench = Bench(tmp_path)
    with pytest.raises(IngestError) as raised:
        bench.runner.on_batch(Frame([records(*TICK)], before=fail), 0)
    text_for_spark = "".join(traceback.format_exception(raised.value))
    assert "Py4JJavaError" not in text_for_spark
    assert len(text_for_spark) < 3_000


def test_exception_for_spark_contains_no_secret(tmp_path: Path):
    bench = Bench(tmp_path, hide=lambda text: text.replace("hunter2", "***"))
    bench.publish_errors = [StoppedError("refused for hunter2")]
    with pytest.raises(BatchFailedError, match=r"batch 0 is not acknowledged: refused for \*\*\*"):
        bench.runner.on_batch(Frame([records(("", "1:2"))]), 0)
    assert str(bench.runner.failure) == "refused for hunter2"


def test_stop_while_blocked_leaves_the_batch_unacknowledged(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.publish_errors = [StoreUnavailableError("disk full")] * 9
    bench.observer.on_blocked = bench.runner.stop
    with pytest.raises(AbandonedError, match="stops while blocked: disk full"):
        bench.runner.on_batch(Frame([records(("", "1:2"))]), 0)
    assert bench.published == []
    assert isinstance(bench.runner.failure, AbandonedError)


def test_batch_waits_for_the_maximum_rate_without_a_part_of_it_running(tmp_path: Path):
    bench = Bench(tmp_path)
    now = [100.0]
    waits: list[float] = []

    class Stopping(RateLimiter):
        """Stops the runner when a batch has to wait."""

        def delay_s(self) -> float:
            waits.append(super().delay_s())
            if waits[-1]:
                assert runner.idle.is_set()
                runner.stop()
            return waits[-1]

    bench.limiter = Stopping(2 / 3600, lambda: now[0])
    runner = bench.runner_of(bench.plan)
    runner.on_batch(Frame([records(*TICK)]), 0)
    again = Frame([records(*TICK)])
    with pytest.raises(AbandonedError, match="batch 1 runs again"):
        runner.on_batch(again, 1)
    assert (waits, again.attempts) == ([0.0, 3600.0], 0)
    assert bench.batch_times.known(1) is None
    # the next start of the query observes the rate of the last one
    now[0] += 3600.0
    runner = runner.restarted()
    runner.on_batch(again, 1)
    assert (waits[2:], again.attempts) == ([0.0], 1)


def test_busy_answers_in_receipts_delay_the_next_batch(tmp_path: Path):
    now = [100.0]
    bench = Bench(tmp_path)
    bench.back_pressure = BackPressure(lambda: now[0])
    bench.clock = lambda: now[0]
    runner = bench.runner_of(bench.plan)

    class Busy(Frame):
        """The first attempt runs for four seconds and is blocked."""

        def collect(self) -> Iterable[Row]:
            rows = super().collect()
            now[0] += 4.0
            if self.attempts > 1:
                return rows
            receipt = Receipt(TaskStatus.BLOCKED, "store_busy", "RegionTooBusyException", counts=Counts(busy=3))
            return [Row(*pair) for pair in receipt.rows()]

    runner.on_batch(Busy([records(*TICK)]), 0)
    assert "store_busy" in bench.observer.reported
    assert 0.5 <= bench.back_pressure.ratio() < 1.0
    assert runner.delay_s() > 0.0
    # without busy answers the pipeline recovers
    now[0] += 1_000.0
    runner.on_batch(Frame([records(*TICK)]), 1)
    assert (bench.back_pressure.ratio(), runner.delay_s()) == (1.0, 0.0)


def test_condition_of_a_tap_counts_each_event_once(tmp_path: Path):
    """Not in attempts of which nothing is acknowledged; the events of these are shown."""
    bench, taps = Bench(tmp_path), Taps()
    bench.taps = taps
    tap = taps.open("p", Tap("", where="%{key} == 'a'"))

    class Blocked(Frame):
        """The first attempt compares its events, and is blocked."""

        def collect(self) -> Iterable[Row]:
            rows = super().collect()
            if self.attempts > 1:
                return rows
            compared = {tap: TapCounts(2, 1)}
            receipt = Receipt(TaskStatus.BLOCKED, "store_unavailable", tapped=[(tap, b"{}")], tap_counts=compared)
            return [Row(*pair) for pair in receipt.rows()]

    bench.runner_of(bench.plan).on_batch(Blocked([records(*TICK)]), 0)
    taken = taps.take(tap)
    assert taken.counts is not None
    assert (taken.counts.compared, taken.counts.met, len(taken.lines)) == (2, 1, 2)


def test_refused_batches_never_start(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.runner.refuse_batches()
    frame = Frame([records(*TICK)])
    with pytest.raises(AbandonedError, match="runs again after a restart"):
        bench.runner.on_batch(frame, 4)
    assert (frame.attempts, bench.runner.idle.is_set()) == (0, True)


def test_batch_is_retried_during_a_long_outage(tmp_path: Path):
    attempts = count(1)

    class Outage(Frame):
        def run(self, number: int, records: list[Record]) -> Iterable[pa.RecordBatch]:
            if next(attempts) <= 1_100:
                return list(rows_of(Receipt(status=TaskStatus.BLOCKED, code="store_unavailable")))
            return super().run(number, records)

    bench = Bench(tmp_path)
    bench.runner.on_batch(Outage([records(*TICK)]), 0)
    assert bench.observer.reported.count("store_unavailable") == 1_100
    assert bench.keys() == [b"a", b"b"]


def test_partitions_are_coalesced_to_the_maximum_number_of_tasks(tmp_path: Path):
    for max_tasks, tasks in ((None, 4), (2, 2)):
        bench = Bench(tmp_path / str(max_tasks), max_tasks=max_tasks)
        parts = [records((name, "1:2"), partition=number) for number, name in enumerate("abcd")]
        bench.runner.on_batch(Frame(parts), 0)
        assert bench.result_counts == [tasks]
        assert bench.keys() == [b"a", b"b", b"c", b"d"]


def test_time_of_batches_is_added_over_the_starts_of_a_query(tmp_path: Path):
    now = [100.0]
    bench = Bench(tmp_path, clock=lambda: now[0])

    def take_three_seconds(_attempt: int) -> None:
        now[0] += 3

    bench.runner.on_batch(Frame([records(("a", "1:2"))], before=take_three_seconds), 0)
    now[0] += 50
    restarted = bench.runner.restarted()
    assert restarted.busy_s() == 6  # the first attempt finds that families are missing
    restarted.on_batch(Frame([records(("b", "1:2"))], before=take_three_seconds), 1)
    assert restarted.busy_s() == 9


def test_worker_keeps_the_plans_of_a_pipeline_and_its_replay(tmp_path: Path):
    bench = Bench(tmp_path)
    replay = bench.runner_of(replace(bench.plan, is_replay=True), "p+replay")
    bench.runner.run_batch(Frame([records(("a", "1:2"))]), 0, 5_000, "0", lambda: None)
    live = worker._live["p"]
    replay.run_batch(Frame([records(("b", "1:2"))]), 0, 5_000, "0", lambda: None)
    assert worker._live["p"] is live
    assert worker._live["p+replay"][0] != live[0]
    assert bench.keys() == [b"a", b"b"]


@dataclass
class SpecFrame(Frame):
    """Collects the splits of each attempt's spec."""

    found: list[object] = field(default_factory=list)

    def run(self, number: int, records: list[Record]) -> Iterable[pa.RecordBatch]:
        self.found.append(self.function.args[3].splits)
        return super().run(number, records)


def test_tasks_of_every_attempt_get_the_splits(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.needs_splits = True
    unavailable = [StoreUnavailableError("the disk does not answer")]

    def splits(batch_id: int) -> list[RecordPlace]:
        if unavailable:
            raise unavailable.pop()
        return [("ticks", 1, batch_id), ("ticks", 0, 0)]

    bench.splits = splits
    frame = SpecFrame([records(*TICK), []])
    bench.runner_of(bench.plan).on_batch(frame, 7)
    # the first attempt finds that families are missing
    assert frame.found == [(("ticks", 0, 0), ("ticks", 1, 7))] * 4
    assert bench.observer.reported[0] == "store_unavailable"
    assert bench.keys() == [b"a", b"b"]


def test_splits_are_computed_only_if_a_destination_needs_them(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.splits = lambda _batch_id: pytest.fail("not needed")
    frame = SpecFrame([records(*TICK)])
    bench.runner_of(bench.plan).on_batch(frame, 0)
    assert set(frame.found) == {()}


def test_source_without_splits_is_refused_before_the_tasks(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.needs_splits = True
    frame = SpecFrame([records(*TICK)])
    with pytest.raises(ConfigError, match='the source of pipeline "p" cannot compute the splits'):
        bench.runner_of(bench.plan).on_batch(frame, 0)
    assert frame.attempts == 0


def test_too_many_splits_are_refused_before_the_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.pipeline.splits.MAX_SPLITS", 1)
    bench = Bench(tmp_path)
    bench.needs_splits = True
    bench.splits = lambda _batch_id: [("ticks", 0, 0), ("ticks", 1, 0)]
    frame = SpecFrame([records(*TICK)])
    with pytest.raises(TooManySplitsError):
        bench.runner_of(bench.plan).on_batch(frame, 0)
    assert frame.attempts == 0


def test_batch_that_writes_nothing_leaves_no_folder(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.runner.on_batch(Frame([records(("", "1:2"))]), 0)
    assert [path for path in tmp_path.rglob("*") if "incoming" in path.parts] == []


def test_error_names_the_event_that_stops_the_pipeline(tmp_path: Path):
    bench = Bench(tmp_path, on_error=OnError.STOP)
    with pytest.raises(StoppedError, match="refused event ticks/0/0") as stopped:
        bench.runner.on_batch(Frame([records(("", "1:2"))]), 0)
    assert stopped.value.code == "stopped_by_event"


def with_families(families: Iterable[int]) -> list[list[Record]]:
    """Four partitions of events, each of which needs a family of its own."""
    partitions: list[list[Record]] = [[], [], [], []]
    for number in families:
        headers = ((f"2hb_made{number:03d}:q", b"1"),)
        partitions[number % 4].append(Record("t", number % 4, number, b"r%03d" % number, b"1:2", 1_000, headers))
    return partitions


@pytest.mark.parametrize("kind", ["memory", "rocksdb"])
def test_families_of_one_batch_are_created_up_to_the_limit(tmp_path: Path, kind: str):
    """The limit counts all existing families, so it holds over a restart; each event also needs f and g."""
    store = MemoryStore() if kind == "memory" else RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
    families = {b"f", b"g", *(b"made%03d" % number for number in range(18))}
    bench = Bench(tmp_path, store=store)
    frame = Frame(with_families(range(500)))
    bench.runner.on_batch(frame, 0)
    assert frame.attempts == 2
    assert bench.store.families("t") == families
    assert bench.keys() == [b"r%03d" % number for number in range(18)]
    ((dead_letters, _),) = bench.published
    assert Counter(DeadLetter.from_json(line).code for line in dead_letters) == {"unknown_family": 482}
    bench.driver_store.close()

    restarted = Bench(tmp_path, store=store)
    restarted.runner.on_batch(Frame(with_families([*range(18), *range(600, 650)])), 1)
    assert restarted.store.families("t") == families
    assert restarted.observer.reported[-1] == ("durable", 1, 5_002, 18)
    assert [len(dead_letters) for dead_letters, _ in restarted.published] == [50]
    restarted.driver_store.close()


def test_unavailable_driver_store_blocks_the_batch_until_it_is_available(tmp_path: Path):
    class Unavailable(MemoryStore):
        tries = 3

        def open(self) -> None:
            if self.tries:
                self.tries -= 1
                raise StoreUnavailableError("connection refused")
            super().open()

    bench = Bench(tmp_path, store=Unavailable())
    bench.runner.on_batch(Frame([records(*TICK)]), 0)
    assert bench.observer.reported[:3] == ["store_unavailable"] * 3
    assert bench.keys() == [b"a", b"b"]


def test_plugin_missing_on_a_worker_stops_the_pipeline_with_a_hint(tmp_path):
    bench = Bench(tmp_path)
    missing = part(Split, separator=":", index=0, attribute="2hb_f:ts")
    missing = replace(missing, path="no_such_plugin:Split", provider="splitter 1.0")
    bench.runner = bench.runner_of(replace(bench.plan, decorators=(missing,)))
    frame = Frame([records(*TICK), records(*TICK, partition=1)])
    with pytest.raises(StoppedError) as caught:
        bench.runner.on_batch(frame, 0)
    assert (caught.value.code, frame.attempts) == ("plugin_missing", 1)
    assert '"split" is from splitter 1.0 (no_such_plugin:Split), but worker ' in caught.value.message
    assert "install it, with its dependencies, for " in caught.value.message


def test_missing_reference_file_blocks_the_batch_until_it_exists(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("id,team\n1,red\n")
    bench = Bench(tmp_path)
    lookup = part(Lookup, path=str(table), columns={"team": "2hb_f:team"})
    table.rename(tmp_path / "away.csv")
    bench.observer.on_blocked = lambda: (tmp_path / "away.csv").rename(table)
    bench.runner = bench.runner_of(replace(bench.plan, decorators=(lookup, *bench.plan.decorators)))
    bench.runner.on_batch(Frame([records(*TICK)]), 0)
    assert bench.observer.reported[:2] == [("attempted", 0), "reference_file"]
    assert bench.observer.reported[-1][0] == "durable"


class Spark:
    """Stands for a streaming DataFrame and its writer: collects the callbacks of `foreachBatch`."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Frame, int], None]] = []

    def __getattr__(self, name: str) -> Callable[..., "Spark"]:
        return lambda *_args, **_options: self

    @property
    def writeStream(self) -> "Spark":  # noqa: N802 - Spark's name
        return self

    def foreachBatch(self, callback: Callable[[Frame, int], None]) -> "Spark":  # noqa: N802 - Spark's name
        self.callbacks.append(callback)
        return self

    def exception(self) -> None:
        return None


def started(bench: Bench) -> tuple[Spark, PipelineQuery]:
    spark, query = Spark(), PipelineQuery("p", Checkpoint(bench.folder), bench.runner, TimedCaller(), TimedCaller())
    query.start(spark, Trigger())
    return spark, query


def test_batch_that_outlives_its_query_does_not_change_the_state_of_the_next(tmp_path: Path):
    """Its cancelled tasks are not retried."""
    started_tasks, may_end = threading.Event(), threading.Event()
    bench = Bench(tmp_path)
    spark, query = started(bench)
    raised: list[Exception] = []
    seen: list[tuple[bool, bool]] = []

    def cancelled(_attempt: int) -> None:
        started_tasks.set()
        may_end.wait(10)
        raise Py4JNetworkError("cancelled")

    def outlive(_attempt: int) -> None:
        folder = Path(Prepared.unpacked(second.function.args[3].prepared["logs"]).folder)
        folder.mkdir(parents=True)
        may_end.set()
        thread.join(10)
        seen.append((query.is_idle(), folder.exists()))

    def run() -> None:
        try:
            spark.callbacks[0](abandoned, 0)
        except IngestError as error:
            raised.append(error)

    abandoned = Frame([records(*TICK)], before=cancelled)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started_tasks.wait(10)
    query.stop()
    query.start(spark, Trigger())
    second = Frame([records(*TICK)], before=outlive)
    spark.callbacks[1](second, 0)
    assert [type(error) for error in raised] == [AbandonedError]
    assert (abandoned.attempts, set(seen)) == (1, {(False, True)})
    assert bench.observer.reported.count(("durable", 0, 5_000, 2)) == 1
    assert "spark_job_failed" not in bench.observer.reported
    assert "Spark reports no reason" in str(query.failure())


@pytest.mark.parametrize("how", ["interrupted", "restarted"])
@pytest.mark.parametrize("stage", ["tasks", "families", "commit", "publication"])
def test_batch_of_an_earlier_start_is_abandoned_and_removes_no_files_of_the_next(tmp_path: Path, stage: str, how: str):
    bench = Bench(tmp_path)
    spark, query = started(bench)
    spark.callbacks[0](Frame([records(*TICK)]), 0)
    other = tmp_path / "incoming" / "next" / "0.puts"

    def end(*_arguments: object) -> None:
        if how == "interrupted":
            query.stop()
        else:
            query.start(spark, Trigger())
        other.parent.mkdir(parents=True)
        other.touch()

    def ended_in(call: Callable[..., object]) -> Callable[..., object]:
        return lambda *arguments: (end(), call(*arguments))[1]

    frame = Frame(with_families([7]) if stage == "families" else [records(("c", "5:6"))])
    match stage:
        case "tasks":
            frame.before = end
        case "families":
            bench.store.ensure_table = ended_in(bench.store.ensure_table)
        case "commit":
            bench.store.apply = ended_in(bench.store.apply)
        case _:
            bench.before_publish = end
    reported = len(bench.observer.reported)
    with pytest.raises(AbandonedError):
        spark.callbacks[0](frame, 1)
    assert other.exists()
    assert frame.attempts == 1
    expected = {"tasks": [], "publication": [("attempted", 1), "running"]}
    assert bench.observer.reported[reported:] == expected.get(stage, [("attempted", 1)])
    # the batch before it is the last one whose commit it waits for
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").touch()
    assert query.drained()


def test_late_start_of_a_query_still_refuses_batches(tmp_path: Path):
    """A start of a query may hang while the service stops."""
    bench = Bench(tmp_path)
    spark, query = started(bench)
    query.refuse_batches()
    query.stop()
    query.start(spark, Trigger())
    with pytest.raises(AbandonedError, match="the service stops"):
        spark.callbacks[1](Frame([records(*TICK)]), 0)
