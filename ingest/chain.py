"""A pipeline's decorators as one call: an event in, what became of it out."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, NamedTuple, Protocol

from ingest.api import (
    DecorateBugError,
    DecorateError,
    Decorator,
    Event,
    EventError,
    FanOut,
    Held,
    IngestError,
    OnError,
    Origin,
)
from ingest.api.event import MAX_EVENTS_OF_A_RECORD, MAX_FAN_OUT
from ingest.plugin import can_be_told, check_event, checked, events_of, pass_on, told, without_rubbish
from ingest.time_limit import LIMIT_S, OutOfTimeError


class BeginFailedError(IngestError):
    """A step failed, in a way it did not foresee, where a share of a micro-batch begins."""

    code = "begin_failed"


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
        error: without traceback; for a bug in a decorator a DecorateBugError whose `__cause__` is what was raised, with
            its traceback: whoever tells that lets go of it (`without_frames`).
        component: name of the step.
        event: as the steps before left it, for the attributes in a dead letter.
    """

    origin: Origin
    error: EventError
    component: str
    on_error: OnError
    event: Event


class Waiting(NamedTuple):
    """An event that a step holds; `Chain.finish` tells what became of it, or `Chain.run` that it was dropped."""

    event: Event


Outcome = Event | Dropped | Failed | Waiting
"""What became of an event; one that came out of the chain is there itself."""

Watcher = Callable[[Step, Event, Sequence[Event]], None]
"""
Told of each step that ran without an error: the step, a copy of the event before, and what came out (nothing when it
was dropped, or is held). Origins are those the chain gives, so a fan-out's events can be told apart.
"""


class _HeldEvent(NamedTuple):
    """An event that a step holds, where it came from, and whether it was made by a fan-out."""

    event: Event
    origin: Origin
    is_made: bool


class Chain:
    """
    Steps compiled to the least work an event.

    Called by one thread. Order: `begin`, then `run` for each event of a share, then all that `finish` gives; or `begin`
    again at any point, which forgets the share. A chain that `has_shares` wants each partition of a micro-batch as a
    share of its own; for any other, all that a task reads may be one.

    A chain without a fan-out is one loop over ready-made calls. With a fan-out, or a watcher, each step is done for all
    events of the record before the next one, and the events a fan-out makes are numbered: no two events made of one
    record ever share an origin. The number of an event that a second fan-out makes has in it that of the one it was
    made of, so it is the same whatever became of the others, now or when the record runs again.

    Args:
        steps: in the order they apply.
        watcher: for `explain`; makes the chain slower.
    """

    def __init__(self, steps: Sequence[Step], *, watcher: Watcher | None = None) -> None:
        self.steps = tuple(steps)
        self._watcher = watcher
        self._stages = tuple(
            (step, None if watcher is not None or isinstance(step.decorator, FanOut) else _call(step)) for step in steps
        )
        self._calls = tuple((step, call) for step, call in self._stages if call is not None)
        self._in_stages = len(self._calls) < len(self._stages)
        self._held: dict[int, dict[int, _HeldEvent]] = {
            index: {} for index, step in enumerate(self.steps) if isinstance(step.decorator, FanOut)
        }
        self.has_shares = any(map(_asks_for_shares, self.steps))

    @property
    def guarded(self) -> Sequence[Callable[..., object]]:
        """What is called for one event and has to come back, for a `TimeLimit`."""
        if not self._in_stages:
            return (self.run,)
        conditions = (step.condition.holds for step in self.steps if step.condition is not None)
        return (_answer, self._apply, _given, *conditions)

    def begin(self) -> None:
        """
        Start a share.

        Raises:
            IngestError: a step can not work now; the message begins with its name.
        """
        for held in self._held.values():
            held.clear()
        for step in self.steps:
            try:
                step.decorator.begin()
            except IngestError as error:
                _name(error, step)
                raise
            except BaseException as bug:
                pass_on(bug, step.name, type(step.decorator).__module__, step.provider)
                about = told(bug, type(step.decorator).__module__, step.provider)
                raise BeginFailedError(f'"{step.name}": {about}') from bug

    def run(self, event: Event) -> Sequence[Outcome]:
        """
        What became of an event; it is edited in place, so the caller gives it away.

        Only for an event that is held, and dropped for this one, it tells what became of another.
        """
        if self._in_stages:
            return self._run_in_stages([event], 0, is_made=False)
        step = None
        try:
            for step, call in self._calls:
                kept = call(event)
                if kept is not True:
                    return (_not_kept(kept, step, event),)
        except BaseException as error:  # noqa: BLE001 - the boundary: a bug must not end the pipeline
            return (_failed(error, step, event, event.origin),)
        return (event,)

    def finish(self) -> Iterator[tuple[Event, Sequence[Outcome]]]:
        """
        End the share: each event that a step has held since `run` or since it was given here, and what became of it.

        Raises:
            IngestError: a step can not give its events now; the message begins with its name.
        """
        for index, held in self._held.items():
            step = self.steps[index]
            try:
                given = _given(step, held)
            except BaseException as error:
                pass_on(error, step.name, type(step.decorator).__module__, step.provider)
                if isinstance(error, IngestError) and not isinstance(error, EventError):
                    _name(error, step)
                    raise
                for event, origin, _ in held.values():
                    yield event, (_failed(error, step, event, origin),)
            else:
                for event in given:
                    yield event, self._go_on(index, held.pop(id(event)))
                for event, _, _ in held.values():
                    yield event, (Dropped(step.decorator.drop_reason, step.name, event),)
            held.clear()

    def _go_on(self, index: int, held: _HeldEvent) -> Sequence[Outcome]:
        """What becomes of an event that a step has given at the end."""
        event, origin, is_made = held
        step = self.steps[index]
        if step.provider:
            try:
                check_event(event, origin)
            except TypeError as error:
                return (_failed(error, step, event, origin),)
        return self._run_in_stages([event], index + 1, is_made=is_made)

    def _run_in_stages(self, live: list[Event], first: int, *, is_made: bool) -> Sequence[Outcome]:
        """What becomes of events of one record from a step on, and whether a fan-out has made them."""
        outcomes: list[Outcome] = []
        for index, (step, call) in enumerate(self._stages[first:], first):
            if call is not None:
                live = _kept(step, call, live, outcomes)
                continue
            after: list[Event] = []
            for current in live:
                before = None if self._watcher is None else current.copy()
                origin = current.origin
                try:
                    if step.condition is not None and not step.condition.holds(current):
                        after.append(current)
                        continue
                    made = self._apply(step, current, self._held.get(index, {}), is_made=is_made)
                    if isinstance(made, Held):
                        outcomes += self._hold(index, _HeldEvent(current, origin, is_made), made)
                        made = []
                    elif len(after) + len(made) > MAX_EVENTS_OF_A_RECORD:
                        text = f"more than {MAX_EVENTS_OF_A_RECORD:,} events would come of one record"
                        raise _too_many(text)  # noqa: TRY301 - it fails the event, as what a step raises does
                    elif not made:
                        outcomes.append(Dropped(step.decorator.drop_reason, step.name, current))
                except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
                    outcomes.append(_failed(error, step, current, origin))
                    continue
                after.extend(made)
                if self._watcher is not None and before is not None:
                    self._watcher(step, before, made)
            live = after
            is_made = is_made or isinstance(step.decorator, FanOut)
        outcomes.extend(live)
        return outcomes

    def _hold(self, index: int, taken: _HeldEvent, answer: Held) -> Sequence[Outcome]:
        step, held = self.steps[index], self._held[index]
        event, dropped = taken.event, answer.instead_of
        if dropped is None:
            held[id(event)] = taken
            return (Waiting(event),)
        if held.pop(id(dropped), None) is None:
            raise TypeError("a fan-out dropped an event that it does not hold")
        held[id(event)] = taken
        return (Dropped(step.decorator.drop_reason, step.name, dropped), Waiting(event))

    @staticmethod
    def _apply(step: Step, event: Event, held: Container[int], *, is_made: bool) -> list[Event] | Held:
        decorator = step.decorator
        origin = event.origin
        if isinstance(decorator, Decorator):
            kept = decorator.decorate(event)
            if kept is not True and kept is not False:
                raise _no_answer(kept)
            if step.provider and kept:
                check_event(event, origin)
            return [event] if kept else []
        answer = decorator.decorate(event)
        if isinstance(answer, Held):
            return answer
        made = events_of(answer)
        for each in made:
            if id(each) in held:
                raise TypeError("a fan-out gave an event that it holds; those come at the end, of `finish`")
            if step.provider:
                check_event(each, each.origin)
        base = (origin.fan_out + 1) * MAX_EVENTS_OF_A_RECORD if is_made else 0
        if base + len(made) > MAX_FAN_OUT:
            raise _too_many("it was made by too many steps in a row that make several events of one")
        for number, each in enumerate(made, base):
            each.origin = origin._replace(fan_out=number)
        return made


def _asks_for_shares(step: Step) -> bool:
    kind = type(step.decorator)
    return kind.begin is not FanOut.begin or (issubclass(kind, FanOut) and kind.finish is not FanOut.finish)


def _given(step: Step, held: dict[int, _HeldEvent]) -> list[Event]:
    """The events that a step gives at the end of a share."""
    decorator = step.decorator
    given = list(decorator.finish()) if isinstance(decorator, FanOut) else []
    if len({id(each) for each in given} & held.keys()) != len(given):
        raise TypeError("a fan-out gave events that it does not hold, or one of them twice")
    return given


def _name(error: IngestError, step: Step) -> None:
    """Say which step an error comes from that is no event's fault."""
    error.message = f'"{step.name}": {error.message}'


def _call(step: Step) -> Callable[[Event], bool]:
    decorator = step.decorator
    if not isinstance(decorator, Decorator):
        raise TypeError(f"{step.name} is no decorator")
    decorate: Callable[[Event], bool] = checked(decorator.decorate) if step.provider else decorator.decorate
    if step.condition is None:
        return decorate
    holds = step.condition.holds

    def decorate_when(event: Event) -> bool:
        return decorate(event) if holds(event) else True

    return decorate_when


def _answer(call: Callable[[Event], bool], event: Event) -> bool:
    return call(event)  # by a function of our own, so that a `TimeLimit` sees each event begin


def _kept(step: Step, call: Callable[[Event], bool], live: Sequence[Event], outcomes: list[Outcome]) -> list[Event]:
    """Those of a record's events that a step keeps; what becomes of the others goes to `outcomes`."""
    kept = []
    for event in live:
        origin = event.origin
        try:
            answer = _answer(call, event)
        except BaseException as error:  # noqa: BLE001 - the chain boundary, as in `run`
            outcomes.append(_failed(error, step, event, origin))
            continue
        if answer is True:
            kept.append(event)
        else:
            outcomes.append(_not_kept(answer, step, event))
    return kept


def _not_kept(answer: object, step: Step, event: Event) -> Outcome:
    if answer is False:
        return Dropped(step.decorator.drop_reason, step.name, event)
    return _failed(_no_answer(answer), step, event, event.origin)


def _too_many(what: str) -> DecorateError:
    return DecorateError(what, code="too_many_parts")


def _no_answer(answer: object) -> TypeError:
    return TypeError(f"decorate returned {short(answer)}; it must return True to keep the event or False to drop it")


def _failed(error: BaseException, step: Step | None, event: Event, origin: Origin) -> Failed:
    if step is None:  # no step ran, so nothing of an event can have failed
        raise error
    module = type(step.decorator).__module__
    pass_on(error, step.name, module, step.provider, origin)
    if isinstance(error, OutOfTimeError):
        where = told(error, module, step.provider).removeprefix(OutOfTimeError.__name__)
        error = DecorateError(f"the step did not come to an end within {LIMIT_S:g} s{where}", code="decorator_timeout")
    if not isinstance(error, EventError) or (step.provider and not can_be_told(error)):
        bug = DecorateBugError(told(error, module, step.provider))
        bug.__cause__ = error
        error = bug
    else:
        error.without_frames()
    if step.provider:
        event = without_rubbish(event)
        origin = origin if isinstance(origin, Origin) else Origin("", 0, 0)
    return Failed(origin, error, step.name, step.on_error, event)
