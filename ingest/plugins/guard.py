"""Calls of plugins: their results are checked, and their exceptions described."""

import traceback
from collections.abc import Callable, Iterable
from reprlib import repr as short
from typing import ClassVar

from ingest.api import Disposition, Event, IngestError, Origin, Priority
from ingest.api.schemas import RunAgainError

_NAMES = frozenset({str})

_VALUES = frozenset({bytes})

_FIELDS = (
    ("attributes", dict),
    ("body", bytes),
    ("timestamp_ms", int),
    ("nanos", int),
    ("host", str),
    ("priority", Priority),
    ("key", bytes),
    ("tombstone", bool),
)

# not the plugin's fault: an interrupt, or lack of memory. All else is, even what does not extend Exception: SystemExit,
# asyncio.CancelledError, or the exceptions of native extensions
FATAL = (KeyboardInterrupt, MemoryError)


class OutOfMemoryError(IngestError):
    """A decorator or sink ran out of memory; the message names the event."""

    code = "out_of_memory"
    remedy = "Raise the memory of the workers, or drop such events with `max_size`."
    disposition: ClassVar[Disposition] = Disposition.RETRY


def reraise_fatal(error: BaseException, name: str, module: str, provider: str = "", origin: object = None) -> None:
    """
    Raise an error that neither the event nor the decorator or sink has caused; return for any other.

    Args:
        error: raised by the decorator or sink.
        name: of the decorator or sink.
        module: of its class.
        provider: its package or file, for the message.
        origin: of the event.

    Raises:
        KeyboardInterrupt, RunAgainError: `error` is one.
        OutOfMemoryError: `error` is a MemoryError.
    """
    if isinstance(error, KeyboardInterrupt | RunAgainError):
        raise error
    if isinstance(error, MemoryError):
        event = f" for event {origin.topic}/{origin.partition}/{origin.offset}" if isinstance(origin, Origin) else ""
        raise OutOfMemoryError(
            f'"{name}" ran out of memory{event}: {describe_exception(error, module, provider)}',
            hint="give the workers more memory; if the event is too large, drop it before this decorator",
        ) from error


def describe_exception(error: BaseException, module: str, *about: str) -> str:
    """An exception with the innermost line in the module's package, as in `KeyError: 'x' (steps:12)`."""
    name, text = type(error).__name__, str(error)
    details = ", ".join(part for part in (_location_in(error, module), *about) if part)
    return (f"{name}: {text}" if text else name) + (f" ({details})" if details else "")


def checked_write(write: Callable[[Event], str | None]) -> Callable[[Event], str | None]:
    """The write call of a plugin's sink or mapper; a reason that is no text is a bug that costs its event."""

    def checked(event: Event) -> str | None:
        reason = write(event)
        if reason is not None and not isinstance(reason, str):
            raise TypeError(f"write returned {short(reason)}; it must return None or the reason of a drop")
        return reason

    return checked


def check_event(event: Event, origin: Origin) -> None:
    """
    Check an event after a plugin's call, since a wrong type would fail later and in another component.

    Args:
        event: after the call.
        origin: of the event before the call.

    Raises:
        TypeError: a field has the wrong type, or the origin was changed.
    """
    attributes = event.attributes
    if not (
        event.body.__class__ is bytes
        and attributes.__class__ is dict
        and _NAMES.issuperset(map(type, attributes))
        and _VALUES.issuperset(map(type, attributes.values()))
        and event.origin is origin
        and event.timestamp_ms.__class__ is int
        and event.nanos.__class__ is int
        and event.host.__class__ is str
        and event.priority.__class__ is Priority
        and event.key.__class__ is bytes
        and event.tombstone.__class__ is bool
    ):
        raise TypeError(_violation(event))


def _violation(event: Event) -> str:
    for name, kind in _FIELDS:
        value = getattr(event, name)
        if value.__class__ is not kind:
            return f"the decorator set the event's {name} to {short(value)}; it must be {kind.__name__}"
    for attribute, text in event.attributes.items():
        if not _is_attribute(attribute, text):
            return f"the decorator set attribute {short(attribute)} to {short(text)}; names must be str, values bytes"
    return "the decorator changed the event's origin, which identifies it"


def checked(decorate: Callable[[Event], bool]) -> Callable[[Event], bool]:
    """The same call, followed by a check of the event."""

    def decorate_and_check(event: Event) -> bool:
        origin = event.origin
        is_passed = decorate(event)
        if is_passed is True:
            check_event(event, origin)
        return is_passed

    return decorate_and_check


def events_of(result: Iterable[Event], take: Callable[[Iterable[Event]], list[Event]]) -> list[Event]:
    """
    The events that a fan-out returned.

    Args:
        result: what it returned.
        take: lists the events.

    Raises:
        TypeError: these are not events, or two are the same or share their attributes.
    """
    if not hasattr(result, "__iter__"):
        raise TypeError(f"decorate returned {short(result)}; a fan-out must return events")
    events = take(result)
    if len({id(each) for each in events}) != len(events):
        raise TypeError("a fan-out returned the same event twice; copy it")
    for each in events:
        if not isinstance(each, Event):
            raise TypeError(f"a fan-out returned {short(each)}, which is not an event")
    if len({id(each.attributes) for each in events}) != len(events):
        raise TypeError("a fan-out returned two events that share their attributes; copy them: dict(event.attributes)")
    return events


def with_valid_attributes(event: Event) -> Event:
    """A failed event, with only the attributes that a dead letter can contain."""
    attributes = event.attributes if isinstance(event.attributes, dict) else {}
    valid = {name: value for name, value in attributes.items() if _is_attribute(name, value)}
    return event if len(valid) == len(attributes) and attributes is event.attributes else Event(b"", valid)


def _is_attribute(name: object, value: object) -> bool:
    return type(name) is str and type(value) is bytes


def _location_in(error: BaseException, module: str) -> str:
    """Module and line of the innermost call in the package of a module; "" if there is none."""
    package = module.partition(".")[0]
    names = ((str(frame.f_globals.get("__name__", "")), line) for frame, line in traceback.walk_tb(error.__traceback__))
    own = [f"{name}:{line}" for name, line in names if name.partition(".")[0] == package]
    return own[-1] if own else ""
