"""What code that is not ours leaves behind is checked, and what it raises is described: calls of plugins."""

import traceback
from collections.abc import Callable, Iterable
from reprlib import repr as short
from typing import ClassVar

from ingest.api import Disposition, Event, IngestError, Origin, Priority

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

# what no plugin is to blame for: somebody ends the program, or the machine has no memory; for all else it is, even for
# what is no Exception: SystemExit, asyncio.CancelledError, or what extensions in other languages raise
PASSED_ON = (KeyboardInterrupt, MemoryError)


class OutOfMemoryError(IngestError):
    """A decorator or a sink got no memory; the batch waits until there is enough."""

    code = "out_of_memory"
    disposition: ClassVar[Disposition] = Disposition.RETRY


def reraise_fatal(error: BaseException, name: str, module: str, provider: str = "", origin: object = None) -> None:
    """
    Raise what is neither an event's fault nor that of the decorator or sink, of this name, that it came out of.

    Raises:
        KeyboardInterrupt: it is one.
        OutOfMemoryError: it is a want of memory; says where.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, MemoryError):
        event = f" for event {origin.topic}/{origin.partition}/{origin.offset}" if isinstance(origin, Origin) else ""
        raise OutOfMemoryError(
            f'"{name}" got no memory{event}: {describe_exception(error, module, provider)}',
            hint="give the workers more; where the event itself asks for too much, drop it before this decorator",
        ) from error


def describe_exception(error: BaseException, module: str, *about: str) -> str:
    """What was raised, with the line of the module's package where that was, as in `KeyError: 'x' (steps:12)`."""
    name, text = type(error).__name__, str(error)
    places = ", ".join(part for part in (_place_in(error, module), *about) if part)
    return (f"{name}: {text}" if text else name) + (f" ({places})" if places else "")


def check_event(event: Event, origin: Origin) -> None:
    """
    Refuse what a later decorator or a store would fall over, without saying who left it there.

    Args:
        event: as a plugin left it.
        origin: as it was before.

    Raises:
        TypeError: what is wrong with it.
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
        raise TypeError(_what_is_wrong(event))


def _what_is_wrong(event: Event) -> str:
    for name, kind in _FIELDS:
        value = getattr(event, name)
        if value.__class__ is not kind:
            return f"the decorator left {short(value)} as the event's {name}; it must be {kind.__name__}"
    for attribute, text in event.attributes.items():
        if not _is_attribute(attribute, text):
            return f"the decorator set attribute {short(attribute)} to {short(text)}; names are str, values are bytes"
    return "the decorator changed the event's origin, which tells it from all others"


def checked(decorate: Callable[[Event], bool]) -> Callable[[Event], bool]:
    """A decorator's call, after which the event is looked at."""

    def decorate_and_check(event: Event) -> bool:
        origin = event.origin
        kept = decorate(event)
        if kept is True:
            check_event(event, origin)
        return kept

    return decorate_and_check


def events_of(answer: Iterable[Event]) -> list[Event]:
    """
    What a fan-out returned.

    Raises:
        TypeError: these are no events, or not each one of its own.
    """
    if not hasattr(answer, "__iter__"):
        raise TypeError(f"decorate returned {short(answer)}; a fan-out returns events")
    made = list(answer)
    if len({id(each) for each in made}) != len(made):
        raise TypeError("a fan-out gave the same event twice; each must be a copy of its own")
    for each in made:
        if not isinstance(each, Event):
            raise TypeError(f"a fan-out gave {short(each)}, which is no event")
    if len({id(each.attributes) for each in made}) != len(made):
        raise TypeError("a fan-out gave two events the same attributes; copy them: dict(event.attributes)")
    return made


def without_rubbish(event: Event) -> Event:
    """An event as a plugin left it when it failed, with those attributes alone that a dead letter can hold."""
    attributes = event.attributes if isinstance(event.attributes, dict) else {}
    kept = {name: value for name, value in attributes.items() if _is_attribute(name, value)}
    return event if len(kept) == len(attributes) and attributes is event.attributes else Event(b"", kept)


def _is_attribute(name: object, value: object) -> bool:
    return type(name) is str and type(value) is bytes


def _place_in(error: BaseException, module: str) -> str:
    """Module and line of the innermost call in the package of a module; "" when nothing of it was running."""
    package = module.partition(".")[0]
    names = ((str(frame.f_globals.get("__name__", "")), line) for frame, line in traceback.walk_tb(error.__traceback__))
    own = [f"{name}:{line}" for name, line in names if name.partition(".")[0] == package]
    return own[-1] if own else ""
