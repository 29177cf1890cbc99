"""The dead letters of one task: grouping, limits and masks."""

import hashlib
import tracemalloc

import pytest

from ingest.dead_letters.bodies import DeadLetterBody
from ingest.dead_letters.buffer import MAX_DEAD_LETTER_BYTES, DeadLetterBuffer, DeadLettersTooLargeError
from ingest.dead_letters.envelope import dead_letters_of
from ingest.masks import Masks


@pytest.fixture
def buffer() -> DeadLetterBuffer:
    return DeadLetterBuffer(Masks())


def reported(buffer: DeadLetterBuffer) -> list[tuple[str, str, int]]:
    return [(dead_letter.id, dead_letter.code, dead_letter.events) for dead_letter in dead_letters_of(buffer.lines())]


def test_dead_letter_of_one_event_is_unchanged(buffer, make_dead_letter):
    buffer.add(make_dead_letter(7, fan_out=3))
    assert buffer.lines() == [make_dead_letter(7, fan_out=3).to_json()]


def test_events_of_a_record_with_one_component_and_code_have_one_dead_letter(buffer, make_dead_letter):
    first = make_dead_letter(7, fan_out=2, message="first", attributes={"a": b"\xff"})
    buffer.add(first)
    for fan_out in (5, 9):
        buffer.add(make_dead_letter(7, fan_out=fan_out, message="later"))
    (dead_letter,) = dead_letters_of(buffer.lines())
    assert (dead_letter.events, dead_letter.id, dead_letter.message) == (3, first.id, "first")
    assert (dead_letter.record, dead_letter.attributes) == (first.record, {"a": b"\xff"})


def test_other_record_component_or_code_has_its_own_dead_letter(buffer, make_dead_letter):
    buffer.add(make_dead_letter(7, fan_out=0))
    buffer.add(make_dead_letter(7, fan_out=1, code="mapping"))
    buffer.add(make_dead_letter(7, fan_out=0, component="sink"))
    buffer.add(make_dead_letter(8, fan_out=0))
    buffer.add(make_dead_letter(7, fan_out=2, code="mapping"))
    buffer.add(make_dead_letter(7, fan_out=3))
    assert reported(buffer) == [
        ("ticks/0/7/0/split", "decorate", 2),
        ("ticks/0/7/1/split", "mapping", 2),
        ("ticks/0/7/0/sink", "decorate", 1),
        ("ticks/0/8/0/split", "decorate", 1),
    ]


def test_record_is_buffered_once_for_all_its_failed_events(buffer, make_dead_letter):
    value = b"x" * (1 << 20)
    for fan_out in range(MAX_DEAD_LETTER_BYTES // len(value) + 1):
        buffer.add(make_dead_letter(7, fan_out=fan_out, value=value))
    (line,) = buffer.lines()
    assert len(line) < 2 * len(value)


def test_too_large_attributes_are_left_out(buffer, make_dead_letter):
    """A replay computes them again from the record."""
    many = {f"{'n' * 30_000}.{number}": b"1" for number in range(3_000)}
    buffer.add(make_dead_letter(7, message="too many", attributes=many))
    (dead_letter,) = dead_letters_of(buffer.lines())
    assert (dead_letter.attributes, dead_letter.record) == ({}, make_dead_letter(7).record)
    size = sum(len(name) + 1 for name in many)
    assert dead_letter.message == f"too many (3000 attributes of {size} bytes in all are not in the dead letter)"


def test_error_of_dead_letters_that_are_too_large_names_the_last_record_and_has_a_hint(buffer, make_dead_letter):
    value = b"x" * (MAX_DEAD_LETTER_BYTES // 8)
    for offset in range(7):
        buffer.add(make_dead_letter(offset, value=value))
    with pytest.raises(DeadLettersTooLargeError) as caught:
        buffer.add(make_dead_letter(7, value=value))
    assert str(caught.value) == (
        "more than 64 MiB of dead letters in one micro-batch; the last one is of ticks/0/7: no; correct the pipeline, "
        "lower max_events_per_batch, or set on_error: drop"
    )


def test_secret_is_masked_except_in_the_record(make_dead_letter):
    buffer = DeadLetterBuffer(Masks(["hunter2"]))
    buffer.add(make_dead_letter(7, message="no hunter2", attributes={"a": b"\xffhunter2"}, value=b"hunter2"))
    (dead_letter,) = dead_letters_of(buffer.lines())
    assert (dead_letter.message, dead_letter.attributes, dead_letter.record.value) == (
        "no ***",
        {"a": b"\xff***"},
        b"hunter2",
    )


MIB = 1 << 20


class Bodies:
    """Counts what it keeps."""

    table = "events"

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.kept: list[tuple[bytes, int]] = []

    def keep(self, value: bytes, reference: bytes) -> str:
        self.kept.append((reference, len(value)))
        return hashlib.sha256(value).hexdigest()


def test_value_above_the_threshold_is_kept_elsewhere(make_dead_letter):
    bodies = Bodies(3)
    buffer = DeadLetterBuffer(Masks(), bodies)
    for offset, value in enumerate((b"abc", b"abcd", None)):
        buffer.add(make_dead_letter(offset, value=value))
    small, large, empty = dead_letters_of(buffer.lines())
    assert (small, empty) == (make_dead_letter(0, value=b"abc"), make_dead_letter(2, value=None))
    body = DeadLetterBody("events", hashlib.sha256(b"abcd").hexdigest(), 4)
    assert large == make_dead_letter(1, value=b"abcd").with_body(body)
    assert bodies.kept == [(b"dead-letter/p/1000/ticks/0/1/0/split", 4)]


def test_value_is_kept_once_for_all_events_of_a_record(make_dead_letter):
    bodies = Bodies(3)
    buffer = DeadLetterBuffer(Masks(), bodies)
    for fan_out in range(3):
        buffer.add(make_dead_letter(7, fan_out=fan_out, value=b"abcd"))
    buffer.add(make_dead_letter(7, component="sink", value=b"abcd"))
    assert [dead_letter.events for dead_letter in dead_letters_of(buffer.lines())] == [3, 1]
    assert [reference for reference, _ in bodies.kept] == [
        b"dead-letter/p/1000/ticks/0/7/0/split",
        b"dead-letter/p/1000/ticks/0/7/0/sink",
    ]


def test_ten_dead_letters_of_64_mib_fit_in_one_batch(make_dead_letter):
    bodies = Bodies(MIB)
    buffer = DeadLetterBuffer(Masks(), bodies)
    value = bytes(64 * MIB)
    tracemalloc.start()
    try:
        for offset in range(10):
            buffer.add(make_dead_letter(offset, value=value))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(bodies.kept), len(buffer.lines())) == (10, 10)
    assert most < MIB


def test_dead_letter_that_is_not_published_has_no_content(make_dead_letter):
    buffer = DeadLetterBuffer(Masks(), is_published=False)
    for offset in range(10):
        buffer.add(make_dead_letter(offset, value=bytes(64 * MIB), attributes={"a": b"1"}))
    found = dead_letters_of(buffer.lines())
    assert [(each.record.place, each.code) for each in found] == [(("ticks", 0, n), "decorate") for n in range(10)]
    assert {(each.record.key, each.record.value, len(each.attributes)) for each in found} == {(None, None, 0)}
