"""The dead letters of failed records."""

from ingest.api import DecodeError, Event, MappingError, OnError, Origin, Record, UnreadError
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.failures import Failure

RECORD = Record("t", 1, 2, b"k", b"v", 1_000, (("h", b"x"),))
MAKER = DeadLetterMaker("p", "f", {"named": "events"})


def dead_letter(failure: Failure) -> DeadLetter:
    return MAKER.of(RECORD, failure, 5_000)


def refused_by(sink: str) -> Failure:
    event = Event(b"v", {"a": b"1"}, origin=Origin("t", 1, 2, 3))
    return Failure(MappingError("no row key"), sink, OnError.DEAD_LETTER, event, 3, frozenset({sink}))


def test_dead_letter_of_an_event_has_the_record_and_the_event_when_it_failed():
    error = MappingError("no row key")
    assert dead_letter(refused_by("named")) == DeadLetter(
        record=RECORD,
        fan_out=3,
        attributes={"a": b"1"},
        pipeline="p",
        component="named",
        code="mapping",
        message=str(error),
        batch_time_ms=5_000,
        fingerprint="f",
        table="events",
    )


def test_table_of_a_sink_that_is_not_known_is_unknown():
    assert dead_letter(refused_by("other")).table is None


def test_dead_letter_of_a_record_that_is_no_event_has_no_attributes_and_no_table():
    found = dead_letter(Failure(DecodeError("not JSON"), "source", OnError.DEAD_LETTER))
    assert (found.record, found.attributes, found.table, found.by_place) == (RECORD, {}, "", None)


def test_record_that_could_not_be_read_has_a_dead_letter_by_place():
    """Its header, which says why it could not be read, is not one of the source's."""
    error = UnreadError("corrupt", code="corrupt_block", end=9, is_certain=True, read_before=True)
    found = dead_letter(Failure(error, "source", OnError.DEAD_LETTER))
    assert (found.by_place, found.record) == (PlaceRange(9, read_before=True), RECORD._replace(headers=()))
