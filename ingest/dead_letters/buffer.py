"""The dead letters of one task while it runs."""

from collections import Counter
from dataclasses import replace

from ingest.api import IngestError, RecordPlace
from ingest.dead_letters.bodies import DeadLetterBodies, DeadLetterBody
from ingest.dead_letters.envelope import DeadLetter
from ingest.masks import Masks

MAX_DEAD_LETTER_BYTES = 64 * 1024 * 1024  # of one batch: more would fill the memory of the driver
MAX_ATTRIBUTE_BYTES_BESIDE_A_BODY = 16 << 10  # else parts of a value that was moved would fill the batch
MAX_ATTRIBUTE_BYTES = 1 << 20  # of a dead letter: attributes have no size limit, and a replay computes them again


class DeadLettersTooLargeError(IngestError):
    """The dead letters of one batch do not fit in the driver."""

    code = "dead_letters_too_large"


def dead_letters_too_large(message: str, last: str = "") -> DeadLettersTooLargeError:
    """The error of a micro-batch with more dead letters than the driver accepts, with a hint."""
    hint = "correct the pipeline, lower max_events_per_batch, or set on_error: drop"
    return DeadLettersTooLargeError(message, hint=f"{last}; {hint}" if last else hint)


def check_size(size: int, last: str = "") -> None:
    """
    Check that the dead letters of a batch, of `size` bytes, are not too large.

    Raises:
        DeadLettersTooLargeError: they are.
    """
    if size > MAX_DEAD_LETTER_BYTES:
        message = f"more than {MAX_DEAD_LETTER_BYTES >> 20} MiB of dead letters in one micro-batch"
        raise dead_letters_too_large(message, last)


class DeadLetterBuffer:
    """
    Collects dead letters: one for all events of a record that failed in one component with one code.

    A dead letter contains the whole record, and a record may have a hundred thousand events. With a dead letter for
    each event, a single record would exceed the limit of a batch in every attempt, and smaller batches would not help.

    Args:
        masks: hides secrets in messages and attributes; the record stays as the source read it.
        bodies: keeps large values of records, which the dead letters then do not contain; None to keep them there.
        is_published: False if only the errors of the dead letters are used; they then have no key, value and headers.
    """

    def __init__(self, masks: Masks, bodies: DeadLetterBodies | None = None, *, is_published: bool = True) -> None:
        self._masks = masks
        self._bodies = bodies
        self._is_published = is_published
        self._lines: dict[tuple[RecordPlace, str, str], bytes] = {}
        self._events: Counter[tuple[RecordPlace, str, str]] = Counter()
        self._bytes = 0

    def add(self, dead_letter: DeadLetter) -> None:
        """
        Add the dead letter of an event, or count the event if there is one of its record, component and code.

        Raises:
            DeadLettersTooLargeError: there are more than a batch may have.
            IngestError: the body store is unavailable.
        """
        group = dead_letter.record.place, dead_letter.component, dead_letter.code
        self._events[group] += 1
        if group in self._lines:
            return
        dead_letter = self._cut(self._masked(_bounded(dead_letter)))
        line = self._lines[group] = dead_letter.to_json()
        self._bytes += len(line)
        topic, partition, offset = dead_letter.record.place
        check_size(self._bytes, f"the last one is of {topic}/{partition}/{offset}: {dead_letter.message}")

    def clear(self) -> None:
        """Remove all dead letters."""
        self._lines.clear()
        self._events.clear()
        self._bytes = 0

    def _cut(self, dead_letter: DeadLetter) -> DeadLetter:
        """The dead letter, without a value that is kept elsewhere."""
        if not self._is_published:
            stub = dead_letter.record._replace(key=None, value=None, headers=())
            return replace(dead_letter, record=stub, attributes={})
        value, bodies = dead_letter.record.value, self._bodies
        if bodies is None or value is None or len(value) <= bodies.threshold:
            return dead_letter
        body = bodies.keep(value, dead_letter.body_reference)
        return dead_letter.with_body(DeadLetterBody(bodies.table, body, len(value)))

    def _masked(self, dead_letter: DeadLetter) -> DeadLetter:
        hide = self._masks.hide_bytes
        return replace(
            dead_letter,
            message=self._masks.hide(dead_letter.message),
            attributes={name: hide(value) for name, value in dead_letter.attributes.items()},
        )

    def lines(self) -> list[bytes]:
        """The dead letters as JSON, in the order of their first events, each with the number of its events."""
        for group, events in self._events.items():
            if events > 1:
                dead_letter = DeadLetter.from_json(self._lines[group])
                self._lines[group] = replace(dead_letter, events=events).to_json()
        return list(self._lines.values())


def _bounded(dead_letter: DeadLetter) -> DeadLetter:
    """The dead letter, without its attributes if they are so large that a few would fill a batch."""
    size = sum(len(name) + len(value) for name, value in dead_letter.attributes.items())
    if size <= (MAX_ATTRIBUTE_BYTES if dead_letter.body is None else MAX_ATTRIBUTE_BYTES_BESIDE_A_BODY):
        return dead_letter
    left_out = f"{len(dead_letter.attributes)} attributes of {size} bytes in all are not in the dead letter"
    return replace(dead_letter, attributes={}, message=f"{dead_letter.message} ({left_out})")
