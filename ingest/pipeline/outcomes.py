"""A decorator at its place in a chain, and the outcomes of an event."""

from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, NamedTuple

from ingest.api import DecorateBugError, DecorateError, Decorator, Event, EventError, FanOut, OnError, Origin
from ingest.decorating.errors import TooManyPartsError
from ingest.expressions import Condition
from ingest.pipeline.time_limit import LIMIT_S, OutOfTimeError
from ingest.plugins.guard import describe_exception, reraise_fatal, with_valid_attributes


class DecoratorTimeoutError(DecorateError):
    """A decorator exceeded its time limit for this event, most likely a pattern that backtracks, or a loop."""

    code = "decorator_timeout"
    remedy = "Simplify the pattern or the loop; then replay the dead letters."


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


def dropped_or_failed(result: object, bound: BoundDecorator, event: Event) -> Outcome:
    """The outcome of an event for which a decorator did not return True."""
    if result is False:
        return Dropped(bound.decorator.drop_reason, bound.name, event)
    return failed(invalid_result(result), bound, event, event.origin)


def too_many(what: str) -> DecorateError:
    """The error of an event of which a record would become too many."""
    return TooManyPartsError(what)


def invalid_result(result: object) -> TypeError:
    """The error of a decorator that returns neither True nor False."""
    return TypeError(f"decorate returned {short(result)}; it must return True to keep the event or False to drop it")


def failed(error: BaseException, bound: BoundDecorator | None, event: Event, origin: Origin) -> Failed:
    """The outcome of an event for which a decorator raised an error; one that no event can cause is raised."""
    if bound is None:  # no decorator ran, so no event can have failed
        raise error
    module = type(bound.decorator).__module__
    reraise_fatal(error, bound.name, module, bound.provider, origin)
    if isinstance(error, OutOfTimeError):
        where = describe_exception(error, module, bound.provider).removeprefix(OutOfTimeError.__name__)
        message = f"the decorator did not return within {LIMIT_S:g} s{where}"
        error = DecoratorTimeoutError(message)
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
