"""A pipeline's decorators as one call: event -> outcomes."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, NamedTuple

from ingest.api import (
    Buffered,
    DecorateBugError,
    DecorateError,
    Decorator,
    Event,
    EventError,
    FanOut,
    IngestError,
    OnError,
    Origin,
)
from ingest.api.event import MAX_EVENTS_OF_A_RECORD, MAX_FAN_OUT
from ingest.expressions import Condition
from ingest.pipeline.time_limit import LIMIT_S, OutOfTimeError
from ingest.plugins.guard import (
    check_event,
    checked,
    describe_exception,
    events_of,
    reraise_fatal,
    with_valid_attributes,
)


class SplitStartFailedError(IngestError):
    """A decorator raised an unexpected exception at the start of a split of a micro-batch."""

    code = "split_start_failed"


@dataclass(frozen=True, slots=True)
class BoundDecorator:
    """
    One decorator at its place in a chain.

    Attributes:
        name: the decorator's label or, without one, a name unique in the chain; for errors and metrics.
        condition: events that do not meet it bypass the decorator.
        on_error: the failure action for an event that fails here; the pipeline's own if the decorator has none.
        provider: the plugin it comes from, for its errors; "" for a built-in one. The chain checks the event after each
            call of a plugin. Built-in decorators are tested with any bytes and need no check.
    """

    decorator: Decorator[Any] | FanOut[Any]
    name: str
    condition: Condition | None = None
    on_error: OnError = OnError.DEAD_LETTER
    provider: str = ""


class Dropped(NamedTuple):
    """
    An event that a decorator dropped on purpose.

    Attributes:
        reason: one of a small set, for counts.
        component: name of the decorator.
        event: as it was when it was dropped.
    """

    reason: str
    component: str
    event: Event


class Failed(NamedTuple):
    """
    An event that failed.

    Attributes:
        error: without traceback. For a bug it is a DecorateBugError whose `__cause__` is what was raised, with its
            traceback, until it is reported (`without_frames`).
        component: name of the decorator.
        event: as the previous decorators left it, for the attributes in a dead letter.
    """

    origin: Origin
    error: EventError
    component: str
    on_error: OnError
    event: Event


class StillBuffered(NamedTuple):
    """An event that a decorator buffers; `Chain.split_end` gives its outcome, or `Chain.run` that it was dropped."""

    event: Event


Outcome = Event | Dropped | Failed | StillBuffered
"""An event that came out of the chain is its own outcome."""

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

    A chain without a fan-out is one loop over prepared calls. With a fan-out, or a watcher, each decorator gets all
    events of the record before the next does. The chain numbers the events of a fan-out, so no two events of one record
    have the same origin. The number of an event from a second fan-out contains the number of the event it was made of,
    so it does not depend on the outcome of the others, and is the same when the record runs again.

    Args:
        decorators: in the order they apply.
        watcher: for `explain`; makes the chain slower.
    """

    def __init__(self, decorators: Sequence[BoundDecorator], *, watcher: Watcher | None = None) -> None:
        self._decorators = tuple(decorators)
        self._watcher = watcher
        self._stages = tuple(
            (bound, None if watcher is not None or isinstance(bound.decorator, FanOut) else _call(bound))
            for bound in decorators
        )
        self._calls = tuple((bound, call) for bound, call in self._stages if call is not None)
        self._in_stages = len(self._calls) < len(self._stages)
        self._buffered: dict[int, dict[int, _BufferedEvent]] = {
            index: {} for index, bound in enumerate(self._decorators) if isinstance(bound.decorator, FanOut)
        }
        self.has_splits = any(map(_needs_splits, self._decorators))

    @property
    def guarded(self) -> Sequence[Callable[..., object]]:
        """The functions that are called for one event, for a `TimeLimit`."""
        if not self._in_stages:
            return tuple(call for _, call in self._calls)
        conditions = (bound.condition.holds for bound in self._decorators if bound.condition is not None)
        return (_call_guarded, self._apply, _returned, *conditions)

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
            return self._run_in_stages([event], 0, is_fanned_out=False)
        bound = None
        try:
            for bound, call in self._calls:
                kept = call(event)
                if kept is not True:
                    return (_dropped_or_failed(kept, bound, event),)
        except BaseException as error:  # noqa: BLE001 - the boundary: a bug must not end the pipeline
            return (_failed(error, bound, event, event.origin),)
        return (event,)

    def split_end(self) -> Iterator[tuple[Event, Sequence[Outcome]]]:
        """
        End the split: each event that a decorator has buffered in `run`, or here, and its outcomes.

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
                    yield event, (_failed(error, bound, event, origin),)
            else:
                for event in returned:
                    yield event, self._run_rest(index, buffered.pop(id(event)))
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
                return (_failed(error, bound, event, origin),)
        return self._run_in_stages([event], index + 1, is_fanned_out=is_fanned_out)

    def _run_in_stages(self, live: list[Event], first: int, *, is_fanned_out: bool) -> Sequence[Outcome]:
        """The outcomes of events of one record from decorator `first` on; `is_fanned_out`: by an earlier fan-out."""
        outcomes: list[Outcome] = []
        for index, (bound, call) in enumerate(self._stages[first:], first):
            if call is not None:
                live = _kept(bound, call, live, outcomes)
                continue
            after: list[Event] = []
            for current in live:
                before = None if self._watcher is None else current.copy()
                origin = current.origin
                try:
                    if bound.condition is not None and not bound.condition.holds(current):
                        after.append(current)
                        continue
                    made = self._apply(bound, current, self._buffered.get(index, {}), is_fanned_out=is_fanned_out)
                    if isinstance(made, Buffered):
                        outcomes += self._buffer(index, _BufferedEvent(current, origin, is_fanned_out), made)
                        made = []
                    elif len(after) + len(made) > MAX_EVENTS_OF_A_RECORD:
                        text = f"one record would become more than {MAX_EVENTS_OF_A_RECORD:,} events"
                        raise _too_many(text)  # noqa: TRY301 - fails the event, like an exception of a decorator
                    elif not made:
                        outcomes.append(Dropped(bound.decorator.drop_reason, bound.name, current))
                except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
                    outcomes.append(_failed(error, bound, current, origin))
                    continue
                after.extend(made)
                if self._watcher is not None and before is not None:
                    self._watcher(bound, before, made)
            live = after
            is_fanned_out = is_fanned_out or isinstance(bound.decorator, FanOut)
        outcomes.extend(live)
        return outcomes

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
        bound: BoundDecorator, event: Event, buffered: Container[int], *, is_fanned_out: bool
    ) -> list[Event] | Buffered:
        decorator = bound.decorator
        origin = event.origin
        if isinstance(decorator, Decorator):
            kept = decorator.decorate(event)
            if kept is not True and kept is not False:
                raise _invalid_result(kept)
            if bound.provider and kept:
                check_event(event, origin)
            return [event] if kept else []
        result = decorator.decorate(event)
        if isinstance(result, Buffered):
            return result
        made = events_of(result)
        for each in made:
            if id(each) in buffered:
                raise TypeError("a fan-out returned an event that it buffers; return it from `split_end`")
            if bound.provider:
                check_event(each, each.origin)
        base = (origin.fan_out + 1) * MAX_EVENTS_OF_A_RECORD if is_fanned_out else 0
        if base + len(made) > MAX_FAN_OUT:
            raise _too_many("too many fan-outs in a row made this event")
        for number, each in enumerate(made, base):
            each.origin = origin._replace(fan_out=number)
        return made


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


def _kept(
    bound: BoundDecorator, call: Callable[[Event], bool], live: Sequence[Event], outcomes: list[Outcome]
) -> list[Event]:
    """The events of a record that a decorator keeps; the outcomes of the others go to `outcomes`."""
    kept = []
    for event in live:
        origin = event.origin
        try:
            result = _call_guarded(call, event)
        except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
            outcomes.append(_failed(error, bound, event, origin))
            continue
        if result is True:
            kept.append(event)
        else:
            outcomes.append(_dropped_or_failed(result, bound, event))
    return kept


def _dropped_or_failed(result: object, bound: BoundDecorator, event: Event) -> Outcome:
    if result is False:
        return Dropped(bound.decorator.drop_reason, bound.name, event)
    return _failed(_invalid_result(result), bound, event, event.origin)


def _too_many(what: str) -> DecorateError:
    return DecorateError(what, code="too_many_parts")


def _invalid_result(result: object) -> TypeError:
    return TypeError(f"decorate returned {short(result)}; it must return True to keep the event or False to drop it")


def _failed(error: BaseException, bound: BoundDecorator | None, event: Event, origin: Origin) -> Failed:
    if bound is None:  # no decorator ran, so no event can have failed
        raise error
    module = type(bound.decorator).__module__
    reraise_fatal(error, bound.name, module, bound.provider, origin)
    if isinstance(error, OutOfTimeError):
        where = describe_exception(error, module, bound.provider).removeprefix(OutOfTimeError.__name__)
        message = f"the decorator did not return within {LIMIT_S:g} s{where}"
        error = DecorateError(message, code="decorator_timeout")
    if not isinstance(error, EventError):
        bug = DecorateBugError(describe_exception(error, module, bound.provider))
        bug.__cause__ = error
        error = bug
    else:
        error.without_frames()
    if bound.provider:
        event = with_valid_attributes(event)
        origin = origin if isinstance(origin, Origin) else Origin("", 0, 0)
    return Failed(origin, error, bound.name, bound.on_error, event)
