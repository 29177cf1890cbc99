"""A replay of a rolled-back micro-batch that was interrupted: it goes on, ends, or is taken back."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from ingest.api import Capabilities, ConflictError, Put, WriteCounts
from ingest.config.model import Configuration
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.replay_batches import SkipReason
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.service.dead_letters.keep import keep
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.replay import interrupted as interrupted_module
from ingest.service.replay import range_replay
from ingest.service.replay.dead_letter_replay import DeadLetterReplay
from ingest.service.replay.interrupted import InterruptedBatch
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.range_replay import RangeReplay
from ingest.service.replay.rolled_back_batches import UnfinishedBatch, rolled_back_from
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.service.replay.update_replay import UpdateReplay
from ingest.service.state_folders import batch_log_folder, replay_folder, update_replay_file
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.batch_log import BatchLog
from sinks.owning.committed_position import CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.rewriting.rolled_back import add_rolled_back, rolled_back
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.intervals import Interval
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from sinks.writing.messages import Prepared
from sinks.writing.sending import DirectSender
from tests.support.place import borrowed, own_process, replay_options
from tests.support.update_pipeline import BATCH_MS, CATALOG, Pipeline, no_clock
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

PART = ("t", 0)
BATCH = ReplayBatch(BatchKind.WHOLE, 0, BATCH_MS, {PART: (0, 10)})
WANTED = UnfinishedBatch(BATCH, frozenset({"counts"}))
REQUEST = replay_options(1_000, 2_000)


class KilledError(Exception):
    """The process ends here."""


class Cluster:
    """A topic with the records of the micro-batch, or without them."""

    begin, id_, is_there = 0, "a", True

    def __init__(self, _connection: object) -> None:
        """The cluster is not reached."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is open."""

    def existing(self, topics: list[str]) -> set[str]:
        return set(topics) if self.is_there else set()

    def topic_ids(self, topics: list[str]) -> dict[str, str]:
        return dict.fromkeys(topics, self.id_)

    def earliest(self, _topics: list[str]) -> dict[tuple[str, int], int]:
        return {PART: self.begin}

    def ends(self, _topics: list[str]) -> dict[tuple[str, int], int]:
        return {PART: 10}


class Replays:
    """Replays of the first micro-batch of a pipeline, which was rolled back."""

    def __init__(self, folder: Path) -> None:
        self.pipeline = Pipeline(folder)
        self.configuration = self.pipeline.load()
        with owned_store(self.configuration.stores["s"], CATALOG) as store:
            add_rolled_back(store, "counts", [Interval(BATCH_MS, BATCH_MS)])

    @property
    def is_unfinished(self) -> bool:
        return update_replay_file(self.configuration, "p").exists()

    def change(self) -> None:
        """The operator changes the configuration."""
        self.configuration = self.pipeline.load({"trim": {}})

    @contextmanager
    def opened(self) -> Iterator[tuple[UpdateReplay, Callable[[int], None]]]:
        """The replay, and what writes the micro-batch."""
        plan = plan_of(self.configuration, self.configuration.pipelines["p"], CATALOG)
        with ExitStack() as opened:
            stores = driver_stores(self.configuration, [plan], opened)
            tables = owned_tables(self.configuration, plan, stores)

            def write(time_ms: int) -> None:
                with stores["s"].held() as store:
                    sink = sink_of(
                        [DirectSender(store)],
                        "s",
                        capabilities=Capabilities(written_by_driver=False, creates_families=True, creates_tables=True),
                        buffer_bytes=64,
                        deletes=False,
                        updates={"counts": Merging(Sum(Sum.settings_class()()))},
                    )
                    declared = {"counts": RowFormat.recorded(store, "counts")}
                    sink.begin(spec_of(time_ms), Prepared(declared=declared).packed(), WriteCounts())
                    sink.split_start(0)
                    sink.add("counts", Put(b"row", {b"c:n": b"7"}, time_ms))
                    sink.split_end()
                    sink.flush()

            yield (
                UpdateReplay(
                    self.configuration,
                    self.configuration.pipelines["p"],
                    borrowed(self.configuration, self.configuration.pipelines["p"], opened),
                    tables,
                ),
                write,
            )

    def run(self, *, killed: bool = False) -> None:
        """Replay the micro-batch; killed after its committed positions were moved, before that is noted."""
        with self.opened() as (updates, write):
            updates.run(WANTED.to_plain(), write)
            if not killed:
                updates.note_replayed(WANTED)
                updates.finish()

    def state(self) -> ReplayState:
        folder = replay_folder(self.configuration, "p")
        return ReplayState(folder, REQUEST, self.configuration.pipelines["p"].fingerprint)

    def settle(self) -> None:
        """As the next replay of the range does."""
        with self.opened() as (updates, _):
            updates.settle_batch(InterruptedBatch(self.state(), self.configuration.pipelines["p"].source.settings))

    def taken_from(self) -> tuple[Interval, ...]:
        with owned_store(self.configuration.stores["s"], CATALOG) as store:
            return rolled_back(store, "counts")

    def times(self) -> list[int]:
        return [time_ms for time_ms, _ in self.pipeline.updates()]


@pytest.fixture
def replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replays:
    monkeypatch.setattr(interrupted_module, "KafkaAdmin", Cluster)
    found = Replays(tmp_path)
    found.state().start([BATCH], {"t": "a"}, ReplayTotals())
    return found


@pytest.fixture
def killed(replays: Replays, monkeypatch: pytest.MonkeyPatch) -> Replays:
    """The replay was killed after its rows, before its committed positions."""

    def move(_tables: OwnedTables, _committed: CommittedPosition) -> None:
        raise KilledError

    with monkeypatch.context() as kill:
        kill.setattr(OwnedTables, "move", move)
        with pytest.raises(KilledError):
            replays.run()
    assert (len(replays.times()), replays.is_unfinished) == (1, True)
    return replays


def test_batch_that_can_run_as_it_was_writes_the_same_rows_again(killed: Replays) -> None:
    before = killed.times()
    killed.settle()
    assert killed.is_unfinished
    killed.run()
    assert (killed.times(), killed.is_unfinished) == (before, False)
    assert killed.taken_from() == ()


def changed(replays: Replays, _monkeypatch: pytest.MonkeyPatch) -> None:
    replays.change()


def of_another_range(replays: Replays, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command, or the same one after its plan was removed as a hint says."""
    replays.state().finish()


def deleted(attributes: Mapping[str, Any]) -> Callable[[Replays, pytest.MonkeyPatch], None]:
    def act(_replays: Replays, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in attributes.items():
            monkeypatch.setattr(Cluster, name, value)

    return act


CANNOT_RUN = [
    pytest.param(changed, id="changed"),
    pytest.param(of_another_range, id="another range"),
    pytest.param(deleted({"begin": 3}), id="retention"),
    pytest.param(deleted({"id_": "b"}), id="recreated"),
    pytest.param(deleted({"is_there": False}), id="deleted"),
]


@pytest.mark.parametrize("why", CANNOT_RUN)
def test_batch_that_cannot_run_as_it_was_is_taken_back(
    killed: Replays, monkeypatch: pytest.MonkeyPatch, why: Callable[[Replays, pytest.MonkeyPatch], None]
) -> None:
    (time_ms,) = killed.times()
    why(killed, monkeypatch)
    killed.settle()
    assert (killed.times(), killed.is_unfinished) == ([], False)
    assert killed.taken_from() == (Interval(BATCH_MS, BATCH_MS), Interval(time_ms, time_ms))
    killed.run()
    (again_ms,) = killed.times()
    assert again_ms > time_ms, "the delete markers of the earlier time would hide it"
    assert killed.taken_from() == (Interval(time_ms, time_ms),)


def test_dead_letter_of_a_batch_that_was_taken_back_waits_for_its_replay(killed: Replays) -> None:
    (time_ms,) = killed.times()
    killed.change()
    killed.settle()
    pipeline = killed.configuration.pipelines["p"]
    letter = replace(killed.pipeline.dead_letter("counts"), batch_time_ms=time_ms)

    def reason() -> SkipReason | None:
        with DeadLetterReplay(own_process(killed.configuration, CATALOG), pipeline, check_clock=no_clock) as replay:
            return replay.skip_reason(Entry("0", letter))

    assert reason() is SkipReason.ROLLED_BACK
    killed.run()
    assert reason() is SkipReason.RAN_AGAIN


@pytest.mark.parametrize("why", [*CANNOT_RUN, pytest.param(lambda *_: None, id="as it was")])
def test_batch_whose_committed_positions_are_at_its_time_is_complete(
    replays: Replays, monkeypatch: pytest.MonkeyPatch, why: Callable[[Replays, pytest.MonkeyPatch], None]
) -> None:
    replays.run(killed=True)
    before = replays.times()
    has_plan = why is not of_another_range
    why(replays, monkeypatch)
    replays.settle()
    assert (replays.times(), replays.is_unfinished, replays.taken_from()) == (before, False, ())
    with closing(BatchLog(batch_log_folder(replays.configuration, "p"))) as log:
        assert [(batch.time_ms, batch.updated) for batch in log.batches()][-1] == (before[0], ("counts",))
    stored = replays.state().load()
    assert (None if stored is None else stored.totals.batches) == (1 if has_plan else None)


@pytest.mark.parametrize("method", ["roll_forward", "remove_uncommitted"])
def test_taking_back_goes_on_after_a_kill(killed: Replays, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """The committed position of a table with a change feed may be past the time by then."""
    (time_ms,) = killed.times()
    true = getattr(OwnedTables, method)

    def act(tables: OwnedTables, *arguments: object) -> None:
        true(tables, *arguments)
        tables.move(replace(tables.newest() or CommittedPosition(0, {}), time_ms=time_ms))
        raise KilledError

    with monkeypatch.context() as kill:
        kill.setattr(OwnedTables, method, act)
        kill.setattr(Cluster, "begin", 3)
        with pytest.raises(KilledError):
            killed.settle()
    assert killed.is_unfinished
    killed.settle()
    assert (killed.times(), killed.is_unfinished) == ([], False)
    assert Interval(BATCH_MS, BATCH_MS) in killed.taken_from()


@pytest.mark.parametrize("is_logged", [True, False])
def test_dead_letters_of_records_that_are_gone_run_after_the_rest_of_their_batch(
    replays: Replays, is_logged: bool
) -> None:
    rest = WANTED._replace(batch=ReplayBatch(BatchKind.REST, 1_000_000_000, BATCH_MS, {PART: (3, 10)}))
    with replays.opened() as (updates, write):
        updates.run(rest.to_plain(), write)
        updates.note_replayed(rest)
        updates.finish()
    assert replays.taken_from() == ()
    if is_logged:
        replays.pipeline.log(BATCH_MS, "counts")  # the log has removed that day
    else:
        shutil.rmtree(batch_log_folder(replays.configuration, "p"))
    pipeline = replays.configuration.pipelines["p"]
    with DeadLetterReplay(
        own_process(replays.configuration, CATALOG), pipeline, recount=not is_logged, check_clock=no_clock
    ) as replay:
        gone, ran = (Entry("0", replays.pipeline.dead_letter("counts", offset)) for offset in (2, 3))
        assert (replay.skip_reason(gone), replay.skip_reason(ran)) == (None, SkipReason.COUNTED)


def test_dead_letters_are_not_kept_while_a_replay_may_run_them_again(killed: Replays) -> None:
    pipeline = killed.configuration.pipelines["p"]
    queue = dead_letter_queue(killed.configuration, pipeline)
    queue.publish([killed.pipeline.dead_letter("counts").to_json()], 0, BATCH_MS)
    chosen = list(queue.entries())
    with pytest.raises(ConflictError, match="may have to run these") as caught:
        keep(killed.configuration, pipeline, queue, chosen, lambda: 1)
    assert caught.value.code == "replay_unfinished"
    killed.settle()
    killed.run()
    assert keep(killed.configuration, pipeline, queue, chosen, lambda: 1) == 1


def range_replay_of(configuration: Configuration) -> RangeReplay:
    return RangeReplay(own_process(configuration, CATALOG), configuration.pipelines["p"], REQUEST)


def test_range_whose_last_batch_is_complete_ends_without_running_it(
    replays: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_replay, "KafkaAdmin", Cluster)
    replays.run(killed=True)
    replays.change()
    before = replays.times()
    *_, last = range_replay_of(replays.configuration).steps()
    assert (last.done, replays.times(), replays.is_unfinished) == (1, before, False)
    assert replays.state().load() is None


def test_batch_that_another_replay_has_counted_since_does_not_run(
    replays: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one with another range, which is run before this one resumes."""
    monkeypatch.setattr(range_replay, "KafkaAdmin", Cluster)
    replays.run()
    before = replays.times()
    list(range_replay_of(replays.configuration).steps())
    assert (replays.times(), replays.state().load()) == (before, None)


def test_replay_that_is_refused_has_settled_the_interrupted_one(
    killed: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a recreated topic, whose plan can never run: the pipeline can start."""
    monkeypatch.setattr(range_replay, "KafkaAdmin", Cluster)
    monkeypatch.setattr(Cluster, "id_", "b")
    with pytest.raises(Exception, match="recreated since this replay was planned"):
        list(range_replay_of(killed.configuration).steps())
    assert (killed.times(), killed.is_unfinished) == ([], False)
    plan = plan_of(killed.configuration, killed.configuration.pipelines["p"], CATALOG)
    with closing(BatchLog(batch_log_folder(killed.configuration, "p"))) as log:
        found = rolled_back_from(killed.configuration, plan, CATALOG, list(log.batches()))
    assert found == {"counts": frozenset({BATCH_MS})}
