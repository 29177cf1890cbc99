"""Reports events of a task at places that a reader wants to see: bounded in number and bytes, masked as a log is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ingest.api import Event, EventError, Record
from ingest.api.taps import Tap
from ingest.expressions import Condition
from ingest.formats.event_json import Line, given_event, given_record
from ingest.masks import Masks
from ingest.pipeline.chain import Chain
from ingest.pipeline.sink_binding import SinkBinding

MAX_EVENTS = 20
"""Of a tap in a task."""
MAX_BYTES = 256 << 10
"""Of all taps in a task, so that a micro-batch of many tasks stays small; a larger event is left out."""


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

    def __init__(self, tap: Tap, zone: str) -> None:
        self.tap = tap
        self.left = MAX_EVENTS
        self._condition = None if tap.where is None else Condition.parse(tap.where, zone)

    def takes(self, event: Event) -> bool:
        """Whether it takes this event."""
        if self.left <= 0:
            return False
        try:
            return self._condition is None or self._condition.holds(event)
        except EventError:  # as for an event that lacks what the condition compares
            return False


class Tapping:
    """
    The parts of a task with taps in them; the parts themselves stay as they are.

    Args:
        taps: at least one.
        view: how events are shown.
        decode: of the task.
        chain: of the task.
        bindings: the sinks of the task.
        batch_time_ms: of the micro-batch.
        on_full: called once, when no tap takes more events: the task continues without this object.

    Attributes:
        decode, chain, bindings: in place of those of the task.
        lines: id of a tap and JSON of an event, or of what a sink writes.
    """

    def __init__(
        self,
        taps: Sequence[Tap],
        view: TapView,
        *,
        decode: Callable[[Record], Event | str],
        chain: Chain,
        bindings: Sequence[SinkBinding],
        batch_time_ms: int,
        on_full: Callable[[], None],
    ) -> None:
        self._view = view
        self._decode = decode
        self._batch_time_ms = batch_time_ms
        self._on_full = on_full
        self._bytes_left = MAX_BYTES
        self._open = [_Open(tap, view.zone) for tap in taps]
        self.lines: list[tuple[str, bytes]] = []
        by_place: dict[tuple[bool, str], list[_Open]] = {}
        for each in self._open:
            by_place.setdefault((each.tap.is_sink, each.tap.at), []).append(each)
        self._of_source = by_place.pop((False, ""), [])
        self._at = {name: found for (is_sink, name), found in by_place.items() if not is_sink}
        self.decode = self._decoded if self._of_source else decode
        self.chain = chain.with_calls(self._around) if self._at else chain
        sinks = {name: found for (is_sink, name), found in by_place.items() if is_sink}
        written = view.written() if sinks else {}
        self.bindings = tuple(
            replace(binding, write=self._written(binding.write, written[binding.name], sinks[binding.name]))
            if binding.name in sinks and binding.name in written
            else binding
            for binding in bindings
        )

    def _decoded(self, record: Record) -> Event | str:
        event = self._decode(record)
        if isinstance(event, Event):
            for each in self._of_source:
                if each.takes(event):
                    self._take(each, [given_record(record)])
        return event

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

    def _written(
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
