"""Withdrawn batch times: which updates do not count, and what a compaction and a rollback make of them."""

import pytest

from ingest.durable.record import UnreadableRecordError
from sinks.updates.compaction import CompactionPart, CompactionRules, compaction_of
from sinks.updates.groups import UpdateRow, history_of, merged_row
from sinks.updates.intervals import Interval
from sinks.updates.keys import UpdateKey, last_update_id_of, update_id_of
from sinks.updates.rollback import rollback_of
from sinks.updates.withdrawn import MAX_INTERVALS, NOTHING, WITHDRAWN, Withdrawn
from tests.support.update_rows import SUM, VALUE

WITHDRAWN_TIMES = Withdrawn((Interval(3, 4), Interval(7, 7)))


def row(time_ms: int, end_ms: int = 0) -> UpdateRow:
    end = last_update_id_of(end_ms) if end_ms else 0
    return UpdateRow(UpdateKey(b"k", update_id_of(time_ms, 0), end), {VALUE: b"1"})


def test_a_time_is_withdrawn_within_the_intervals_only() -> None:
    assert [time for time in range(10) if WITHDRAWN_TIMES.has_time(time)] == [3, 4, 7]
    assert not NOTHING.has_time(3)
    assert (WITHDRAWN_TIMES.last_ms, NOTHING.last_ms) == (7, -1)


def test_a_merged_row_never_is() -> None:
    assert WITHDRAWN_TIMES.has(row(3).key)
    assert not WITHDRAWN_TIMES.has(row(3, 4).key)


def test_intervals_are_joined_and_the_oldest_forgotten() -> None:
    assert WITHDRAWN_TIMES.with_added([Interval(5, 6)]).intervals == (Interval(3, 7),)
    many = NOTHING.with_added(Interval(2 * time, 2 * time) for time in range(MAX_INTERVALS + 1))
    assert (len(many.intervals), many.intervals[0]) == (MAX_INTERVALS, Interval(2, 2))


def test_a_property_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UnreadableRecordError, match="withdrawn batch times of table"):
        Withdrawn.in_properties({WITHDRAWN: "x"}, "t")
    assert Withdrawn.in_properties({WITHDRAWN: WITHDRAWN_TIMES.to_text()}, "t") == WITHDRAWN_TIMES
    assert Withdrawn.in_properties({}, "t") is NOTHING


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([row(2), row(3), row(5)], b"2"),
        ([row(3), row(5)], b"1"),
        ([row(2), row(7)], b"1"),
        ([row(3), row(4), row(7)], None),
        ([row(3)], None),
        ([row(1, 2), row(3), row(5, 8), row(7)], b"2"),
    ],
)
def test_a_read_counts_no_withdrawn_update(rows: list[UpdateRow], value: bytes | None) -> None:
    merged = merged_row(rows, SUM, WITHDRAWN_TIMES)
    assert (None if merged is None else merged.columns[VALUE]) == value


def test_a_history_shows_it_without_its_value() -> None:
    found = [(entry.is_orphaned, entry.merged.columns) for entry in history_of([row(2), row(3)], SUM, WITHDRAWN_TIMES)]
    assert found == [(False, {VALUE: b"1"}), (True, {VALUE: b"1"})]


def test_a_compaction_deletes_it_and_merges_the_others() -> None:
    rules = CompactionRules(bound=update_id_of(9, 0), withdrawn=WITHDRAWN_TIMES)
    merged = UpdateRow(UpdateKey(b"k", row(2).key.start, row(5).key.start), {VALUE: b"2"})
    rows = [row(2), row(3), row(5), row(7)]
    assert list(compaction_of(rows, SUM, rules)) == [
        CompactionPart(merged, tuple(each.key for each in (rows[1], rows[3], rows[0], rows[2])))
    ]
    assert list(compaction_of([row(2), row(7)], SUM, rules)) == [CompactionPart(None, (row(7).key,))]
    assert list(compaction_of([row(7)], SUM, CompactionRules(row(7).key.start, withdrawn=WITHDRAWN_TIMES))) == []


def test_a_rollback_deletes_it_first() -> None:
    rows = [row(2), row(3), row(5)]
    first, last = update_id_of(2, 0), last_update_id_of(5)
    found = rollback_of((each.key for each in rows), first, last, [(first, last)], WITHDRAWN_TIMES)
    assert (found.deletes, found.orphaned) == ((rows[1].key, rows[0].key, rows[2].key), 1)
