"""
The memory that the events of one record may take, whatever a producer sends.

A decorator may turn a few bytes into many: a fan-out copies all attributes for each event, a template repeats a value.
The chain measures what the events of a large record hold after each decorator. It does not measure small events: their
size times what an operator writes into a template is small.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from ingest.api import DecorateError, Event
from ingest.api.event_errors import TooLargeError
from ingest.api.growth import ENTRY_BYTES, EVENT_BYTES, OBJECT_BYTES

LARGE_EVENT_BYTES = 64 << 10
"""The size from which an event is measured."""
_LARGE_RECORD_BYTES = 1 << 20  # of all events of fan-outs; from then on they are measured
_FEW_EVENTS = 16  # as many of an event that is not large are not measured: 1 MiB
_STEP_ENTRIES = 50_000  # attributes of the events that a fan-out makes before they are counted: 2 MB


def size_of(event: Event) -> int:
    """Bytes of the body, the key, and the names and values of the attributes."""
    attributes = event.attributes
    # joined texts are measured in a third of the time of single ones
    return len(event.body) + len(event.key) + len("".join(attributes)) + len(b"".join(attributes.values()))


class Growth:
    """
    What the events of one record hold.

    Names and values that an event has from the event it was made of take no memory of their own.

    Args:
        max_bytes: that they may hold.

    Attributes:
        is_measured: whether the events are so large that they are measured after each decorator.
    """

    __slots__ = ("_kept", "_made", "_max_bytes", "_own", "_repeated", "_shared", "_total", "is_measured")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._total = 0
        self._made = 0  # by fan-outs
        self._repeated = 0  # bytes that the events of fan-outs would hold if they shared nothing
        self.is_measured = False
        self._own: dict[int, int]  # id of an event -> bytes that only this event holds
        self._shared: set[int]  # ids of names and values of the events from which others were made
        self._kept: list[object]  # keeps these ids valid

    def _start(self) -> None:
        if not self.is_measured:
            self.is_measured = True
            self._own, self._shared, self._kept = {}, set(), []

    def measure(self, event: Event) -> None:
        """
        Measure an event, and from now on all events of the record.

        Raises:
            DecorateError: the events of the record hold too much; this one is empty now.
        """
        self._start()
        shared = self._shared
        own = EVENT_BYTES + ENTRY_BYTES * len(event.attributes)
        for name, value in event.attributes.items():
            if id(value) not in shared:
                own += OBJECT_BYTES + len(value)
            if id(name) not in shared:
                own += OBJECT_BYTES + len(name)
        if id(event.body) not in shared:
            own += len(event.body)
        before = self._own.get(id(event), 0)
        if self._total + own - before > self._max_bytes:
            self._total -= before
            self._own.pop(id(event), None)
            event.body, event.attributes = b"", {}  # a dead letter keeps its event until all of the record are done
            raise self._too_large()
        self._total += own - before
        self._own[id(event)] = own

    def changed(self, event: Event, *, is_inflated: bool) -> None:
        """Measure an event that a decorator has changed, if its record is large, or if it may be large now."""
        if self.is_measured or (is_inflated and size_of(event) > LARGE_EVENT_BYTES):
            self.measure(event)

    def counted(self, parent: Event) -> Callable[[Iterable[Event]], list[Event]]:
        """
        A function that lists the events that a fan-out makes of one, and fails before all of them are made.

        It raises DecorateError if they would hold too much.
        """
        step = 1 + _STEP_ENTRIES // (1 + len(parent.attributes))

        def take(events: Iterable[Event]) -> list[Event]:
            remaining = iter(events)
            made = list(islice(remaining, step))
            if len(made) < step:
                return made
            held = self._total + sum(map(_held_by, made))
            while some := list(islice(remaining, step)):
                made += some
                held += sum(map(_held_by, some))
                if held > self._max_bytes:
                    raise self._too_large()
            return made

        return take

    def made(self, parent: Event, events: Sequence[Event]) -> None:
        """
        Measure the events that a fan-out has made of one, if their record is large now.

        Raises:
            DecorateError: the events of the record hold too much.
        """
        if not self.is_measured:
            self._made += len(events)
            if self._made <= _FEW_EVENTS:
                return
            self._repeated += size_of(parent) * len(events)
            if self._repeated <= _LARGE_RECORD_BYTES:
                self._total += len(events) * _held_by(parent)
                if self._total > self._max_bytes:
                    raise self._too_large()
                return
        self._start()
        self._share(parent)
        for event in events:
            self.measure(event)

    def _share(self, event: Event) -> None:
        kept = [event.body, *event.attributes, *event.attributes.values()]
        self._kept.append(kept)
        self._shared.update(map(id, kept))

    def _too_large(self) -> DecorateError:
        return TooLargeError(
            f"the events made of this record would take more than {self._max_bytes >> 20} MiB of memory",
            hint="remove large attributes, or many small ones, before they are copied or repeated, as with `select`; "
            "or raise `max_event_bytes` of the source, of which events may take four times as much",
        )


def _held_by(event: object) -> int:
    """Bytes of an event whose names and values are those of others; 0 for what a fan-out must not return."""
    return EVENT_BYTES + ENTRY_BYTES * len(event.attributes) if isinstance(event, Event) else 0
