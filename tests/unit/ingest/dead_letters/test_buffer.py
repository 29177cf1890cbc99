"""The dead letters of one task: grouping, limits and masks."""

import hashlib
import tracemalloc

import pytest

from ingest.api import OffsetUnit
from ingest.dead_letters import buffer as buffer_module
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.buffer import MAX_DEAD_LETTER_BYTES, DeadLetterBuffer, DeadLettersTooLargeError
from ingest.dead_letters.envelope import PlaceRange, dead_letters_of
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


class Blobs:
    """Counts what it keeps."""

    table = "events"

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.kept: list[tuple[bytes, int]] = []

    def keep(self, value: bytes, reference: bytes) -> str:
        self.kept.append((reference, len(value)))
        return hashlib.sha256(value).hexdigest()


def test_value_above_the_threshold_is_kept_elsewhere(make_dead_letter):
    blobs = Blobs(3)
    buffer = DeadLetterBuffer(Masks(), blobs)
    for offset, value in enumerate((b"abc", b"abcd", None)):
        buffer.add(make_dead_letter(offset, value=value))
    small, large, empty = dead_letters_of(buffer.lines())
    assert (small, empty) == (make_dead_letter(0, value=b"abc"), make_dead_letter(2, value=None))
    blob = DeadLetterBlob("events", hashlib.sha256(b"abcd").hexdigest(), 4)
    assert large == make_dead_letter(1, value=b"abcd").with_blob(blob)
    assert blobs.kept == [(b"dead-letter/p/1000/ticks/0/1/0/split", 4)]


def test_value_is_kept_once_for_all_events_of_a_record(make_dead_letter):
    blobs = Blobs(3)
    buffer = DeadLetterBuffer(Masks(), blobs)
    for fan_out in range(3):
        buffer.add(make_dead_letter(7, fan_out=fan_out, value=b"abcd"))
    buffer.add(make_dead_letter(7, component="sink", value=b"abcd"))
    assert [dead_letter.events for dead_letter in dead_letters_of(buffer.lines())] == [3, 1]
    assert [reference for reference, _ in blobs.kept] == [
        b"dead-letter/p/1000/ticks/0/7/0/split",
        b"dead-letter/p/1000/ticks/0/7/0/sink",
    ]


def test_ten_dead_letters_of_64_mib_fit_in_one_batch(make_dead_letter):
    blobs = Blobs(MIB)
    buffer = DeadLetterBuffer(Masks(), blobs)
    value = bytes(64 * MIB)
    tracemalloc.start()
    try:
        for offset in range(10):
            buffer.add(make_dead_letter(offset, value=value))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(blobs.kept), len(buffer.lines())) == (10, 10)
    assert most < MIB


def test_dead_letter_that_is_not_published_has_no_content(make_dead_letter):
    buffer = DeadLetterBuffer(Masks(), is_published=False)
    for offset in range(10):
        buffer.add(make_dead_letter(offset, value=bytes(64 * MIB), attributes={"a": b"1"}))
    found = dead_letters_of(buffer.lines())
    assert [(each.record.place, each.code) for each in found] == [(("ticks", 0, n), "decorate") for n in range(10)]
    assert {(each.record.key, each.record.value, len(each.attributes)) for each in found} == {(None, None, 0)}


class TestByPlace:
    """Dead letters of a source that can read records again, beyond the bytes that those of a task may have."""

    @pytest.fixture
    def buffer(self) -> DeadLetterBuffer:
        return DeadLetterBuffer(Masks(["hunter2"]), offsets=OffsetUnit.RECORDS)

    @pytest.fixture
    def length(self, make_dead_letter) -> int:
        return len(make_dead_letter(0).to_json())

    def ranges(self, buffer: DeadLetterBuffer) -> list[tuple[int, int | None]]:
        """First offset of each dead letter, and its end if it is by place."""
        letters = dead_letters_of(buffer.lines())
        return [(each.record.offset, each.by_place.end if each.by_place else None) for each in letters]

    def components(self, buffer: DeadLetterBuffer) -> list[tuple[int, int | None, str]]:
        """As `ranges`, with the component."""
        names = [each.component for each in dead_letters_of(buffer.lines())]
        return [(first, end, name) for (first, end), name in zip(self.ranges(buffer), names, strict=True)]

    def test_those_that_fit_have_their_bytes(self, buffer, make_dead_letter, length):
        buffer.start(2 * length)
        for number in range(2):
            buffer.add(make_dead_letter(number), number)
        assert self.ranges(buffer) == [(0, None), (1, None)]
        assert (buffer.size, buffer.by_place) == (2 * length, 0)

    def test_others_have_places_whatever_their_number(self, buffer, make_dead_letter, length):
        buffer.start(2 * length)
        for number in range(9):
            buffer.add(make_dead_letter(number), number)
        assert self.ranges(buffer) == [(0, None), (1, None), (2, 9)]
        assert (buffer.size, buffer.by_place) == (9 * length, 7)

    def test_a_small_one_fits_after_a_large_one(self, buffer, make_dead_letter, length):
        buffer.start(3 * length)
        for number, value in enumerate([b"v", b"x" * 4 * length, b"v", b"v"]):
            buffer.add(make_dead_letter(number, value=value), number)
        assert self.ranges(buffer) == [(0, None), (2, None), (3, None), (1, 2)]

    def test_without_a_share_the_limit_is_that_of_a_micro_batch(self, monkeypatch, buffer, make_dead_letter, length):
        monkeypatch.setattr(buffer_module, "MAX_DEAD_LETTER_BYTES", length)
        buffer.start()
        for number in range(3):
            buffer.add(make_dead_letter(number), number)
        assert self.ranges(buffer) == [(0, None), (1, 3)]
        assert buffer.size > length

    def test_further_events_of_a_record_have_the_same_place(self, buffer, make_dead_letter, length):
        buffer.start(0)
        for fan_out, code in enumerate(["one", "other", "one"]):
            buffer.add(make_dead_letter(7, fan_out=fan_out, code=code), 1)
        assert self.ranges(buffer) == [(7, 8)]
        assert (buffer.size, buffer.by_place) == (length - len("decorate") + len("one"), 1)

    @pytest.mark.parametrize(
        ("first", "second", "found"),
        [
            ("a", "a", [(7, None, "split")]),
            ("ab", "a", [(7, None, "split")]),
            ("a", "b", [(7, None, "split"), (7, 8, "b")]),
            ("a", "ab", [(7, None, "split"), (7, 8, "b")]),
            ("b", "abc", [(7, None, "split"), (7, 8, "a"), (7, 8, "c")]),
        ],
    )
    def test_record_has_no_place_for_sinks_into_which_its_bytes_run(
        self, buffer, make_dead_letter, length, first, second, found
    ):
        """Of a fan-out: a replay runs the whole record, and would write it twice to an archive or a feed."""
        buffer.start(length)
        buffer.add(make_dead_letter(7), 1, frozenset(first))
        component = second if len(second) == 1 else "split"
        buffer.add(make_dead_letter(7, fan_out=1, component=component, code="other"), 1, frozenset(second))
        assert self.components(buffer) == found

    def test_buffered_event_of_a_record_has_no_place_for_sinks_into_which_its_bytes_run(
        self, buffer, make_dead_letter, length
    ):
        """It fails when later records have failed already."""
        buffer.start(length)
        buffer.add(make_dead_letter(7), 1, frozenset("a"))
        buffer.add(make_dead_letter(8), 2, frozenset("ab"))
        buffer.add(make_dead_letter(7, fan_out=1, code="other"), 1, frozenset("ab"))
        assert self.components(buffer) == [(7, None, "split"), (8, 9, "split"), (7, 8, "b")]

    def test_record_that_has_a_place_gets_no_dead_letter_with_bytes(self, buffer, make_dead_letter, length):
        """One that would fit is left out, and counts as such: if all fit, the task runs again without places."""
        buffer.start(length)
        large = make_dead_letter(7, message="x" * 100)
        buffer.add(large, 1, frozenset("a"))
        buffer.add(make_dead_letter(7, fan_out=1), 1, frozenset("ab"))
        buffer.add(make_dead_letter(7, fan_out=2, code="other"), 1, frozenset("b"))
        assert self.components(buffer) == [(7, 8, "split")]
        assert buffer.size == len(large.to_json()) + length

    def test_further_events_of_a_dead_letter_that_fits_count_in_it(self, buffer, make_dead_letter, length):
        buffer.start(length)
        for _ in range(3):
            buffer.add(make_dead_letter(7), 1)
        assert [(each.by_place, each.events) for each in dead_letters_of(buffer.lines())] == [(None, 3)]

    def test_those_of_records_that_could_not_be_read_stay_as_they_are(self, buffer, make_dead_letter):
        buffer.start(0)
        letter = make_dead_letter(7, value=None, by_place=PlaceRange(90))
        buffer.add(letter, 1)
        assert buffer.lines() == [letter.to_json()]

    def test_secret_in_the_message_is_masked(self, buffer, make_dead_letter):
        buffer.start(0)
        buffer.add(make_dead_letter(7, message="no hunter2"), 1)
        assert dead_letters_of(buffer.lines())[0].message.startswith("no ***;")

    def test_value_is_kept_elsewhere_only_if_the_dead_letter_fits(self, make_dead_letter, length):
        blobs = Blobs(3)
        buffer = DeadLetterBuffer(Masks(), blobs, offsets=OffsetUnit.RECORDS)
        buffer.start(2 * length)
        for number in range(3):
            buffer.add(make_dead_letter(number, value=b"x" * 2 * length), number)
        assert self.ranges(buffer) == [(0, None), (1, 3)]
        assert [reference for reference, _ in blobs.kept] == [b"dead-letter/p/1000/ticks/0/0/0/split"]

    def test_places_have_a_limit_too(self, monkeypatch, buffer, make_dead_letter, length):
        """It is far above that of the events of a micro-batch, unless an operator has raised them much."""
        monkeypatch.setattr(buffer_module, "MAX_DEAD_LETTER_BYTES", 0)
        monkeypatch.setattr(buffer_module, "MAX_PLACES_BYTES", 10 * length)
        buffer.start()

        def fill() -> None:
            for number in range(0, 100, 2):
                buffer.add(make_dead_letter(number), number)

        with pytest.raises(DeadLettersTooLargeError, match="many are without bytes of records"):
            fill()

    def test_dead_letters_that_are_not_published_have_no_places(self, make_dead_letter):
        buffer = DeadLetterBuffer(Masks(), is_published=False, offsets=OffsetUnit.RECORDS)
        buffer.start(0)
        for number in range(3):
            buffer.add(make_dead_letter(number), number)
        assert self.ranges(buffer) == [(0, None), (1, None), (2, None)]

    def test_a_new_start_removes_all(self, buffer, make_dead_letter, length):
        buffer.start(length)
        for number in range(3):
            buffer.add(make_dead_letter(number), number)
        buffer.start(length)
        assert (buffer.lines(), buffer.size, buffer.by_place) == ([], 0, 0)
