"""Reports events of a task at places that a reader wants to see: bounded in number and bytes, masked as a log is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ingest.api import Event, EventError, Record
from ingest.api.notation import name_to_bytes
from ingest.api.taps import MAX_ATTRIBUTES, Tap, TapCounts
from ingest.expressions import Condition
from ingest.formats.event_json import Line, given_event, given_record, key_of, shown_event
from ingest.masks import Masks
from ingest.pipeline.failures import Failure
from ingest.pipeline.parts import Parts

MAX_EVENTS = 20
"""Of a tap in a task."""
MAX_BYTES = 256 << 10
"""Of all taps in a task, so that a micro-batch of many tasks stays small; a larger event is left out."""
MAX_TEXT = 200
"""Characters of a name of an attribute, or of the error of a condition."""
NAMED_EVENTS = 20
"""First events of a task whose attributes are named to a reader whose condition they do not meet."""
_ATTRIBUTE = "attribute:"
"""Start of the name of an attribute in `Condition.references`."""


@dataclass(frozen=True, slots=True)
class TapView:
    """
    How tapped events are shown.

    Attributes:
        zone: of the pipeline, for times in conditions.
        masks: of the configuration.
        written: returns, by name of a sink, what it writes for an event and a batch time.
    """

    zone: str
    masks: Masks
    written: Callable[[], Mapping[str, Callable[[Event, int], Iterable[Line]]]]


class _Open:
    """A tap that takes more events."""

    def __init__(self, tap: Tap, view: TapView) -> None:
        self.tap = tap
        self.left = MAX_EVENTS
        self.counts = TapCounts()
        self._view = view
        self._condition = None if tap.where is None else Condition.parse(tap.where, view.zone)
        named = () if self._condition is None else self._condition.references
        self._absent = {name.removeprefix(_ATTRIBUTE) for name in named if name.startswith(_ATTRIBUTE)}
        self.counts.absent = set(map(self._shown, self._absent))

    def takes(self, event: Event | None) -> bool:
        """Whether it takes this event; None for a record that was not decoded, which meets no condition."""
        if self.left <= 0:
            return False
        if self._condition is None:
            return True
        counts = self.counts
        counts.compared += 1
        if event is None:
            self._not_evaluated("a record that was not decoded has no attributes")
            return False
        if self._absent and not self._absent.isdisjoint(event.attributes):
            self._absent.difference_update(event.attributes)
            counts.absent = set(map(self._shown, self._absent))
        if counts.compared <= NAMED_EVENTS:
            new = [name for name in map(self._shown, event.attributes) if name not in counts.attributes]
            counts.attributes.update(new[: MAX_ATTRIBUTES - len(counts.attributes)])
        try:
            holds = self._condition.holds(event)
        except EventError as error:
            self._not_evaluated(str(error))
            return False
        counts.met += holds
        return holds

    def _not_evaluated(self, reason: str) -> None:
        self.counts.failed += 1
        self.counts.error = self.counts.error or self._view.masks.hide(reason)[:MAX_TEXT]

    def _shown(self, name: str) -> str:
        return self._view.masks.hide(key_of(name_to_bytes(name)))[:MAX_TEXT]


class Tapping:
    """
    Takes what taps want of the events of a task: it makes copies of the parts that report, and the task runs these.

    Args:
        taps: at least one.
        view: how events are shown.
        batch_time_ms: of the micro-batch.
        on_full: called once, when no tap takes more events: the task continues without this object.

    Attributes:
        lines: id of a tap and JSON of an event, or of what a sink writes.
        counts: id of a tap with a condition -> how many events it was compared with.
        has_failures: whether a tap takes failed events.
    """

    def __init__(self, taps: Sequence[Tap], view: TapView, *, batch_time_ms: int, on_full: Callable[[], None]) -> None:
        self._view = view
        self._batch_time_ms = batch_time_ms
        self._on_full = on_full
        self._bytes_left = MAX_BYTES
        self._open = [_Open(tap, view) for tap in taps]
        self.lines: list[tuple[str, bytes]] = []
        self.counts = {each.tap.id: each.counts for each in self._open if each.tap.where is not None}
        self._of_failures = [each for each in self._open if each.tap.is_failed]
        self.has_failures = bool(self._of_failures)
        by_place: dict[tuple[bool, str], list[_Open]] = {}
        for each in self._open:
            if not each.tap.is_failed:
                by_place.setdefault((each.tap.is_sink, each.tap.at), []).append(each)
        self._of_source = by_place.pop((False, ""), [])
        self._at = {name: found for (is_sink, name), found in by_place.items() if not is_sink}
        self._sinks = {name: found for (is_sink, name), found in by_place.items() if is_sink}
        self._written = view.written() if self._sinks else {}

    def around(self, parts: Parts) -> Parts:
        """Copies of parts that report; those that no tap is at are the same objects."""
        return Parts(
            self._decoding(parts.decode) if self._of_source else parts.decode,
            parts.chain.with_calls(self._around) if self._at else parts.chain,
            tuple(
                replace(each, write=self._writing(each.write, self._written[each.name], self._sinks[each.name]))
                if each.name in self._sinks and each.name in self._written
                else each
                for each in parts.bindings
            ),
        )

    def failed(self, record: Record, failure: Failure) -> None:
        """An event of a record has failed, or the record, which has none."""
        event = failure.event
        for each in self._of_failures:
            if each.tap.at in ("", failure.component) and each.takes(event):
                about: Line = {
                    "component": failure.component,
                    "code": failure.error.code,
                    "message": str(failure.error).encode("utf-8", "backslashreplace").decode(),
                    "on_error": failure.on_error.value,
                    "batch_time_ms": self._batch_time_ms,
                    "attributes": {} if event is None else shown_event(event)["attributes"],
                }
                self._take(each, [given_record(record) | about])

    def _decoding(self, decode: Callable[[Record], Event | str]) -> Callable[[Record], Event | str]:
        def tapped(record: Record) -> Event | str:
            event = decode(record)
            if isinstance(event, Event):
                for each in self._of_source:
                    if each.takes(event):
                        self._take(each, [given_record(record)])
            return event

        return tapped

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """See `Chain.with_calls`; a call has the event as its last argument, or of a fan-out as its second."""
        found = self._at.get(name)
        if found is None:
            return call
        before = [each for each in found if each.tap.is_before]
        after = [each for each in found if not each.tap.is_before]

        def tapped(*arguments: Any, **options: Any) -> Any:
            event = arguments[0] if len(arguments) == 1 else arguments[1]
            self._offer(before, (event,))
            result = call(*arguments, **options)
            if after:
                self._offer(after, result if isinstance(result, list) else (event,) if result is True else ())
            return result

        return tapped

    def _writing(
        self,
        write: Callable[[Event], str | None],
        lines_of: Callable[[Event, int], Iterable[Line]],
        found: Sequence[_Open],
    ) -> Callable[[Event], str | None]:
        def tapped(event: Event) -> str | None:
            reason = write(event)
            if reason is None:
                for each in found:
                    if each.takes(event):
                        self._take(each, lines_of(event, self._batch_time_ms))
            return reason

        return tapped

    def _offer(self, taps: Sequence[_Open], events: Iterable[Event]) -> None:
        for event in events:
            for each in taps:
                if each.takes(event):
                    self._take(each, [given_event(event)])

    def _take(self, tap: _Open, lines: Iterable[Line]) -> None:
        encoded = [orjson.dumps(self._view.masks.hidden(line)) for line in lines]
        size = sum(map(len, encoded))
        tap.left -= 1
        if MAX_BYTES >= size > self._bytes_left:
            for each in self._open:
                each.left = 0
        elif size <= MAX_BYTES:
            self._bytes_left -= size
            self.lines += [(tap.tap.id, line) for line in encoded]
        if not any(each.left for each in self._open):
            self._on_full()
