"""The letters of one task: how many there are, of what they tell, and how large they may be."""

import pytest

from ingest.dead_letters.envelope import letters_of
from ingest.dead_letters.letters import MAX_DEAD_LETTER_BYTES, DeadLetterBuffer, TooManyDeadLettersError
from ingest.masks import Masks


@pytest.fixture
def letters() -> DeadLetterBuffer:
    return DeadLetterBuffer(Masks())


def reported(letters: DeadLetterBuffer) -> list[tuple[str, str, int]]:
    return [(letter.id, letter.code, letter.events) for letter in letters_of(letters.lines())]


def test_one_event_has_a_letter_as_it_is(letters, make_letter):
    letters.add(make_letter(7, fan_out=3))
    assert letters.lines() == [make_letter(7, fan_out=3).to_json()]


def test_events_of_a_record_that_failed_alike_share_the_letter_of_the_first(letters, make_letter):
    first = make_letter(7, fan_out=2, message="first", attributes={"a": b"\xff"})
    letters.add(first)
    for fan_out in (5, 9):
        letters.add(make_letter(7, fan_out=fan_out, message="later"))
    (letter,) = letters_of(letters.lines())
    assert (letter.events, letter.id, letter.message) == (3, first.id, "first")
    assert (letter.record, letter.attributes) == (first.record, {"a": b"\xff"})


def test_another_record_component_or_code_has_a_letter_of_its_own(letters, make_letter):
    letters.add(make_letter(7, fan_out=0))
    letters.add(make_letter(7, fan_out=1, code="mapping"))
    letters.add(make_letter(7, fan_out=0, component="sink"))
    letters.add(make_letter(8, fan_out=0))
    letters.add(make_letter(7, fan_out=2, code="mapping"))
    letters.add(make_letter(7, fan_out=3))
    assert reported(letters) == [
        ("ticks/0/7/0/split", "decorate", 2),
        ("ticks/0/7/1/split", "mapping", 2),
        ("ticks/0/7/0/sink", "decorate", 1),
        ("ticks/0/8/0/split", "decorate", 1),
    ]


def test_a_record_is_held_once_however_many_of_its_events_failed(letters, make_letter):
    value = b"x" * (1 << 20)
    for fan_out in range(MAX_DEAD_LETTER_BYTES // len(value) + 1):
        letters.add(make_letter(7, fan_out=fan_out, value=value))
    (line,) = letters.lines()
    assert len(line) < 2 * len(value)


def test_attributes_of_any_size_are_no_reason_to_stop(letters, make_letter):
    """A replay makes them again: the record is what may not be lost."""
    many = {f"{'n' * 30_000}.{number}": b"1" for number in range(3_000)}
    letters.add(make_letter(7, message="too many", attributes=many))
    (letter,) = letters_of(letters.lines())
    assert (letter.attributes, letter.record) == ({}, make_letter(7).record)
    size = sum(len(name) + 1 for name in many)
    assert letter.message == f"too many (3000 attributes of {size} bytes in all are not in the dead letter)"


def test_more_than_a_batch_may_have_names_the_last_record_and_the_way_out(letters, make_letter):
    value = b"x" * (MAX_DEAD_LETTER_BYTES // 8)
    for offset in range(7):
        letters.add(make_letter(offset, value=value))
    with pytest.raises(TooManyDeadLettersError) as caught:
        letters.add(make_letter(7, value=value))
    assert str(caught.value) == (
        "more than 64 MiB of dead letters in one micro-batch; the last one is of ticks/0/7: no; correct the pipeline, "
        "lower max_events_per_batch, or set on_error: drop"
    )


def test_secret_is_masked_but_in_the_record_itself(make_letter):
    letters = DeadLetterBuffer(Masks(["hunter2"]))
    letters.add(make_letter(7, message="no hunter2", attributes={"a": b"\xffhunter2"}, value=b"hunter2"))
    (letter,) = letters_of(letters.lines())
    assert (letter.message, letter.attributes, letter.record.value) == ("no ***", {"a": b"\xff***"}, b"hunter2")
