"""Dead letters by place: which records have one together."""

import pytest

from ingest.api import OffsetUnit, Record
from ingest.dead_letters.envelope import PlaceRange, dead_letters_of
from ingest.dead_letters.places import Places

MIB = 1 << 20


@pytest.fixture
def places() -> Places:
    return Places(OffsetUnit.RECORDS, 64 * MIB)


@pytest.fixture
def add(places, make_dead_letter):
    def add(offset: int, sinks: str = "ab", *, at: int | None = None, **fields) -> None:
        """A record whose number is its offset, if no other is given; each sink is a letter."""
        places.add(make_dead_letter(offset, **fields), offset if at is None else at, frozenset(sinks))

    return add


def found(places: Places) -> list[tuple[int, int | None, str, int]]:
    """First offset, end, component and number of records of each dead letter."""
    letters = dead_letters_of(places.lines())
    assert all(each.by_place is not None and each.by_place.was_read for each in letters)
    return [(each.record.offset, each.by_place.end, each.component, each.events) for each in letters]


def test_consecutive_records_that_failed_before_the_sinks_have_one_whatever_their_errors(places, add):
    add(7, code="bad_json", message="no", component="json")
    add(8, code="no_match", component="regex")
    add(9, code="bad_json", component="json")
    (letter,) = dead_letters_of(places.lines())
    assert (letter.by_place, letter.events) == (PlaceRange(10, was_read=True), 3)
    assert (letter.id, letter.code) == ("ticks/0/7/0/json", "bad_json")
    assert letter.message == (
        "no; and 2 records after it; without their bytes, since the micro-batch has more than 64 MiB of dead letters"
    )
    assert (letter.record.key, letter.record.value, letter.record.headers) == (None, None, ())
    assert (letter.record.timestamp_ms, letter.attributes) == (5, {})


def test_one_record_has_one(places, add):
    add(7, message="x" * 500)
    (letter,) = dead_letters_of(places.lines())
    assert (letter.by_place, letter.events) == (PlaceRange(8, was_read=True), 1)
    assert letter.message == (
        "x" * 119 + "…; without its bytes, since the micro-batch has more than 64 MiB of dead letters"
    )


def test_record_that_did_not_fail_ends_a_place(places, add):
    for offset in (1, 2, 4, 6, 7):
        add(offset)
    assert found(places) == [(1, 3, "split", 2), (4, 5, "split", 1), (6, 8, "split", 2)]


@pytest.mark.parametrize(
    ("offset", "at"), [(9, 8), (8, 9), (3, 8)], ids=["not in the task", "read later", "another range"]
)
def test_records_that_do_not_follow_one_another_have_several(places, add, offset, at):
    """A task may leave out a record batch between them, or read another range of the partition."""
    add(7, at=7)
    add(offset, at=at)
    assert [first for first, *_ in found(places)] == [7, offset]


def test_records_of_two_partitions_have_several(places, make_dead_letter):
    for at, record in enumerate([Record("ticks", 0, 7, None, b"", 5), Record("ticks", 1, 8, None, b"", 5)]):
        places.add(make_dead_letter(record=record), at, frozenset("ab"))
    assert [first for first, *_ in found(places)] == [7, 8]


def test_failures_of_one_sink_are_apart_from_those_before_the_sinks_and_of_other_sinks(places, add):
    add(1)
    add(2, "a", component="a", code="one")
    add(3, "a", component="a", code="other")
    add(4, "b", component="b")
    add(5)
    assert found(places) == [(1, 2, "split", 1), (2, 4, "a", 2), (4, 5, "b", 1), (5, 6, "split", 1)]


def test_records_that_failed_in_the_same_sinks_have_one_for_each(places, add):
    for offset in (1, 2):
        add(offset, "a", component="a")
        add(offset, "b", component="b")
    add(3, "a", component="a")
    assert found(places) == [(1, 3, "a", 2), (1, 3, "b", 2), (3, 4, "a", 1)]
    assert places.records == 5


def test_record_that_failed_before_the_sinks_and_in_one_runs_into_all(places, add):
    """Of a fan-out: a replay runs the whole record."""
    add(1)
    add(2, "a", component="a", fan_out=1)
    add(2, component="split", fan_out=3)
    assert [places.has(2, frozenset(sinks)) for sinks in ("a", "ab", "b", "abc")] == [True, True, True, False]
    assert not places.has(1, frozenset("a"))
    assert found(places) == [(1, 3, "split", 2)]


def test_event_that_was_buffered_has_a_place_of_its_own(places, add):
    """It fails when later records have failed already."""
    for offset in (1, 3, 4, 2):
        add(offset)
    assert found(places) == [(1, 2, "split", 1), (3, 5, "split", 2), (2, 3, "split", 1)]


@pytest.mark.parametrize(
    ("value", "offset", "ends"),
    [(b"abc", 14, [15]), (b"abc", 15, [16]), (b"abc", 16, [11, 17]), (b"", 11, [12]), (b"abc", 13, [11, 14])],
    ids=["line feed", "carriage return", "another line between", "empty line", "no end of line"],
)
def test_lines_of_a_file_follow_one_another_by_their_bytes(make_dead_letter, value, offset, ends):
    places = Places(OffsetUnit.BYTES, 64 * MIB)
    places.add(make_dead_letter(10, value=value), 1, frozenset("a"))
    places.add(make_dead_letter(offset), 2, frozenset("a"))
    assert [end for _, end, _, _ in found(places)] == ends


def test_dead_letters_are_at_most_as_many_as_every_other_record(places, add):
    for offset in range(0, 1_000, 2):
        add(offset, message="\x00" * 500)
    lines = places.lines()
    assert len(lines) == 500
    assert places.size == sum(map(len, lines)) < 500 * 1_500
