"""The dead letters of one task while it runs."""

from collections import Counter
from dataclasses import replace

from ingest.api import IngestError, RecordPlace
from ingest.dead_letters.envelope import DeadLetter
from ingest.masks import Masks

MAX_DEAD_LETTER_BYTES = 64 * 1024 * 1024  # of one batch: more would fill the memory of the driver
MAX_ATTRIBUTE_BYTES = 1 << 20  # of a dead letter: attributes have no size limit, and a replay computes them again


class TooManyDeadLettersError(IngestError):
    """The dead letters of one batch do not fit in the driver."""

    code = "dead_letters_too_large"


def too_many_dead_letters(message: str, last: str = "") -> TooManyDeadLettersError:
    """The error of a micro-batch with more dead letters than the driver accepts, with the way out."""
    way_out = "correct the pipeline, lower max_events_per_batch, or set on_error: drop"
    return TooManyDeadLettersError(message, hint=f"{last}; {way_out}" if last else way_out)


def check_size(size: int, last: str = "") -> None:
    """
    Check that the dead letters of a batch, of `size` bytes, are not too large.

    Raises:
        TooManyDeadLettersError: they are.
    """
    if size > MAX_DEAD_LETTER_BYTES:
        message = f"more than {MAX_DEAD_LETTER_BYTES >> 20} MiB of dead letters in one micro-batch"
        raise too_many_dead_letters(message, last)


class DeadLetterBuffer:
    """
    Collects dead letters: one for all events of a record that failed in one component with one code.

    A dead letter contains the whole record, and a record may have a hundred thousand events. With a dead letter for
    each event, a single record would exceed the limit of a batch in every attempt, and smaller batches would not help.

    Args:
        masks: hides secrets in messages and attributes; the record stays as the source read it.
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._lines: dict[tuple[RecordPlace, str, str], bytes] = {}
        self._events: Counter[tuple[RecordPlace, str, str]] = Counter()
        self._bytes = 0

    def add(self, letter: DeadLetter) -> None:
        """
        Add the dead letter of an event, or count the event if there is one like it.

        Raises:
            TooManyDeadLettersError: there are more than a batch may have.
        """
        alike = letter.record.place, letter.component, letter.code
        self._events[alike] += 1
        if alike in self._lines:
            return
        letter = self._masked(_bounded(letter))
        line = self._lines[alike] = letter.to_json()
        self._bytes += len(line)
        topic, partition, offset = letter.record.place
        check_size(self._bytes, f"the last one is of {topic}/{partition}/{offset}: {letter.message}")

    def clear(self) -> None:
        """Remove all dead letters."""
        self._lines.clear()
        self._events.clear()
        self._bytes = 0

    def _masked(self, letter: DeadLetter) -> DeadLetter:
        hide = self._masks.hide_bytes
        return replace(
            letter,
            message=self._masks.hide(letter.message),
            attributes={name: hide(value) for name, value in letter.attributes.items()},
        )

    def lines(self) -> list[bytes]:
        """The dead letters as JSON, in the order of their first events, each with the number of its events."""
        for alike, events in self._events.items():
            if events > 1:
                letter = DeadLetter.from_json(self._lines[alike])
                self._lines[alike] = replace(letter, events=events).to_json()
        return list(self._lines.values())


def _bounded(letter: DeadLetter) -> DeadLetter:
    """The dead letter, without its attributes if they are so large that a few would fill a batch."""
    size = sum(len(name) + len(value) for name, value in letter.attributes.items())
    if size <= MAX_ATTRIBUTE_BYTES:
        return letter
    left_out = f"{len(letter.attributes)} attributes of {size} bytes in all are not in the dead letter"
    return replace(letter, attributes={}, message=f"{letter.message} ({left_out})")
