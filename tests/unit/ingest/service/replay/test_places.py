"""Dead letters by place in a replay: their parts, and the dead letters of records that fail again."""

import pytest

from ingest.api import Record, RecordPlace
from ingest.api.event import MAX_OFFSET
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, PlaceRange, dead_letters_of
from ingest.service.replay.places import Divided, batch_name, parts, published, sinks_by_range, stored_by_sink

COMPONENTS = Components(sinks=frozenset({"a", "b"}), decorators=frozenset({"json"}))


def cuts(place: RecordPlace, end: int) -> list[int]:
    return [at for at in (5, 8) if place[2] < at < end]


def place(offset: int) -> Record:
    return Record("t", 0, offset, None, None, 500, ())


def letter(offset: int, component: str, end: int | None = None, **fields) -> bytes:
    values = {
        "record": place(offset),
        "fan_out": 0,
        "attributes": {},
        "pipeline": "p",
        "component": component,
        "code": "no_match",
        "message": "no",
        "batch_time_ms": 7_000,
        "fingerprint": "f",
        "by_place": None if end is None else PlaceRange(end, was_read=True),
    }
    return DeadLetter(**(values | fields)).to_json()


def test_records_that_failed_are_not_stored():
    values = {("t", 0, 3): PlaceRange(9, was_read=True), ("t", 0, 20): PlaceRange(None)}
    divided = Divided.of([place(1), place(3), place(20)], values, cuts, {})
    sinks = {record.place: frozenset({"a", "b"}) for record in divided.records}
    failed = [letter(1, "a"), letter(4, "json"), letter(6, "b"), letter(20, "b", 22)]
    stored = stored_by_sink(divided, sinks, failed)
    whole, last = ("t", 0, 3), ("t", 0, 20)
    assert stored["a"] == [
        (whole, (("t", 0, 3), 4)),
        (whole, (("t", 0, 5), 8)),
        (whole, (("t", 0, 8), 9)),
        (last, (("t", 0, 20), MAX_OFFSET)),
    ]
    assert stored["b"] == [
        (("t", 0, 1), (("t", 0, 1), 2)),
        (whole, (("t", 0, 3), 4)),
        (whole, (("t", 0, 5), 6)),
        (whole, (("t", 0, 7), 8)),
        (whole, (("t", 0, 8), 9)),
        (last, (("t", 0, 22), MAX_OFFSET)),
    ]


def test_places_are_divided_where_their_records_ran_in_other_micro_batches():
    values = {("t", 0, 3): PlaceRange(9, was_read=True), ("t", 0, 20): PlaceRange(30)}
    divided = Divided.of([place(3), place(20)], values, cuts, {})
    assert [record.offset for record in divided.records] == [3, 5, 8, 20]
    assert [divided.values[record.place] for record in divided.records] == [
        PlaceRange(5, was_read=True),
        PlaceRange(8, was_read=True),
        PlaceRange(9, was_read=True),
        PlaceRange(30),
    ]
    assert [divided.whole(record.place)[2] for record in divided.records] == [3, 3, 3, 20]


@pytest.mark.parametrize(
    ("first", "expected"),
    [(3, [(3, 5), (5, 8), (8, 9)]), (4, [(4, 5), (5, 8), (8, 9)]), (5, [(5, 8), (8, 9)]), (8, [(8, 9)])],
)
def test_records_that_the_topic_does_not_have_any_more_are_left_out(first, expected):
    divided = Divided.of([place(3)], {("t", 0, 3): PlaceRange(9, was_read=True)}, cuts, {("t", 0, 3): first})
    ends = [divided.values[record.place].end for record in divided.records]
    assert list(zip([record.offset for record in divided.records], ends, strict=True)) == expected
    assert {divided.whole(record.place) for record in divided.records} == {("t", 0, 3)}
    assert divided.gone == ({("t", 0): first - 3} if first > 3 else {})


def test_records_are_not_divided():
    divided = Divided.of([place(3)], {}, cuts, {})
    assert (list(divided.records), divided.whole(("t", 0, 3))) == ([place(3)], ("t", 0, 3))


@pytest.mark.parametrize(
    ("unread", "cut", "expected"),
    [(None, cuts, [3]), (PlaceRange(None), cuts, [3]), (PlaceRange(9), None, [3]), (PlaceRange(8), cuts, [3, 5])],
)
def test_parts_of_a_place(unread, cut, expected):
    assert [offset for _, _, offset in parts(("t", 0, 3), unread, cut)] == expected


def test_records_between_two_places_have_the_sinks_of_the_first():
    sinks = sinks_by_range([place(3), place(5)], {("t", 0, 3): frozenset("a")})
    assert (sinks.get(("t", 0, 4)), sinks.get(("t", 0, 5))) == ({"a"}, None)


def of(*runs: tuple[list[bytes], dict[int, str]]) -> list[tuple[int, str, int | None]]:
    """First offset, component and end of each published dead letter."""
    by_place = [(lines, {("t", 0, at): frozenset(names) for at, names in written.items()}) for lines, written in runs]
    letters = dead_letters_of(published(by_place, 6_999, COMPONENTS))
    assert {each.batch_time_ms for each in letters} == {6_999}
    return [(each.record.offset, each.component, each.by_place and each.by_place.end) for each in letters]


def test_dead_letter_before_the_sinks_is_of_the_sinks_into_which_the_record_ran():
    lines = [letter(3, "json"), letter(9, "json"), letter(4, "a")]
    assert of((lines, {3: "b", 9: "ab"})) == [(3, "b", None), (9, "json", None), (4, "a", None)]


def test_dead_letter_of_two_runs_is_published_once():
    assert of(([letter(3, "json")], {3: "a"}), ([letter(3, "json")], {3: "b"})) == [(3, "json", None)]


def test_places_of_two_runs_are_of_the_sinks_of_each():
    """They may overlap: in one of the runs, a record beside them has failed in its sink."""
    places = [letter(3, "json"), letter(4, "json", 9)], [letter(3, "json", 9)]
    assert of((places[0], {3: "a"}), (places[1], {3: "b"})) == [(3, "a", None), (4, "a", 9), (3, "b", 9)]


def test_place_of_all_records_remains_of_those_with_one_id():
    lines = [letter(3, "json", 5), letter(3, "json"), letter(3, "json", 9), letter(3, "json", 4)]
    assert of((lines, {3: "ab"})) == [(3, "json", 9)]


def test_records_that_could_still_not_be_read_are_of_no_sink():
    assert of(([letter(3, "source", by_place=PlaceRange(9))], {3: "a"})) == [(3, "source", 9)]


def test_other_parts_of_a_place_are_another_batch():
    """A sink without a store replaces a batch of the same name, so it would lose the records between two ends."""
    ends = (PlaceRange(10, was_read=True), PlaceRange(5, was_read=True), None)
    names = {batch_name([(place(0), end)], 6_999, {}) for end in ends}
    assert len(names) == len(ends)
    again = [batch_name([(place(0), ends[0])], 6_999, {("t", 0, 0): frozenset({name})}) for name in ("a", "a", "b")]
    assert (again[0] == again[1], again[1] == again[2]) == (True, False)


def test_place_without_records_that_are_gone_is_another_batch():
    """An archive has their rows of an interrupted replay, and leaves out those of the others that it has."""
    whole = {("t", 0, 3): PlaceRange(9, was_read=True)}
    names = set()
    for begins in ({}, {("t", 0, 3): 5}):
        divided = Divided.of([place(3)], whole, None, begins)
        of_parts = [(record, divided.values[record.place]) for record in divided.records]
        names.add(batch_name(of_parts, 6_999, {}))
    assert len(names) == 2
