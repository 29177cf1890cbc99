"""Runs the events of one split through a decorator, as the chain does."""

from collections.abc import Iterable
from typing import Any

from ingest.api import Buffered, Decorator, Event, EventError, Example, FanOut, Settings
from ingest.api.schemas import GivenSchemas
from ingest.testing.events import settings_of

AnyDecorator = Decorator[Any] | FanOut[Any]


def constructed(kind: type[AnyDecorator], example: Example, settings: Settings | None = None) -> AnyDecorator:
    """A decorator with the schemas of an example, and its options unless some are given."""
    decorator = kind(settings_of(kind.settings_class(), example.settings) if settings is None else settings)
    if decorator.settings.uses_registry:
        decorator.use_schemas(GivenSchemas(example.schemas))
    return decorator


def outcomes_of_split(decorator: AnyDecorator, events: Iterable[Event]) -> list[list[Event] | EventError]:
    """
    The outcome of each event of a split: the events that came out, an empty list if it was dropped, or its error.

    An event that was buffered and came out at the end has its outcome at its own place in the input.
    """
    decorator.split_start()
    found: list[list[Event] | EventError] = []
    buffered: dict[int, int] = {}
    for event in events:
        try:
            answer = decorator.decorate(event)
        except EventError as error:
            found.append(error)
            continue
        if answer is True or answer is False:
            found.append([event] if answer else [])
        elif isinstance(decorator, Decorator):
            raise AssertionError(f"decorate returned {answer!r}; it must return True or False")
        elif isinstance(answer, Buffered):
            buffered[id(event)] = len(found)
            found.append([])
            if answer.instead_of is not None:
                del buffered[id(answer.instead_of)]
        else:
            found.append(list(answer))
    for event in decorator.split_end() if isinstance(decorator, FanOut) else ():
        found[buffered.pop(id(event))] = [event]
    return found
