"""Attributes under other names, and what is remembered of names."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from ingest.api.event import Event

K = TypeVar("K")
T = TypeVar("T")

_MOST_NAMES = 10_000  # names of attributes come from the data, so what is remembered of them must have an end


class Remembered(dict[K, T]):
    """
    Name -> what was made of it, at the first time it was asked for.

    Args:
        make: gives the same for the same name, always.
        most: so many names; with one more it starts anew.
    """

    def __init__(self, make: Callable[[K], T], *, most: int = _MOST_NAMES) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, name: K) -> T:
        made = self._make(name)
        if len(self) >= self._most:
            self.clear()
        self[name] = made
        return made


def rename(event: Event, new_names: Mapping[str, str]) -> None:
    """
    Give the attributes of an event the names a mapping has for them, all of them or, on an error, none.

    Those that keep their names come first; a new name takes the place of an attribute that has it already.

    Raises:
        DecorateError: a new name is taken, and attributes are written once.
    """
    before = event.attributes
    kept: dict[str, bytes] = {}
    moved: list[tuple[str, bytes]] = []
    for name, value in before.items():
        new_name = new_names[name]
        if new_name == name:
            kept[name] = value
        else:
            moved.append((new_name, value))
    if not moved:
        return
    event.attributes = kept
    try:
        for new_name, value in moved:
            event.set(new_name, value)
    except BaseException:
        event.attributes = before
        raise
