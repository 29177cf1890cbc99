"""Dead letters replayed into tables with deferred updates: counted once, also after a kill."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.record.memory_records import MemoryRecords
from structlog.testing import capture_logs

from ingest.api import ConflictError, Record
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import PlaceRange
from ingest.dead_letters.queue import Entry, Mark, ReplayOutcome
from ingest.dead_letters.replay_batches import SkipReason
from ingest.kafka.codecs import Codec
from ingest.kafka.record_batches import _Batches
from ingest.kafka.settings import KafkaConnection
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.service.dead_letters import unread as unread_module
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.dead_letters.unread import TopicRecords
from ingest.service.replay.dead_letter_replay import DeadLetterReplay
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.update_replay import UpdateReplay
from ingest.service.state_folders import batch_log_folder, update_replay_file
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.owning.committed_position import CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.rewriting.counted_letters import counted_letters
from sinks.rewriting.rolled_back import add_rolled_back
from sinks.updates.intervals import Interval
from tests.support.checkpoint import acknowledge
from tests.support.place import borrowed, own_process
from tests.support.record_batches import batch_of
from tests.support.update_pipeline import BATCH_MS, CATALOG, Pipeline, no_clock


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def test_updates_get_a_new_time_and_values_the_time_of_their_batch(pipeline: Pipeline) -> None:
    assert pipeline.replay(b"2", b"3") == []
    # each record is a split of its own
    (first, _), (second, _) = updates = pipeline.updates()
    assert [value for _, value in updates] == [b"2", b"3"]
    assert first == second > BATCH_MS
    assert pipeline.values() == [(BATCH_MS - 1, b"3")]


def test_clock_that_is_ahead_of_the_cluster_is_refused_before_updates_get_a_time(pipeline: Pipeline) -> None:
    compared = []

    def ahead(connection: KafkaConnection) -> None:
        compared.append(connection.brokers)
        raise ConflictError("the clock of this machine is ahead", code="clock_ahead")

    configuration = pipeline.load()
    replay = DeadLetterReplay(own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=ahead)
    with pytest.raises(ConflictError, match="is ahead"), replay:
        pass
    assert compared == ["localhost:9092"]


def test_another_replay_has_a_later_time(pipeline: Pipeline) -> None:
    pipeline.replay(b"2")
    pipeline.replay(b"3")
    (first, one), (second, other) = pipeline.updates()
    assert (one, other) == (b"2", b"3")
    assert first < second


def test_batches_of_the_pipeline_follow_the_replay(pipeline: Pipeline) -> None:
    pipeline.replay(b"2")
    ((replayed_ms, _),) = pipeline.updates()
    configuration = pipeline.load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    with ExitStack() as opened:
        tables = owned_tables(configuration, plan, driver_stores(configuration, [plan], opened))
        tables.claim()
        committed = tables.newest()
    assert committed == CommittedPosition(replayed_ms, {"t": {"0": 10}}, after_ms=BATCH_MS)


def test_replay_that_was_killed_before_its_committed_positions_writes_the_same_rows_again(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", b"3", is_marked=False)
    before = pipeline.updates()
    pipeline.replay(b"2", b"3")
    assert pipeline.updates() == before
    pipeline.replay(b"2", b"3")  # the table has counted them
    assert pipeline.updates() == before


@pytest.mark.parametrize(("first", "counted"), [(b"2", [1, 0]), (b"many", [0, 0])])
def test_record_that_fails_when_an_interrupted_replay_runs_again_is_not_counted(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, first: bytes, counted: list[int]
) -> None:
    """As one whose value a blob store, or the topic, has no longer: the interrupted run had counted it."""

    def run(*bodies: bytes) -> None:
        configuration = pipeline.load()
        records = [Record("t", 0, offset, None, body, 5) for offset, body in enumerate(bodies)]
        with DeadLetterReplay(
            own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
        ) as replay:
            replay(records, BATCH_MS - 1, {})
            replay.marked()

    def noted() -> list[int]:
        with owned_store(pipeline.load().stores["s"], CATALOG) as store:
            known = counted_letters(store, "counts")
        return [len(known.times_of(("t", 0, offset), BATCH_MS, "counts", {"counts"})) for offset in (0, 1)]

    with monkeypatch.context() as kill:
        kill.setattr(OwnedTables, "move", killed)
        with pytest.raises(KeyboardInterrupt):
            run(b"2", b"3")
    assert noted() == [1, 1]
    run(first, b"many")
    assert noted() == counted


def killed(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_other_records_wait_for_an_interrupted_replay(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", b"3", is_marked=False)
    with pytest.raises(ConflictError, match="of other records") as caught:
        pipeline.replay(b"2")
    assert caught.value.code == "other_replay"
    with pytest.raises(ConflictError, match="with another configuration"):
        pipeline.replay(b"2", b"3", configuration=pipeline.load({"trim": {}}))


def test_replay_into_plain_tables_does_not_end_an_interrupted_one(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", is_marked=False)
    before = pipeline.updates()
    configuration = pipeline.load()
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay([Record("t", 0, 7, None, b"3", 5)], BATCH_MS - 1, {("t", 0, 7): frozenset({"values"})})
        replay.marked()
    pipeline.replay(b"2")
    assert pipeline.updates() == before


BATCH = ReplayBatch(BatchKind.WHOLE, 0, BATCH_MS, {("t", 0): (0, 10)})


@contextmanager
def updates_of(pipeline: Pipeline) -> Iterator[tuple[UpdateReplay, OwnedTables]]:
    """What replays of ranges write into the tables."""
    configuration = pipeline.load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    with ExitStack() as opened:
        tables = owned_tables(configuration, plan, driver_stores(configuration, [plan], opened))
        yield (
            UpdateReplay(
                configuration,
                configuration.pipelines["p"],
                borrowed(configuration, configuration.pipelines["p"], opened),
                tables,
            ),
            tables,
        )


def test_replay_into_another_sink_waits_for_an_interrupted_one(pipeline: Pipeline) -> None:
    """It would take its time, and write other rows at the places of its rows."""
    interrupted = UnfinishedBatch(BATCH, frozenset(), frozenset({"a"}))
    with updates_of(pipeline) as (replay, _), pytest.raises(KeyboardInterrupt):
        replay.run(interrupted.to_plain(), killed)
    for sinks in (frozenset({"b"}), None):
        other = interrupted._replace(sinks=sinks)
        with updates_of(pipeline) as (replay, _), pytest.raises(ConflictError, match="into other sinks"):
            replay.run(other.to_plain(), killed)


@pytest.mark.parametrize("is_marked", [True, False])
def test_replay_that_was_killed_after_its_committed_positions_is_settled(pipeline: Pipeline, is_marked: bool) -> None:
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.prepare()
    queue.publish(pipeline.replay(b"many"), 0, BATCH_MS)
    pipeline.replay(b"many", is_marked=False)
    if is_marked:
        (entry,) = queue.entries()
        queue.mark({entry.position: Mark(ReplayOutcome.FAILED_AGAIN, now_ms(), "not_a_number")})
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay.settle(queue)
    if is_marked:
        assert pipeline.replay(b"2", b"3") == []
    else:
        with pytest.raises(ConflictError, match="of other records"):
            pipeline.replay(b"2", b"3")


def settle(configuration: Configuration) -> None:
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay.settle(queue)


def with_letter(pipeline: Pipeline) -> Entry:
    """The dead letter of the body 2."""
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([replace(pipeline.dead_letter("counts"), batch_time_ms=BATCH_MS).to_json()], 0, BATCH_MS)
    (entry,) = queue.entries()
    return entry


def test_replay_that_was_killed_before_its_committed_positions_is_taken_back_if_the_configuration_has_changed(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former one may be what cannot run: the error budget of a wrong decorator, or a value that is too large."""

    def killed(_tables: OwnedTables, _committed: CommittedPosition) -> None:
        raise KeyboardInterrupt

    with_letter(pipeline)
    with monkeypatch.context() as kill:
        kill.setattr(OwnedTables, "move", killed)
        with pytest.raises(KeyboardInterrupt):
            pipeline.replay(b"2")
    ((time_ms, _),) = pipeline.updates()
    other = pipeline.load({"trim": {}})
    settle(other)
    assert pipeline.updates() == []
    pipeline.replay(b"2", b"3", configuration=other)
    (first_ms, two), (_, three) = pipeline.updates()
    assert (two, three) == (b"2", b"3")
    assert first_ms > time_ms


@pytest.mark.parametrize("decorators", [[], [{"trim": {}}]], ids=["as it was", "changed"])
def test_replay_that_was_killed_after_its_committed_positions_stays(
    pipeline: Pipeline, decorators: list[object]
) -> None:
    """A compaction may have merged its rows: the same rows would count again."""
    entry = with_letter(pipeline)
    pipeline.replay(b"2", is_marked=False)
    before = pipeline.updates()
    other = pipeline.load(*decorators)
    settle(other)
    assert not update_replay_file(other, "p").exists()
    with DeadLetterReplay(own_process(other, CATALOG), other.pipelines["p"], check_clock=no_clock) as replay:
        assert replay.skip_reason(entry) is SkipReason.COUNTED
    assert pipeline.updates() == before


@pytest.mark.parametrize(
    ("outcome", "has_time", "is_settled"),
    [
        (ReplayOutcome.REPLAYED, True, True),
        (ReplayOutcome.FAILED_AGAIN, False, False),
        (ReplayOutcome.KEPT, False, False),
    ],
)
def test_outcome_is_that_of_the_replay_also_if_the_clock_was_set_back(
    pipeline: Pipeline, outcome: ReplayOutcome, has_time: bool, is_settled: bool
) -> None:
    entry = with_letter(pipeline)
    pipeline.replay(b"many", is_marked=False)  # fails again
    configuration = pipeline.load()
    time_ms = json.loads(update_replay_file(configuration, "p").read_bytes())["time_ms"]
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    at_ms = now_ms() + 1_000 if outcome is ReplayOutcome.KEPT else 1
    queue.mark({entry.position: Mark(outcome, at_ms, "", {"counts": time_ms} if has_time else {})})
    settle(configuration)
    assert update_replay_file(configuration, "p").exists() is not is_settled


def test_replay_whose_dead_letters_are_gone_is_settled(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", is_marked=False)
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.prepare()
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay.settle(queue)
    pipeline.replay(b"3")
    assert [value for _, value in pipeline.updates()] == [b"2", b"3"]


@pytest.mark.parametrize("is_there", [True, False])
def test_replay_that_was_killed_is_taken_back_if_its_records_are_gone(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """Of a place in a topic that has deleted them since: neither it nor another replay could run, nor the pipeline."""
    with monkeypatch.context() as kill:
        kill.setattr(OwnedTables, "move", killed)
        with pytest.raises(KeyboardInterrupt):
            pipeline.replay(b"2")
    assert [value for _, value in pipeline.updates()] == [b"2"]
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    letter = pipeline.dead_letter("counts")
    unread = PlaceRange(1, was_read=True)
    queue.publish([replace(letter, record=letter.record._replace(value=None), by_place=unread).to_json()], 0, BATCH_MS)
    monkeypatch.setattr(TopicRecords, "begin_of", lambda _records, _record, _span: 0 if is_there else None)
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay.settle(queue)
    if is_there:
        with pytest.raises(ConflictError, match="of other records"):
            pipeline.replay(b"1", b"3")
    else:
        pipeline.replay(b"1", b"3")
        assert [value for _, value in pipeline.updates()] == [b"1", b"3"]


@pytest.mark.parametrize("begin", [None, 1], ids=["all", "the first"])
def test_replay_that_was_killed_before_its_committed_positions_ends_if_its_records_are_gone(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, begin: int | None
) -> None:
    """Its updates can be read already, so they stay, and the table knows that it has counted them."""
    content = batch_of([(None, b"2", []), (None, b"3", [])], Codec.GZIP, first=0)

    def read(_connection: object, _wanted: object) -> Iterator[Any]:
        yield from _Batches(0, TopicPartition("t", 0), MemoryRecords(content)).record_iterator

    def replaying() -> DeadLetterReplay:
        return DeadLetterReplay(own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock)

    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    letter = pipeline.dead_letter("counts")
    record, span = letter.record._replace(value=None), PlaceRange(2, was_read=True)
    queue.publish([replace(letter, record=record, by_place=span).to_json()], 0, BATCH_MS)
    monkeypatch.setattr(unread_module, "record_batches", read)
    with replaying() as replay:
        replay([record], BATCH_MS - 1, {record.place: frozenset({"counts"})}, {record.place: span})
    assert [value for _, value in pipeline.updates()] == [b"5"]
    monkeypatch.setattr(TopicRecords, "begin_of", lambda _records, _record, _span: begin)
    warned = []
    for _ in range(2):
        with replaying() as replay, capture_logs() as lines:
            replay.settle(queue)
            (entry,) = queue.entries()
            assert (entry.mark, replay.skip_reason(entry)) == (None, SkipReason.COUNTED)
        warned.append([line["records"] for line in lines])
    assert warned == [[1], []]
    pipeline.replay(b"2", b"3", b"4")  # the first two records are those of the place
    assert [value for _, value in pipeline.updates()] == [b"5", b"4"]


def test_replay_of_dead_letters_of_which_some_are_gone_ends(pipeline: Pipeline) -> None:
    """As if a topic had deleted one of them: the same records cannot run again."""
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([pipeline.dead_letter("counts").to_json()], 0, BATCH_MS)
    pipeline.replay(b"2", b"3", is_marked=False)
    replay = DeadLetterReplay(own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock)
    with replay, capture_logs() as lines:
        replay.settle(queue)
    assert [line["records"] for line in lines] == [2]
    pipeline.replay(b"4")
    assert [value for _, value in pipeline.updates()] == [b"2", b"3", b"4"]


def test_replay_whose_large_value_is_gone_ends(pipeline: Pipeline) -> None:
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    letter = pipeline.dead_letter("counts").with_blob(DeadLetterBlob("no_table", "0" * 64, 1))
    queue.publish([letter.to_json()], 0, BATCH_MS)
    pipeline.replay(b"2", is_marked=False)
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        replay.settle(queue)
    pipeline.replay(b"3")
    assert [value for _, value in pipeline.updates()] == [b"2", b"3"]


def test_replay_under_a_new_checkpoint_waits_for_its_first_batch(pipeline: Pipeline) -> None:
    shutil.rmtree(pipeline.checkpoint)
    with pytest.raises(ConflictError, match="not complete"):
        pipeline.replay(b"2")


def test_value_that_fails_again_is_a_dead_letter_of_its_sink(pipeline: Pipeline) -> None:
    dead_letters = [json.loads(line) for line in pipeline.replay(b"many", b"3")]
    assert [(one["component"], one["code"]) for one in dead_letters] == [("counts", "not_a_number")]
    assert [value for _, value in pipeline.updates()] == [b"3"]


@pytest.mark.parametrize("lost", ["commits", "offsets", "times"])
def test_replay_waits_until_the_last_batch_is_complete(pipeline: Pipeline, lost: str) -> None:
    acknowledge(pipeline.checkpoint, 1, {"t": {0: 20}})
    BatchTimes(pipeline.checkpoint / "times", lambda: 2_000).of(1)
    for name in {"commits", lost}:
        (pipeline.checkpoint / name / "1").unlink()
    with pytest.raises(ConflictError, match="not complete") as caught:
        pipeline.replay(b"2")
    assert caught.value.code == "batch_incomplete"
    assert pipeline.updates() == []


def test_replay_is_refused_while_the_pipeline_runs(pipeline: Pipeline) -> None:
    running = Checkpoint(pipeline.checkpoint)
    running.lock()
    try:
        with pytest.raises(ConflictError) as caught:
            pipeline.replay(b"2")
    finally:
        running.unlock()
    assert caught.value.exit_code == 4


def test_records_that_become_several_events_are_not_replayed(pipeline: Pipeline) -> None:
    explode = pipeline.load({"explode": {"form": "separated", "separator": ","}})
    with pytest.raises(ConflictError, match="several events") as caught:
        pipeline.replay(b"1,2", configuration=explode)
    assert caught.value.code == "fan_out"


@pytest.mark.parametrize(
    ("fan_out", "events", "component", "expected"),
    [
        (1, 1, "counts", SkipReason.FAN_OUT),
        (0, 2, "counts", SkipReason.FAN_OUT),
        (1, 1, "template", SkipReason.FAN_OUT),  # into all sinks
        (1, 1, "values", None),  # another event at the same row
        (0, 1, "counts", None),
    ],
)
def test_records_that_became_several_events_with_another_configuration_are_not_counted_again(
    pipeline: Pipeline, fan_out: int, events: int, component: str, expected: SkipReason | None
) -> None:
    """`explode` was removed since; the events that did not fail are in the table."""
    configuration = pipeline.load()
    letter = replace(pipeline.dead_letter(component), fan_out=fan_out, events=events)
    for recount in (False, True):
        with DeadLetterReplay(
            own_process(configuration, CATALOG), configuration.pipelines["p"], recount=recount, check_clock=no_clock
        ) as replay:
            assert replay.skip_reason(Entry("0", letter)) is (None if recount else expected)


def skip_reason(pipeline: Pipeline, component: str, offset: int = 0, *, recount: bool = False) -> SkipReason | None:
    configuration = pipeline.load()
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], recount=recount, check_clock=no_clock
    ) as replay:
        return replay.skip_reason(Entry("0", pipeline.dead_letter(component, offset)))


def test_records_that_ran_again_are_written_to_other_tables_only(pipeline: Pipeline) -> None:
    assert skip_reason(pipeline, "counts") is None
    pipeline.log(2_000, "counts")
    assert skip_reason(pipeline, "counts") is SkipReason.RAN_AGAIN
    assert skip_reason(pipeline, "counts", offset=10) is None
    assert skip_reason(pipeline, "values") is None
    assert skip_reason(pipeline, "template") is None  # into all sinks
    assert pipeline.replay(b"2") == []
    assert (pipeline.updates(), pipeline.values()) == ([], [(BATCH_MS - 1, b"2")])


@pytest.mark.parametrize("time_ms", [BATCH_MS - 1, BATCH_MS - 2, BATCH_MS - 3])
def test_records_that_fail_again_in_several_replays_are_still_counted(pipeline: Pipeline, time_ms: int) -> None:
    """Each replay publishes them one millisecond earlier: the run of their micro-batch is not a later one."""
    letter = replace(pipeline.dead_letter("counts"), batch_time_ms=time_ms, source_batch_ms=BATCH_MS)
    configuration = pipeline.load()
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        assert replay.skip_reason(Entry("0", letter)) is None
        replay([letter.record], time_ms - 1, {})
        replay.marked()
    assert [value for _, value in pipeline.updates()] == [b"2"]


def test_records_of_a_batch_that_was_rolled_back_are_not_counted(pipeline: Pipeline) -> None:
    configuration = pipeline.load()
    with owned_store(configuration.stores["s"], CATALOG) as store:
        add_rolled_back(store, "counts", [Interval(BATCH_MS, BATCH_MS)])
    assert skip_reason(pipeline, "counts") is SkipReason.ROLLED_BACK
    pipeline.replay(b"2")
    assert pipeline.updates() == []


def test_records_of_a_batch_that_is_no_longer_logged_are_refused(pipeline: Pipeline) -> None:
    shutil.rmtree(batch_log_folder(pipeline.load(), "p"))
    for component in ("counts", "template"):
        with pytest.raises(ConflictError, match="no longer has the micro-batch"):
            skip_reason(pipeline, component)
        assert skip_reason(pipeline, component, recount=True) is None
    assert skip_reason(pipeline, "values") is None


def test_only_that_part_of_a_place_is_counted_which_did_not_run_again(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a reset of offsets: a later micro-batch has the first ten records."""
    content = batch_of([(None, b"%d" % number, []) for number in range(1, 8)], Codec.GZIP, first=6)

    def read(_connection: object, _wanted: object) -> Iterator[Any]:
        yield from _Batches(6, TopicPartition("t", 0), MemoryRecords(content)).record_iterator

    monkeypatch.setattr(unread_module, "record_batches", read)
    monkeypatch.setattr(TopicRecords, "begin_of", lambda _records, record, _span: record.offset)
    pipeline.log(BATCH_MS + 5, "counts")
    configuration = pipeline.load()

    def entry(begin: int, end: int) -> Entry:
        letter = pipeline.dead_letter("counts", begin)
        return Entry(
            "1", replace(letter, record=letter.record._replace(value=None), by_place=PlaceRange(end, was_read=True))
        )

    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        assert replay.skip_reason(entry(6, 10)) is SkipReason.RAN_AGAIN
        whole = entry(6, 12)
        assert replay.skip_reason(whole) is None
        record, unread = whole.dead_letter.record, whole.dead_letter.by_place
        assert unread is not None
        found = replay([record], BATCH_MS - 1, {record.place: frozenset({"counts"})}, {record.place: unread})
        assert (found[1], list(replay.counted(record.place))) == ([], ["counts"])
    assert [value for _, value in pipeline.updates()] == [b"11"], "of the records 10 and 11, with the bodies 5 and 6"
