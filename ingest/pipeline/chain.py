"""A pipeline's decorators as one call: event -> outcomes."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from ingest.api import Buffered, Decorator, Event, EventError, FanOut, IngestError, Origin
from ingest.api.event import MAX_EVENTS_OF_A_RECORD, MAX_FAN_OUT
from ingest.api.growth import max_grown
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.pipeline.growth import LARGE_EVENT_BYTES, Growth, size_of
from ingest.pipeline.outcomes import (
    BoundDecorator,
    Dropped,
    Outcome,
    StillBuffered,
    dropped_or_failed,
    failed,
    invalid_result,
    too_many,
)
from ingest.plugins.guard import check_event, checked, describe_exception, events_of, reraise_fatal

_GREW = object()
"""Result of a call that kept an event, which is large now."""


class SplitStartFailedError(IngestError):
    """A decorator raised an unexpected exception at the start of a split, before the first event."""

    code = "split_start_failed"
    remedy = "Correct the decorator in the message, then start again."


Watcher = Callable[[BoundDecorator, Event, Sequence[Event]], None]
"""
Called after each decorator that raised no error: the decorator, a copy of the event before, and the events that came
out (none if it was dropped or is buffered), with the origins that the chain has set.
"""


class _BufferedEvent(NamedTuple):
    """An event that a decorator buffers, its origin, and whether a fan-out made it."""

    event: Event
    origin: Origin
    is_fanned_out: bool


class Chain:
    """
    A compiled chain of decorators.

    Called by one thread. Order: `split_start`, then `run` for each event of a split, then all that `split_end` yields;
    or `split_start` again at any point, which abandons the split. A chain that `has_splits` needs each partition of a
    micro-batch as a split of its own; for any other chain, all that a task reads may be one split.

    A chain without a fan-out is one loop over prepared calls. With a fan-out, a watcher, or a large event, each
    decorator gets all events of the record before the next does, and what they hold is limited (see `Growth`).

    The chain numbers the events of a fan-out, so no two events of one record have the same origin. The number of an
    event from a second fan-out contains the number of the event it was made of, so it does not depend on the outcome of
    the others, and is the same when the record runs again.

    Args:
        decorators: in the order they apply.
        watcher: for `explain`; makes the chain slower.
        max_event_bytes: of the source.

    Attributes:
        made: name of each fan-out -> events that came out of it; the caller clears it.
    """

    def __init__(
        self,
        decorators: Sequence[BoundDecorator],
        *,
        watcher: Watcher | None = None,
        max_event_bytes: int = DEFAULT_EVENT_BYTES,
    ) -> None:
        self._decorators = tuple(decorators)
        self._watcher = watcher
        self._stages = tuple(
            (bound, None if watcher is not None or isinstance(bound.decorator, FanOut) else _call(bound))
            for bound in decorators
        )
        self._calls = _calls_of(self._stages)
        self._applying: Callable[..., list[Event] | Buffered] = self._apply
        self.made: Counter[str] = Counter()
        self._in_stages = len(self._calls) < len(self._stages)
        self._max_held_bytes = max_grown(max_event_bytes)
        self._buffered: dict[int, dict[int, _BufferedEvent]] = {
            index: {} for index, bound in enumerate(self._decorators) if isinstance(bound.decorator, FanOut)
        }
        self.has_splits = any(map(_needs_splits, self._decorators))

    @property
    def guarded(self) -> Sequence[Callable[..., object]]:
        """The functions that are called for one event, for a `TimeLimit`."""
        if not self._in_stages:
            return (*self._calls, _call_guarded)
        conditions = (bound.condition.holds for bound in self._decorators if bound.condition is not None)
        return (_call_guarded, self._apply, _returned, *conditions)

    @property
    def decorators(self) -> Sequence[BoundDecorator]:
        """In the order they apply."""
        return self._decorators

    def with_calls(self, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> "Chain":
        """
        A chain that shares the decorators, the buffered events and `made`, and calls the decorators through others.

        Only its `run` may be called, and this chain's `split_end` runs events through it; it has no splits of its own.

        Args:
            around: from the name of a decorator and a call of it to the call that is made in its place.
        """
        other = copy(self)
        stages = tuple((bound, None if call is None else around(bound.name, call)) for bound, call in self._stages)
        applied = {bound.name: around(bound.name, self._applying) for bound, call in stages if call is None}

        def apply(bound: BoundDecorator, *arguments: Any, **options: Any) -> list[Event] | Buffered:
            made: list[Event] | Buffered = applied[bound.name](bound, *arguments, **options)
            return made

        other._stages, other._calls, other._applying = stages, _calls_of(stages), apply  # noqa: SLF001 - of this class
        return other

    def split_start(self) -> None:
        """
        Start a split.

        Raises:
            IngestError: a decorator cannot work now; the message begins with its name.
        """
        for buffered in self._buffered.values():
            buffered.clear()
        for bound in self._decorators:
            try:
                bound.decorator.split_start()
            except IngestError as error:
                _name(error, bound)
                raise
            except BaseException as bug:
                reraise_fatal(bug, bound.name, type(bound.decorator).__module__, bound.provider)
                about = describe_exception(bug, type(bound.decorator).__module__, bound.provider)
                raise SplitStartFailedError(f'"{bound.name}": {about}') from bug

    def run(self, event: Event) -> Sequence[Outcome]:
        """The outcomes of an event, which is edited in place, and of a buffered event that a decorator drops for it."""
        if self._in_stages:
            is_large = size_of(event) > LARGE_EVENT_BYTES
            return self._run_in_stages(event, 0, is_fanned_out=False, is_large=is_large)
        # most events are small and have no attributes yet
        if len(event.body) + len(event.key) > LARGE_EVENT_BYTES or (
            event.attributes and size_of(event) > LARGE_EVENT_BYTES
        ):
            # without decorators nothing grows
            return self._run_in_stages(event, 0, is_fanned_out=False, is_large=True) if self._calls else (event,)
        call = None
        try:
            for call in self._calls:
                kept = call(event)
                if kept is not True:
                    break
            else:
                return (event,)
        except BaseException as error:  # noqa: BLE001 - the boundary: a bug must not end the pipeline
            bound = None if call is None else self._decorators[self._calls.index(call)]
            return (failed(error, bound, event, event.origin),)
        index = self._calls.index(call)
        if kept is _GREW:
            return self._run_in_stages(event, index + 1, is_fanned_out=False, is_large=True)
        return (dropped_or_failed(kept, self._decorators[index], event),)

    def split_end(
        self, chain_of: "Callable[[Event], Chain] | None" = None
    ) -> Iterator[tuple[Event, Sequence[Outcome]]]:
        """
        End the split: each event that a decorator has buffered in `run`, or here, and its outcomes.

        Args:
            chain_of: from a buffered event to the chain through which it runs on: this one or a copy of `with_calls`.

        Raises:
            IngestError: a decorator cannot return its events now; the message begins with its name.
        """
        for index, buffered in self._buffered.items():
            bound = self._decorators[index]
            try:
                returned = _returned(bound, buffered)
            except BaseException as error:
                reraise_fatal(error, bound.name, type(bound.decorator).__module__, bound.provider)
                if isinstance(error, IngestError) and not isinstance(error, EventError):
                    _name(error, bound)
                    raise
                for event, origin, _ in buffered.values():
                    yield event, (failed(error, bound, event, origin),)
            else:
                for event in returned:
                    chain = self if chain_of is None else chain_of(event)
                    yield event, chain._run_rest(index, buffered.pop(id(event)))  # noqa: SLF001 - of this class
                for event, _, _ in buffered.values():
                    yield event, (Dropped(bound.decorator.drop_reason, bound.name, event),)
            buffered.clear()

    def _run_rest(self, index: int, buffered: _BufferedEvent) -> Sequence[Outcome]:
        """The outcomes of an event that a decorator returned at the end of the split."""
        event, origin, is_fanned_out = buffered
        bound = self._decorators[index]
        if bound.provider:
            try:
                check_event(event, origin)
            except TypeError as error:
                return (failed(error, bound, event, origin),)
        self.made[bound.name] += 1
        is_large = size_of(event) > LARGE_EVENT_BYTES
        return self._run_in_stages(event, index + 1, is_fanned_out=is_fanned_out, is_large=is_large)

    def _run_in_stages(self, event: Event, first: int, *, is_fanned_out: bool, is_large: bool) -> Sequence[Outcome]:
        """The outcomes of an event from decorator `first` on; `is_fanned_out`: an earlier fan-out made it."""
        outcomes: list[Outcome] = []
        live = [event]
        growth = Growth(self._max_held_bytes)
        if is_large:
            try:
                growth.measure(event)
            except EventError as error:
                return (failed(error, self._decorators[max(first - 1, 0)], event, event.origin),)
        for index, (bound, call) in enumerate(self._stages[first:], first):
            if call is not None:
                live = _kept(bound, call, live, outcomes, growth)
                continue
            after: list[Event] = []
            for current in live:
                before = None if self._watcher is None else current.copy()
                origin = current.origin
                try:
                    if bound.condition is not None and not bound.condition.holds(current):
                        after.append(current)
                        continue
                    buffered = self._buffered.get(index, {})
                    made = self._applying(bound, current, buffered, growth, is_fanned_out=is_fanned_out)
                    if isinstance(made, Buffered):
                        outcomes += self._buffer(index, _BufferedEvent(current, origin, is_fanned_out), made)
                        made = []
                    elif len(after) + len(made) > MAX_EVENTS_OF_A_RECORD:
                        text = f"one record would become more than {MAX_EVENTS_OF_A_RECORD:,} events"
                        raise too_many(text)  # noqa: TRY301 - fails the event, like an exception of a decorator
                    elif not made:
                        outcomes.append(Dropped(bound.decorator.drop_reason, bound.name, current))
                except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
                    outcomes.append(failed(error, bound, current, origin))
                    continue
                after.extend(made)
                if self._watcher is not None and before is not None:
                    self._watcher(bound, before, made)
            live = after
            is_fanned_out = self._count_made(bound, after) or is_fanned_out
        outcomes.extend(live)
        return outcomes

    def _count_made(self, bound: BoundDecorator, events: Sequence[Event]) -> bool:
        """Count the events that came out of a decorator, if it is a fan-out; returns whether it is."""
        if isinstance(bound.decorator, FanOut):
            self.made[bound.name] += len(events)
            return True
        return False

    def _buffer(self, index: int, entry: _BufferedEvent, result: Buffered) -> Sequence[Outcome]:
        bound, buffered = self._decorators[index], self._buffered[index]
        event, dropped = entry.event, result.instead_of
        if dropped is None:
            buffered[id(event)] = entry
            return (StillBuffered(event),)
        if buffered.pop(id(dropped), None) is None:
            raise TypeError("a fan-out dropped an event that it does not buffer")
        buffered[id(event)] = entry
        return (Dropped(bound.decorator.drop_reason, bound.name, dropped), StillBuffered(event))

    @staticmethod
    def _apply(
        bound: BoundDecorator, event: Event, buffered: Container[int], growth: Growth, *, is_fanned_out: bool
    ) -> list[Event] | Buffered:
        decorator = bound.decorator
        origin = event.origin
        if isinstance(decorator, Decorator):
            kept = decorator.decorate(event)
            if kept is not True and kept is not False:
                raise invalid_result(kept)
            if bound.provider and kept:
                check_event(event, origin)
            if kept:
                growth.changed(event, is_inflated=decorator.inflates)
            return [event] if kept else []
        result = decorator.decorate(event)
        if isinstance(result, Buffered):
            return result
        made = events_of(result, growth.counted(event))
        for each in made:
            if id(each) in buffered:
                raise TypeError("a fan-out returned an event that it buffers; return it from `split_end`")
            if bound.provider:
                check_event(each, each.origin)
        base = (origin.fan_out + 1) * MAX_EVENTS_OF_A_RECORD if is_fanned_out else 0
        if base + len(made) > MAX_FAN_OUT:
            raise too_many("too many fan-outs in a row made this event")
        growth.made(event, made)
        for number, each in enumerate(made, base):
            each.origin = origin._replace(fan_out=number)
        return made


def _calls_of(
    stages: Sequence[tuple[BoundDecorator, Callable[[Event], bool] | None]],
) -> tuple[Callable[[Event], object], ...]:
    """The calls of a chain that is one loop."""
    return tuple(_weighed(call) if bound.decorator.inflates else call for bound, call in stages if call is not None)


def _needs_splits(bound: BoundDecorator) -> bool:
    kind = type(bound.decorator)
    return kind.split_start is not FanOut.split_start or (
        issubclass(kind, FanOut) and kind.split_end is not FanOut.split_end
    )


def _returned(bound: BoundDecorator, buffered: dict[int, _BufferedEvent]) -> list[Event]:
    """The buffered events that a decorator returns at the end of a split."""
    decorator = bound.decorator
    returned = list(decorator.split_end()) if isinstance(decorator, FanOut) else []
    if len({id(each) for each in returned} & buffered.keys()) != len(returned):
        raise TypeError("a fan-out returned events that it does not buffer, or one of them twice")
    return returned


def _name(error: IngestError, bound: BoundDecorator) -> None:
    """Put the decorator's name into an error that no event caused."""
    error.message = f'"{bound.name}": {error.message}'


def _call(bound: BoundDecorator) -> Callable[[Event], bool]:
    decorator = bound.decorator
    if not isinstance(decorator, Decorator):
        raise TypeError(f"{bound.name} is no decorator")
    decorate: Callable[[Event], bool] = checked(decorator.decorate) if bound.provider else decorator.decorate
    if bound.condition is None:
        return decorate
    holds = bound.condition.holds

    def decorate_when(event: Event) -> bool:
        return decorate(event) if holds(event) else True

    return decorate_when


def _call_guarded(call: Callable[[Event], bool], event: Event) -> bool:
    return call(event)  # a function of our own, so that a `TimeLimit` sees a new call for each event


def _weighed(call: Callable[[Event], bool]) -> Callable[[Event], object]:
    """The same call, which returns `_GREW` if the event it kept is large."""

    def call_and_weigh(event: Event) -> object:
        kept = call(event)
        return _GREW if kept is True and size_of(event) > LARGE_EVENT_BYTES else kept

    return call_and_weigh


def _kept(
    bound: BoundDecorator,
    call: Callable[[Event], bool],
    live: Sequence[Event],
    outcomes: list[Outcome],
    growth: Growth,
) -> list[Event]:
    """The events of a record that a decorator keeps; the outcomes of the others go to `outcomes`."""
    kept = []
    is_inflated = bound.decorator.inflates
    may_grow = growth.is_measured or is_inflated
    for event in live:
        origin = event.origin
        try:
            result = _call_guarded(call, event)
            if may_grow and result is True:
                growth.changed(event, is_inflated=is_inflated)
        except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
            outcomes.append(failed(error, bound, event, origin))
            continue
        if result is True:
            kept.append(event)
        else:
            outcomes.append(dropped_or_failed(result, bound, event))
    return kept
