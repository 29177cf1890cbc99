"""Which records a replay runs, as which micro-batches."""

import itertools

import pytest

from ingest.api import ConfigError
from ingest.service.replay.plan import (
    BatchKind,
    ReplayBatch,
    TopicState,
    check_allowed,
    omits_later_batch,
    replay_batches,
    unlogged_batches,
)
from ingest.spark.streaming.batch_log import LoggedBatch, OffsetRanges

P0, P1, OTHER = ("t", 0), ("t", 1), ("u", 0)
NOW = TopicState({"t": "id-t", "u": "id-u"})
FIRST = LoggedBatch(0, 1_000, {P0: (0, 10), P1: (0, 5)}, {"t": "id-t"})
SECOND = LoggedBatch(1, 1_002, {P0: (10, 20), OTHER: (0, 3)}, {"t": "id-t", "u": "id-u"})


def short(batches: list[ReplayBatch]) -> list[tuple[str, int, OffsetRanges]]:
    return [(batch.kind.value, batch.time_ms, batch.ranges) for batch in batches]


def logged(selected: OffsetRanges, topics: TopicState = NOW) -> list[ReplayBatch]:
    return list(replay_batches([FIRST, SECOND], selected, topics))


def test_whole_batches_have_their_numbers_and_times():
    batches = logged({P0: (0, 99), P1: (0, 99), OTHER: (0, 99)})
    assert short(batches) == [("whole", 1_000, FIRST.ranges), ("whole", 1_002, SECOND.ranges)]
    assert [(batch.number, batch.name, batch.offsets) for batch in batches] == [(0, "1000", 15), (1, "1002", 13)]


@pytest.mark.parametrize(
    ("selected", "ranges"),
    [
        ({P0: (1, 10), P1: (0, 5)}, {P0: (1, 10), P1: (0, 5)}),
        ({P0: (0, 9), P1: (0, 5)}, {P0: (0, 9), P1: (0, 5)}),
        ({P0: (0, 10)}, {P0: (0, 10)}),
        ({P1: (2, 3)}, {P1: (2, 3)}),
    ],
)
def test_part_of_a_batch_runs_one_millisecond_before_it(selected: OffsetRanges, ranges: OffsetRanges):
    assert short(logged(selected)) == [("part", 999, ranges)]


def test_parts_of_one_batch_have_different_numbers_and_names():
    parts = logged({P0: (0, 1)}) + logged({P0: (1, 2)})
    again = logged({P0: (0, 1)})
    assert len({batch.number for batch in parts}) == len({batch.name for batch in parts}) == 2
    assert again == parts[:1]
    assert all(len(str(batch.number)) == 10 for batch in parts)


def test_batch_of_a_compacted_topic_is_never_whole():
    batches = logged({P0: (0, 20), P1: (0, 5), OTHER: (0, 3)}, TopicState(NOW.ids, {"u"}))
    assert [batch.kind for batch in batches] == [BatchKind.WHOLE, BatchKind.PART]


def test_offsets_of_a_recreated_topic_belong_to_no_logged_batch():
    batches = logged({P0: (0, 20), P1: (0, 5), OTHER: (0, 3)}, TopicState({"t": "new", "u": "id-u"}))
    assert short(batches) == [("part", 1_001, {OTHER: (0, 3)})]
    others = unlogged_batches(batches, {P0: (0, 20), OTHER: (0, 3)}, 7, 100)
    assert short(list(others)) == [("unlogged", 7, {P0: (0, 20)})]


def test_unknown_ids_are_accepted():
    assert [batch.kind for batch in logged({P0: (0, 20), P1: (0, 5), OTHER: (0, 3)}, TopicState({}))] == [
        BatchKind.WHOLE,
        BatchKind.WHOLE,
    ]


def test_offsets_in_two_logged_batches_run_in_both():
    again = LoggedBatch(0, 2_000, {P0: (5, 15)})
    batches = list(replay_batches([FIRST, SECOND, again], {P0: (5, 10)}, NOW))
    assert short(batches) == [("part", 999, {P0: (5, 10)}), ("part", 1_999, {P0: (5, 10)})]


def test_unlogged_records_are_the_gaps_in_batches_of_limited_size():
    selected = {P0: (0, 40), P1: (3, 9), OTHER: (0, 3)}
    batches = list(unlogged_batches(logged(selected), selected, 7, 12))
    assert short(batches) == [
        ("unlogged", 5, {P0: (20, 32)}),
        ("unlogged", 7, {P0: (32, 40), P1: (5, 9)}),
    ]


def test_times_before_1970_are_refused():
    selected = {P0: (0, 30)}
    assert [batch.time_ms for batch in unlogged_batches([], selected, 5, 10)] == [1, 3, 5]
    with pytest.raises(ConfigError, match="3 micro-batches, 2 ms apart up to --at, would begin before 1970") as caught:
        unlogged_batches([], selected, 4, 10)
    assert caught.value.hint == "choose 1970-01-01T00:00:00.005Z or later"


def test_two_gaps_of_one_partition_are_two_batches():
    batch = LoggedBatch(0, 1_000, {P0: (5, 6)})
    selected = {P0: (0, 10)}
    batches = list(unlogged_batches(replay_batches([batch], selected, NOW), selected, 7, 100))
    assert short(batches) == [("unlogged", 5, {P0: (0, 5)}), ("unlogged", 7, {P0: (6, 10)})]


def test_delete_of_a_batch_hides_what_the_batches_before_put():
    times = [batch.time_ms for batch in unlogged_batches([], {P0: (0, 50)}, 1_000, 10)]
    assert times[-1] == 1_000
    # a delete is written one millisecond before the time of its batch
    assert all(put_ms < delete_ms - 1 for put_ms, delete_ms in itertools.pairwise(times))


def test_no_gap_is_no_batch():
    assert list(unlogged_batches(logged({P0: (0, 20)}), {P0: (0, 20)}, 7, 100)) == []


def test_batch_is_the_same_after_it_was_read():
    for batch in logged({P0: (0, 99), P1: (0, 99)}):
        assert ReplayBatch.from_json(batch.to_json()) == batch


def test_records_without_a_time_are_refused():
    batches = list(unlogged_batches([], {P0: (3, 8)}, 7, 100))
    check_allowed(batches, is_allowed=True)
    check_allowed(logged({P0: (0, 20)}), is_allowed=False)
    with pytest.raises(ConfigError, match="5 offsets are in no logged batch, such as t/0 3 to 7"):
        check_allowed(batches, is_allowed=False)


@pytest.mark.parametrize(
    ("selected", "omits"),
    [
        ({P0: (0, 20), P1: (0, 5), OTHER: (0, 3)}, False),
        ({P0: (10, 20), OTHER: (0, 3)}, False),  # the newest batch alone
        ({P0: (0, 10), P1: (0, 5)}, True),  # ends before the newest batch
        ({P0: (0, 15), P1: (0, 5), OTHER: (0, 3)}, True),  # cuts the newest batch
        ({P0: (5, 20), P1: (0, 5), OTHER: (0, 3)}, True),  # cuts the first batch
        ({P1: (9, 10)}, False),  # nothing to run
    ],
)
def test_batches_that_wrote_later_are_omitted_if_the_range_cuts_one_or_ends_before_them(
    selected: OffsetRanges, omits: bool
):
    assert omits_later_batch(logged(selected), [FIRST, SECOND]) is omits


def test_unlogged_records_count_as_older_than_all_batches():
    [unlogged] = unlogged_batches([], {P0: (20, 30)}, 9_000, 100)
    assert omits_later_batch([unlogged], [FIRST])
    assert not omits_later_batch([unlogged, *logged({P0: (0, 10), P1: (0, 5)})], [FIRST])
    assert not omits_later_batch([unlogged], [])
