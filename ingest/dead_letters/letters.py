"""The dead letters of one task, as long as it runs."""

from collections import Counter
from dataclasses import replace

from ingest.api import IngestError, RecordPlace
from ingest.dead_letters.envelope import DeadLetter

MAX_DEAD_LETTER_BYTES = 64 * 1024 * 1024  # of one batch: more is no longer an exception, and would fill the driver
MAX_ATTRIBUTE_BYTES = 1 << 20  # of a letter: a replay makes them of the record again, and they may be any number


class TooManyDeadLettersError(IngestError):
    """The dead letters of one batch do not fit in the driver."""

    code = "dead_letters_too_large"


def too_many_dead_letters(message: str, last: str = "") -> TooManyDeadLettersError:
    """The error of a micro-batch with more dead letters than the driver takes, with the way out."""
    way_out = "mend the pipeline, set max_events_per_batch lower, or say on_error: drop"
    return TooManyDeadLettersError(message, hint=f"{last}; {way_out}" if last else way_out)


def check_size(size: int, last: str = "") -> None:
    """
    See that so many bytes of dead letters are not too many for a batch.

    Raises:
        TooManyDeadLettersError: they are.
    """
    if size > MAX_DEAD_LETTER_BYTES:
        message = f"more than {MAX_DEAD_LETTER_BYTES >> 20} MiB of dead letters in one micro-batch"
        raise too_many_dead_letters(message, last)


class Letters:
    """
    Dead letters as they come up: one for all events of a record that failed in one component with one code.

    A letter holds its record whole, and a record may have a hundred thousand events: with a letter for each of them a
    single record would be more than a batch may keep, in every attempt. Fewer events in a batch would not help.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[RecordPlace, str, str], bytes] = {}
        self._events: Counter[tuple[RecordPlace, str, str]] = Counter()
        self._bytes = 0

    def add(self, letter: DeadLetter) -> None:
        """
        Keep the letter of an event, or count the event where there is a letter like it.

        Raises:
            TooManyDeadLettersError: there are more than a batch may have.
        """
        alike = letter.record.place, letter.component, letter.code
        self._events[alike] += 1
        if alike in self._lines:
            return
        line = self._lines[alike] = _bounded(letter).to_json()
        self._bytes += len(line)
        topic, partition, offset = letter.record.place
        check_size(self._bytes, f"the last one is of {topic}/{partition}/{offset}: {letter.message}")

    def lines(self) -> list[bytes]:
        """The letters as JSON, in the order of their first events, each with the number of its events."""
        for alike, events in self._events.items():
            if events > 1:
                letter = DeadLetter.from_json(self._lines[alike])
                self._lines[alike] = replace(letter, events=events).to_json()
        return list(self._lines.values())


def _bounded(letter: DeadLetter) -> DeadLetter:
    """The letter, without its attributes when they are so large that few letters would fill a batch."""
    size = sum(len(name) + len(value) for name, value in letter.attributes.items())
    if size <= MAX_ATTRIBUTE_BYTES:
        return letter
    left_out = f"{len(letter.attributes)} attributes of {size} bytes in all are not in the letter"
    return replace(letter, attributes={}, message=f"{letter.message} ({left_out})")
