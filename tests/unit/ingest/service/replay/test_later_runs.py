"""Which records of dead letters ran again, by the batch log."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError
from ingest.dead_letters.replay_batches import SkipReason
from ingest.service.replay.known_letters import KnownLetters
from ingest.service.replay.later_runs import LaterRuns
from ingest.spark.streaming.batch_log import LoggedBatch
from sinks.rewriting.counted_letters import CountedLetters
from sinks.updates.intervals import Interval

PLACE = ("t", 0, 5)


def logged(time_ms: int, begin: int, end: int, *tables: str, topic_id: str = "") -> LoggedBatch:
    ids = {"t": topic_id} if topic_id else {}
    return LoggedBatch(1, time_ms, {("t", 0): (begin, end)}, ids, tables or ("hits",))


def runs_of(
    batches: Iterable[LoggedBatch],
    rolled_back: Mapping[str, Sequence[Interval]] = MappingProxyType({}),
    letters: Mapping[str, CountedLetters] = MappingProxyType({}),
    *,
    recount: bool = False,
) -> LaterRuns:
    known = KnownLetters(rolled_back=rolled_back, read=lambda: letters, recount=recount)
    return LaterRuns(batches, known)


def test_record_of_a_later_batch_is_skipped():
    runs = runs_of([logged(1_000, 0, 10, "hits", "bytes"), logged(2_000, 10, 20), logged(3_000, 4, 6)])
    assert runs.skip_reason("hits", PLACE, 1_000) is SkipReason.RAN_AGAIN
    assert runs.skip_reason("hits", PLACE, 3_000) is None  # the later run has a dead letter of its own
    assert runs.skip_reason("hits", ("t", 0, 6), 1_000) is None
    assert runs.skip_reason("hits", ("t", 1, 5), 1_000) is None
    assert runs.skip_reason("bytes", PLACE, 1_000) is None


def test_record_that_could_be_read_by_a_replay_is_of_its_batch():
    """Its dead letter has the time before the micro-batch in which it could not be read."""
    batches = [logged(1_000, 0, 10), logged(2_000, 10, 20)]
    assert runs_of(batches).skip_reason("hits", PLACE, 999) is None
    rolled_back = {"hits": [Interval(1_000, 1_500)]}
    assert runs_of(batches, rolled_back).skip_reason("hits", PLACE, 999) is SkipReason.ROLLED_BACK
    assert runs_of([*batches, logged(3_000, 4, 6)]).skip_reason("hits", PLACE, 999) is SkipReason.RAN_AGAIN


def test_replay_into_one_table_says_nothing_of_the_others():
    """The dead letter of the first run counts there."""
    runs = runs_of([logged(1_000, 0, 10, "hits", "bytes"), logged(2_000, 0, 10, "hits")])
    assert runs.skip_reason("bytes", PLACE, 1_000) is None
    assert runs.skip_reason("bytes", PLACE, 2_000) is SkipReason.NOT_IN_BATCH
    assert runs.skip_reason("hits", PLACE, 2_000) is None
    added = runs_of([logged(2_000, 0, 10, "hits")])
    assert added.skip_reason("bytes", PLACE, 2_000) is None  # declared since


def test_places_are_cut_where_a_run_begins_or_ends():
    runs = runs_of([logged(1_000, 0, 10, "hits", "bytes"), logged(2_000, 10, 20), logged(3_000, 4, 12)])
    assert runs.cuts(("t", 0, 0), 20) == [4, 10, 12]
    assert runs.cuts(("t", 0, 4), 12) == [10]
    assert runs.cuts(("t", 0, 5), 10) == []
    assert runs.cuts(("t", 1, 0), 20) == []


def test_table_tells_of_micro_batches_that_are_not_logged():
    known = {"hits": CountedLetters(unknown_ms=800).with_run_again([Interval(900, 910)])}
    runs = runs_of([logged(2_000, 10, 20)], {}, known)
    assert runs.skip_reason("hits", PLACE, 905) is SkipReason.RAN_AGAIN
    for batch_ms, is_hinted in ((800, False), (1_000, True)):
        with pytest.raises(ConflictError) as refused:
            runs.skip_reason("hits", PLACE, batch_ms)
        assert ("--recount" in str(refused.value.hint)) == is_hinted
    again = runs_of([logged(2_000, 10, 20)], {}, known, recount=True)
    assert again.skip_reason("hits", PLACE, 905) is SkipReason.RAN_AGAIN
    assert again.skip_reason("hits", PLACE, 800) is None


def test_log_of_a_backup_has_no_later_run():
    known = {"hits": CountedLetters().with_run_again([Interval(1_000, 1_000)])}
    runs = runs_of([logged(500, 20, 30), logged(1_000, 0, 10, "hits", "bytes")], {}, known)
    assert runs.skip_reason("hits", PLACE, 1_000) is SkipReason.RAN_AGAIN
    assert runs.skip_reason("bytes", PLACE, 1_000) is None
    with pytest.raises(ConflictError) as refused:
        runs.skip_reason("hits", PLACE, 3_000)  # of the later run
    assert refused.value.code == "batch_not_logged"


def test_interrupted_batch_that_got_a_later_time_need_not_be_logged():
    assert runs_of([logged(2_000, 0, 10)]).skip_reason("hits", PLACE, 1_000) is SkipReason.RAN_AGAIN


def test_batch_that_was_rolled_back_waits_for_its_replay():
    batches, taken = [logged(1_000, 0, 10, "hits", "bytes")], {"hits": [Interval(500, 1_000)]}
    assert runs_of(batches, taken).skip_reason("hits", PLACE, 1_000) is SkipReason.ROLLED_BACK
    assert runs_of(batches, taken).skip_reason("bytes", PLACE, 1_000) is None
    replayed = [*batches, logged(2_000, 0, 10)]
    assert runs_of(replayed, taken).skip_reason("hits", PLACE, 1_000) is SkipReason.RAN_AGAIN


def test_records_of_a_recreated_topic_are_others():
    batches = [logged(1_000, 0, 10, topic_id="a"), logged(2_000, 0, 10, topic_id="b")]
    assert runs_of(batches).skip_reason("hits", PLACE, 1_000) is None
    assert runs_of([*batches, logged(3_000, 0, 10, topic_id="b")]).skip_reason("hits", PLACE, 2_000) is not None
    unknown = [logged(1_000, 0, 10), logged(2_000, 0, 10, topic_id="b")]
    assert runs_of(unknown).skip_reason("hits", PLACE, 1_000) is SkipReason.RAN_AGAIN


@pytest.mark.parametrize("batches", [[], [logged(1_002, 10, 20)]])
def test_batch_that_the_log_no_longer_has_is_refused(batches: list[LoggedBatch]):
    with pytest.raises(ConflictError, match="no longer has the micro-batch of 1970-01-01T00:00:01") as refused:
        runs_of(batches).skip_reason("hits", PLACE, 1_000)
    assert (refused.value.code, "--recount" in (refused.value.hint or "")) == ("batch_not_logged", True)
    assert runs_of(batches, {}, recount=True).skip_reason("hits", PLACE, 1_000) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=12), st.integers(0, 42), st.integers(0, 13))
def test_each_later_batch_counts(ranges: list[tuple[int, int]], offset: int, time_ms: int):
    batches = [logged(number, begin, begin + size) for number, (begin, size) in enumerate(ranges)]
    expected = any(number > time_ms and begin <= offset < begin + size for number, (begin, size) in enumerate(ranges))
    found = runs_of(batches, {}, recount=True).skip_reason("hits", ("t", 0, offset), time_ms)
    assert found is (SkipReason.RAN_AGAIN if expected else None)
