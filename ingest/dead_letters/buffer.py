"""The dead letters of one task while it runs."""

from collections import Counter
from dataclasses import replace

from ingest.api import IngestError, OffsetUnit, RecordPlace
from ingest.dead_letters.blobs import DeadLetterBlob, DeadLetterBlobs
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.places import Places
from ingest.masks import Masks

MAX_DEAD_LETTER_BYTES = 64 * 1024 * 1024
"""Of one batch, of the dead letters that have the bytes of their records: more would fill the memory of the driver."""
MAX_PLACES_BYTES = 192 * 1024 * 1024
"""Of one batch, of the dead letters by place: 300,000, if no two records that follow one another fail alike."""
MAX_ATTRIBUTE_BYTES_BESIDE_A_BLOB = 16 << 10  # else parts of a value that was moved would fill the batch
MAX_ATTRIBUTE_BYTES = 1 << 20  # of a dead letter: attributes have no size limit, and a replay computes them again
_ANY_ID = "0" * 64  # as long as the id of a blob
_LEAST_BYTES = 300  # of a dead letter without a value
_ONLY_SINK = frozenset({""})  # of a pipeline with one sink, whose name makes no difference


class DeadLettersTooLargeError(IngestError):
    """A micro-batch has more than 64 MiB of dead letters, and its source cannot read records again; or 256 MiB."""

    code = "dead_letters_too_large"
    remedy = (
        "Correct the pipeline, or lower `max_events_per_batch`; if events are large, give a table `blobs: {threshold: "
        "1MiB}`."
    )


def dead_letters_too_large(message: str, last: str = "") -> DeadLettersTooLargeError:
    """The error of a micro-batch with more dead letters than the driver accepts, with a hint."""
    hint = "correct the pipeline, lower max_events_per_batch, or set on_error: drop"
    return DeadLettersTooLargeError(message, hint=f"{last}; {hint}" if last else hint)


def check_size(size: int, last: str = "", *, has_places: bool = False) -> None:
    """
    Check that the dead letters of a batch are not too large.

    Args:
        size: bytes of the dead letters.
        last: about the last one, for the hint.
        has_places: whether some are by place.

    Raises:
        DeadLettersTooLargeError: they are.
    """
    limit = MAX_DEAD_LETTER_BYTES + (MAX_PLACES_BYTES if has_places else 0)
    if size > limit:
        without_bytes = ", though many are without bytes of records" if has_places else ""
        message = f"more than {limit >> 20} MiB of dead letters in one micro-batch{without_bytes}"
        raise dead_letters_too_large(message, last)


class DeadLetterBuffer:
    """
    Collects dead letters: one for all events of a record that failed in one component with one code.

    A dead letter contains the whole record, and a record may have a hundred thousand events. With a dead letter for
    each event, a single record would exceed the limit of a batch in every attempt, and smaller batches would not help.

    Those that do not fit have the places of their records in place of their bytes (`ingest.dead_letters.places`), if
    the source can read these again.

    Args:
        masks: hides secrets in messages and attributes; the record stays as the source read it.
        blobs: keeps large values of records, which the dead letters then do not contain; None to keep them there.
        is_published: False if only the errors of the dead letters are used; they then have no key, value and headers,
            and no limit, since there are no more of them than records and components.
        offsets: as `SourceSettings.read_again_by`.
    """

    def __init__(
        self,
        masks: Masks,
        blobs: DeadLetterBlobs | None = None,
        *,
        is_published: bool = True,
        offsets: OffsetUnit | None = None,
    ) -> None:
        self._masks = masks
        self._blobs = blobs
        self._is_published = is_published
        self._offsets = offsets if is_published else None
        self.start()

    def start(self, max_bytes: int | None = None) -> None:
        """
        Remove all dead letters.

        Args:
            max_bytes: of those that have the bytes of their records; None for as many as a micro-batch may have.
        """
        self._max_bytes = MAX_DEAD_LETTER_BYTES if max_bytes is None else max_bytes
        self._lines: dict[tuple[RecordPlace, str, str], bytes] = {}
        self._events: Counter[tuple[RecordPlace, str, str]] = Counter()
        self._bytes = self._bytes_left_out = 0
        # into which a replay runs the dead letters of a record that have its bytes
        self._sinks: dict[RecordPlace, frozenset[str]] = {}
        self._places = None if self._offsets is None else Places(self._offsets, MAX_DEAD_LETTER_BYTES)

    @property
    def size(self) -> int:
        """Bytes of the dead letters if all had those of their records; above the limit of a batch, so many at least."""
        return self._bytes + self._bytes_left_out

    @property
    def by_place(self) -> int:
        """Number of records that have places, in each sink in which they failed."""
        return 0 if self._places is None else self._places.records

    def add(self, dead_letter: DeadLetter, number: int = 0, sinks: frozenset[str] = _ONLY_SINK) -> None:
        """
        Add the dead letter of an event, or count the event if there is one of its record, component and code.

        A replay runs the places of a record apart from its bytes, so no two of them name the same sink.

        Args:
            dead_letter: of the event.
            number: of its record in the task; one that is read next has the next number.
            sinks: into which a replay runs it: one, or all of the record, since the event has failed before them.

        Raises:
            DeadLettersTooLargeError: there are more than a batch may have.
            IngestError: the blob store is unavailable.
        """
        group = dead_letter.record.place, dead_letter.component, dead_letter.code
        places = self._places
        if group in self._lines:
            self._events[group] += 1
            return
        if places is not None and places.has(number, sinks):
            return
        dead_letter = self._masked(_bounded(dead_letter))
        if places is None:
            self._keep(group, self._cut(dead_letter).to_json())
            if self._is_published:
                topic, partition, offset = dead_letter.record.place
                check_size(self._bytes, f"the last one is of {topic}/{partition}/{offset}: {dead_letter.message}")
        elif dead_letter.by_place is not None:
            self._keep(group, dead_letter.to_json())  # it has no bytes, and its place is not that of one record
        elif (line := self._fitting(dead_letter, may_keep=not places.has(number))) is not None:
            self._keep(group, line)
            place = dead_letter.record.place
            self._sinks[place] = sinks | self._sinks.get(place, sinks)
        else:
            self._add_place(places, dead_letter, number, sinks)
            check_size(self._bytes + places.size, has_places=True)

    def lines(self) -> list[bytes]:
        """
        The dead letters as JSON, in the order of their first events, each with the number of its events; then those by
        place.
        """
        for group, events in self._events.items():
            if events > 1:
                dead_letter = DeadLetter.from_json(self._lines[group])
                self._lines[group] = replace(dead_letter, events=events).to_json()
        return [*self._lines.values(), *(() if self._places is None else self._places.lines())]

    def _keep(self, group: tuple[RecordPlace, str, str], line: bytes) -> None:
        self._lines[group] = line
        self._events[group] = 1
        self._bytes += len(line)

    def _add_place(self, places: Places, dead_letter: DeadLetter, number: int, sinks: frozenset[str]) -> None:
        """Add a dead letter by place, of the sinks into which no dead letter with bytes runs its record."""
        others = sinks - self._sinks.get(dead_letter.record.place, frozenset())
        if others == sinks:
            places.add(dead_letter, number, sinks)
            return
        for name in sorted(others):  # of a sink each, or a replay would run it into all
            places.add(replace(dead_letter, component=name), number, frozenset({name}))

    def _fitting(self, dead_letter: DeadLetter, *, may_keep: bool) -> bytes | None:
        """The dead letter as JSON, or None if it does not fit; its value is kept elsewhere only if it does."""
        room = self._max_bytes - self._bytes
        if self.size > MAX_DEAD_LETTER_BYTES and _least_bytes(dead_letter, self._blobs) > room:
            return None  # how much more is left out does not matter, so no JSON is made of it
        kept = self._kept_elsewhere(dead_letter)
        if kept is None:
            line = dead_letter.to_json()
        else:
            value, blobs = kept
            line = dead_letter.with_blob(DeadLetterBlob(blobs.table, _ANY_ID, len(value))).to_json()
        if len(line) > room or not may_keep:
            self._bytes_left_out += len(line)
            return None
        return line if kept is None else self._cut(dead_letter).to_json()

    def _kept_elsewhere(self, dead_letter: DeadLetter) -> tuple[bytes, DeadLetterBlobs] | None:
        """The value of the record, and where it is kept; None if the dead letter has it."""
        value, blobs = dead_letter.record.value, self._blobs
        return None if blobs is None or value is None or len(value) <= blobs.threshold else (value, blobs)

    def _cut(self, dead_letter: DeadLetter) -> DeadLetter:
        """The dead letter, without a value that is kept elsewhere."""
        if not self._is_published:
            stub = dead_letter.record._replace(key=None, value=None, headers=())
            return replace(dead_letter, record=stub, attributes={})
        kept = self._kept_elsewhere(dead_letter)
        if kept is None:
            return dead_letter
        value, blobs = kept
        blob = blobs.keep(value, dead_letter.blob_reference)
        return dead_letter.with_blob(DeadLetterBlob(blobs.table, blob, len(value)))

    def _masked(self, dead_letter: DeadLetter) -> DeadLetter:
        hide = self._masks.hide_bytes
        return replace(
            dead_letter,
            message=self._masks.hide(dead_letter.message),
            attributes={name: hide(value) for name, value in dead_letter.attributes.items()},
        )


def _least_bytes(dead_letter: DeadLetter, blobs: DeadLetterBlobs | None) -> int:
    """Bytes that the dead letter has at least as JSON."""
    value = dead_letter.record.value or b""
    return _LEAST_BYTES + (0 if blobs is not None and len(value) > blobs.threshold else len(value))


def _bounded(dead_letter: DeadLetter) -> DeadLetter:
    """The dead letter, without its attributes if they are so large that a few would fill a batch."""
    size = sum(len(name) + len(value) for name, value in dead_letter.attributes.items())
    if size <= (MAX_ATTRIBUTE_BYTES if dead_letter.blob is None else MAX_ATTRIBUTE_BYTES_BESIDE_A_BLOB):
        return dead_letter
    left_out = f"{len(dead_letter.attributes)} attributes of {size} bytes in all are not in the dead letter"
    return replace(dead_letter, attributes={}, message=f"{dead_letter.message} ({left_out})")
