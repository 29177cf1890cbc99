"""Which micro-batches may be replayed into tables with deferred updates."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError
from ingest.formats.times import moment
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.service.replay.plan import BatchKind, ReplayBatch, TopicState, replay_batches
from ingest.service.replay.rolled_back_batches import (
    UnfinishedBatch,
    batches_rolled_back,
    common_tables,
    offsets_gone,
    refuse_counted,
    times_rolled_back,
)
from ingest.spark.streaming.batch_log import LoggedBatch, OffsetRanges
from sinks.rewriting.rolled_back import add_rolled_back
from sinks.updates.intervals import Interval
from tests.support.update_pipeline import BATCH_MS, CATALOG, Pipeline

RANGES = {("t", 0): (0, 5)}
TAKEN = {"hits": frozenset({2_000, 2_500, 3_000}), "bytes": frozenset({2_000, 2_500, 4_000})}


def batch(time_ms: int, kind: BatchKind = BatchKind.WHOLE) -> ReplayBatch:
    return ReplayBatch(kind, 1, time_ms, RANGES)


def test_batches_that_were_rolled_back_from_a_table_are_replayed_and_no_others() -> None:
    batches = [batch(time_ms) for time_ms in (1_000, 2_000, 3_000, 3_500, 4_000)]
    assert [one.time_ms for one in batches_rolled_back(batches, TAKEN)] == [2_000, 3_000, 4_000]


def test_range_without_such_a_batch_is_refused() -> None:
    with pytest.raises(ConflictError, match="rolled back from bytes, hits") as caught:
        batches_rolled_back([batch(1_000), batch(1, BatchKind.UNLOGGED)], TAKEN)
    assert (caught.value.code, caught.value.exit_code) == ("not_rolled_back", 4)


def test_part_of_a_batch_is_refused_if_the_batch_was_rolled_back() -> None:
    with pytest.raises(ConflictError, match="a part of the micro-batch of time 2000"):
        batches_rolled_back([batch(1_999, BatchKind.PART), batch(3_000)], TAKEN)
    assert batches_rolled_back([batch(999, BatchKind.PART), batch(3_000)], TAKEN) == [batch(3_000)]


def test_batch_of_which_the_topic_has_a_part_is_replayed_without_the_rest() -> None:
    """No range would contain the whole of it, so its other records would be in no table for ever."""
    log = [LoggedBatch(7, 2_000, {("t", 0): (0, 5), ("t", 1): (3, 6)}, {"t": "a"}, ("hits",))]
    topics = TopicState({"t": "a"})
    there = {("t", 0): (2, 50), ("t", 1): (0, 50)}

    def replayed(selected: OffsetRanges) -> list[ReplayBatch]:
        parts = replay_batches(log, selected, topics)
        return batches_rolled_back(parts, TAKEN, replay_batches(log, there, topics))

    (found,) = replayed({("t", 0): (2, 9), ("t", 1): (0, 9)})
    assert (found.kind, found.time_ms, found.ranges) == (BatchKind.REST, 2_000, {("t", 0): (2, 5), ("t", 1): (3, 6)})
    assert offsets_gone([found], log) == 2
    with pytest.raises(ConflictError, match="a part of the micro-batch of time 2000"):
        replayed({("t", 0): (3, 9), ("t", 1): (0, 9)})


def test_batch_of_a_compacted_topic_is_replayed_with_the_records_that_are_left() -> None:
    log = [LoggedBatch(7, 2_000, RANGES, {}, ("hits",))]
    topics = TopicState({}, compacted=["t"])
    parts = list(replay_batches(log, RANGES, topics))
    assert [one.kind for one in parts] == [BatchKind.PART]
    (found,) = batches_rolled_back(parts, TAKEN, parts)
    assert (found.kind, found.time_ms, found.ranges) == (BatchKind.REST, 2_000, RANGES)


def test_replay_writes_the_tables_from_which_all_of_its_batches_were_rolled_back() -> None:
    assert common_tables(TAKEN, [batch(2_000), batch(2_500)]) == {"hits", "bytes"}
    assert common_tables(TAKEN, [batch(3_000)]) == {"hits"}
    with pytest.raises(ConflictError, match="different tables"):
        common_tables(TAKEN, [batch(2_000), batch(3_000)])


def test_unfinished_batch_is_restored_from_plain_data() -> None:
    interrupted = UnfinishedBatch(batch(2_000), frozenset({"hits", "bytes"}))
    assert UnfinishedBatch.from_plain(interrupted.to_plain()) == interrupted
    alone = interrupted._replace(sinks=frozenset({"b", "a"}))
    assert UnfinishedBatch.from_plain(alone.to_plain()) == alone != interrupted
    assert UnfinishedBatch.from_plain([["t", 0, 5, ["counts"]]]) is None


def logged(time_ms: int, begin: int, end: int, *tables: str) -> LoggedBatch:
    return LoggedBatch(1, time_ms, {("t", 0): (begin, end)}, {}, tables)


def test_batch_that_ran_again_since_is_not_replayed_a_second_time() -> None:
    everything = [Interval(0, 10_000)]
    batches = [
        logged(1_000, 0, 10, "hits", "bytes"),
        logged(2_000, 10, 20, "hits", "bytes"),
        logged(3_000, 10, 20, "hits"),  # a replay into one of the tables
        logged(4_000, 20, 30, "bytes"),  # the other table was added later
    ]
    assert times_rolled_back(everything, batches, "hits") == {1_000, 3_000}
    assert times_rolled_back(everything, batches, "bytes") == {1_000, 2_000, 4_000}
    # the events of the batch are in the table at the time of the replay
    assert times_rolled_back([Interval(2_000, 2_000)], batches, "hits") == frozenset()
    assert times_rolled_back([], batches, "hits") == frozenset()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=12))
def test_newest_batch_of_each_offset_counts(ranges: list[tuple[int, int]]) -> None:
    batches = [logged(at, begin, begin + size, "hits") for at, (begin, size) in enumerate(ranges, 1)]
    newest = {
        at
        for at, (begin, size) in enumerate(ranges, 1)
        if not any(begin < other + width and other < begin + size for other, width in ranges[at:])
    }
    assert times_rolled_back([Interval(0, 100)], batches, "hits") == newest


def test_batch_whose_dead_letters_count_is_replayed_once_they_are_rolled_back_too(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.replay(b"2")  # the record of offset 0
    [(replayed_ms, _)] = pipeline.updates()
    configuration = pipeline.load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)

    def check(begin: int, time_ms: int = BATCH_MS) -> None:
        planned = [ReplayBatch(BatchKind.REST, 1, time_ms, {("t", 0): (begin, 10)})]
        refuse_counted(configuration, plan, CATALOG, planned, {"counts": frozenset({BATCH_MS, 3_000})})

    for begin, time_ms in ((1, BATCH_MS), (0, 3_000), (0, 4_000)):  # the topic has deleted the record; other batches
        check(begin, time_ms)
    with pytest.raises(ConflictError) as caught:
        check(0)
    assert caught.value.code == "not_rolled_back"
    time = moment(replayed_ms)
    assert f"'attr2hbase rollback counts --from {time} --to {time}'" in str(caught.value.hint)
    with owned_store(configuration.stores["s"], CATALOG) as store:
        add_rolled_back(store, "counts", [Interval(replayed_ms, replayed_ms)])
    check(0)
