"""The events of one partition in one micro-batch through a decorator, as the chain takes them."""

from collections.abc import Iterable
from typing import Any

from ingest.api import Decorator, Event, EventError, FanOut, Held

AnyDecorator = Decorator[Any] | FanOut[Any]


def share_of(decorator: AnyDecorator, events: Iterable[Event]) -> list[list[Event] | EventError]:
    """
    What became of each event of a share: what came out, nothing when it was dropped, or its error.

    What was held and came out in the end stands where it went in.
    """
    decorator.begin()
    found: list[list[Event] | EventError] = []
    held: dict[int, int] = {}
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
        elif isinstance(answer, Held):
            held[id(event)] = len(found)
            found.append([])
            if answer.instead_of is not None:
                del held[id(answer.instead_of)]
        else:
            found.append(list(answer))
    for event in decorator.finish() if isinstance(decorator, FanOut) else ():
        found[held.pop(id(event))] = [event]
    return found
