"""A pipeline's decorators as one call: an event in, what became of it out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any, NamedTuple, Protocol

from ingest.api import DecorateBugError, DecorateError, Decorator, Event, EventError, FanOut, OnError, Origin
from ingest.plugin import FAILURES, check_event, told, without_rubbish
from ingest.time_limit import LIMIT_S, OutOfTimeError


class Condition(Protocol):
    """What the chain asks of a compiled `when:` (see `ingest.expressions.Condition`)."""

    def holds(self, event: Event) -> bool:
        """Whether the step applies to this event."""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One decorator at its place in a chain.

    Attributes:
        name: the step's label or, without one, what tells it from the others; for errors and metrics.
        condition: the step is passed over for events that do not meet it.
        on_error: what becomes of an event that fails here, the pipeline's own rule already filled in.
        provider: the plugin it comes from, for its errors; "" for a built-in one. What a plugin leaves of an event is
            looked at after each call, which built-in decorators, having been tested with any bytes, are spared.
    """

    decorator: Decorator[Any] | FanOut[Any]
    name: str
    condition: Condition | None = None
    on_error: OnError = OnError.DEAD_LETTER
    provider: str = ""


class Kept(NamedTuple):
    """An event that came out of the chain."""

    event: Event


class Dropped(NamedTuple):
    """
    An event that a decorator dropped on purpose.

    Attributes:
        reason: one of few, for counts.
        component: name of the step.
        event: as it was when it was dropped.
    """

    reason: str
    component: str
    event: Event


class Failed(NamedTuple):
    """
    An event that can not pass.

    Attributes:
        error: for a bug in a decorator a DecorateBugError whose `__cause__` is what was raised, traceback included.
        component: name of the step.
        event: as the steps before left it, for the attributes in a dead letter.
    """

    origin: Origin
    error: EventError
    component: str
    on_error: OnError
    event: Event


Outcome = Kept | Dropped | Failed

_CAUGHT = (*FAILURES, OutOfTimeError)

Watcher = Callable[[Step, Event, Sequence[Event]], None]
"""
Told of each step that ran without an error: the step, a copy of the event before, and what came out (nothing when it
was dropped). Origins are those the chain gives, so a fan-out's events can be told apart.
"""


class Chain:
    """
    Steps compiled to the least work an event.

    Called by one thread. A chain without a fan-out is one loop over ready-made calls. With a fan-out, or a watcher,
    each step is done for all events of the record before the next one, and the events a fan-out makes are numbered in
    one count over the whole chain: no two events made of one record ever share an origin, also not when one of them
    failed before the next fan-out. The numbers depend on the record and the configuration alone, so a replay gives the
    same.

    Args:
        steps: in the order they apply.
        watcher: for `explain`; makes the chain slower.
    """

    def __init__(self, steps: Sequence[Step], *, watcher: Watcher | None = None) -> None:
        self.steps = tuple(steps)
        self._watcher = watcher
        self._in_stages = watcher is not None or any(isinstance(step.decorator, FanOut) for step in steps)
        self._calls = () if self._in_stages else tuple((_call(step), step) for step in steps)

    @property
    def guarded(self) -> Sequence[Callable[..., object]]:
        """What is called for one event and has to come back, for a `TimeLimit`."""
        if not self._in_stages:
            return (self.run,)
        return (self._apply, *(step.condition.holds for step in self.steps if step.condition is not None))

    def run(self, event: Event) -> Sequence[Outcome]:
        """What became of an event; it is edited in place, so the caller gives it away."""
        if self._in_stages:
            return self._run_in_stages(event)
        step = None
        try:
            for call, step in self._calls:
                kept = call(event)
                if kept is not True:
                    return (_not_kept(kept, step, event),)
        except MemoryError:  # the machine's trouble, not the event's
            raise
        except _CAUGHT as error:  # the boundary: a bug must not end the pipeline
            return (_failed(error, step, event, event.origin),)
        return (Kept(event),)

    def _run_in_stages(self, event: Event) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        live = [event]
        made_so_far = 0
        for step in self.steps:
            after: list[Event] = []
            for current in live:
                before = None if self._watcher is None else _copy(current)
                origin = current.origin
                try:
                    if step.condition is not None and not step.condition.holds(current):
                        after.append(current)
                        continue
                    made = self._apply(step, current, made_so_far)
                except MemoryError:
                    raise
                except _CAUGHT as error:  # the chain boundary, as in `run`
                    outcomes.append(_failed(error, step, current, origin))
                    continue
                if not made:
                    outcomes.append(Dropped(step.decorator.drop_reason, step.name, current))
                if isinstance(step.decorator, FanOut):
                    made_so_far += len(made)
                after.extend(made)
                if self._watcher is not None and before is not None:
                    self._watcher(step, before, made)
            live = after
        outcomes.extend(map(Kept, live))
        return outcomes

    @staticmethod
    def _apply(step: Step, event: Event, first_number: int) -> list[Event]:
        decorator = step.decorator
        origin = event.origin
        if isinstance(decorator, Decorator):
            kept = decorator.decorate(event)
            if kept is not True and kept is not False:
                raise _no_answer(kept)
            if step.provider and kept:
                check_event(event, origin)
            return [event] if kept else []
        given = decorator.decorate(event)
        if not hasattr(given, "__iter__"):
            raise TypeError(f"decorate returned {short(given)}; a fan-out returns events")
        made = list(given)
        if len({id(each) for each in made}) != len(made):
            raise TypeError("a fan-out gave the same event twice; each must be a copy of its own")
        for each in made:
            if not isinstance(each, Event):
                raise TypeError(f"a fan-out gave {short(each)}, which is no event")
            if step.provider:
                check_event(each, each.origin)
        if len({id(each.attributes) for each in made}) != len(made):
            raise TypeError("a fan-out gave two events the same attributes; copy them: dict(event.attributes)")
        for number, each in enumerate(made, first_number):
            each.origin = origin._replace(fan_out=number)
        return made


def _call(step: Step) -> Callable[[Event], bool]:
    decorator = step.decorator
    if not isinstance(decorator, Decorator):
        raise TypeError(f"{step.name} is no decorator")
    decorate: Callable[[Event], bool] = _checked(decorator.decorate) if step.provider else decorator.decorate
    if step.condition is None:
        return decorate
    holds = step.condition.holds

    def decorate_when(event: Event) -> bool:
        return decorate(event) if holds(event) else True

    return decorate_when


def _checked(decorate: Callable[[Event], bool]) -> Callable[[Event], bool]:
    def decorate_and_check(event: Event) -> bool:
        origin = event.origin
        kept = decorate(event)
        if kept is True:
            check_event(event, origin)
        return kept

    return decorate_and_check


def _not_kept(answer: object, step: Step, event: Event) -> Outcome:
    if answer is False:
        return Dropped(step.decorator.drop_reason, step.name, event)
    return _failed(_no_answer(answer), step, event, event.origin)


def _no_answer(answer: object) -> TypeError:
    return TypeError(f"decorate returned {short(answer)}; it must return True to keep the event or False to drop it")


def _failed(error: BaseException, step: Step | None, event: Event, origin: Origin) -> Failed:
    if step is None:  # no step ran, so nothing of an event can have failed
        raise error
    module = type(step.decorator).__module__
    if isinstance(error, OutOfTimeError):
        where = told(error, module, step.provider).removeprefix(OutOfTimeError.__name__)
        error = DecorateError(f"the step did not come to an end within {LIMIT_S:g} s{where}", code="decorator_timeout")
    if not isinstance(error, EventError) or (step.provider and not _can_be_told(error)):
        bug = DecorateBugError(told(error, module, step.provider))
        bug.__cause__ = error
        error = bug
    if step.provider:
        event = without_rubbish(event)
        origin = origin if isinstance(origin, Origin) else Origin("", 0, 0)
    return Failed(origin, error, step.name, step.on_error, event)


def _can_be_told(error: EventError) -> bool:
    """Whether an error that a plugin made has what a dead letter and a metric need."""
    return isinstance(error.code, str) and isinstance(getattr(error, "message", None), str)


def _copy(event: Event) -> Event:
    return replace(event, attributes=dict(event.attributes))
