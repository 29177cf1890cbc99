"""Attributes under other names, and what is remembered of names and of other keys."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ingest.api.event import Event

K = TypeVar("K")
T = TypeVar("T")

_MAX_KEYS = 10_000  # keys come from the data, so what is remembered of them must have an end


class Remembered(Generic[K, T]):
    """
    Key -> what was made of it, at the first time it was asked for: the name of an attribute, the column of a name.

    `remembered[key]` always answers. A loop over all that an event has asks `known[key]`, and `remembered[key]` on a
    KeyError: a look-up in a plain dict takes half the time of one in anything else.

    Args:
        make: gives the same for the same key, always; a key for which it raises is not remembered.
        max_keys: so many; with one more it starts anew, and what is in use comes back at once.

    Attributes:
        known: what is remembered now; only to be read, or cleared.
    """

    __slots__ = ("_make", "_max_keys", "known")

    def __init__(self, make: Callable[[K], T], *, max_keys: int = _MAX_KEYS) -> None:
        self._make = make
        self._max_keys = max_keys
        self.known: dict[K, T] = {}

    def __getitem__(self, key: K) -> T:
        try:
            return self.known[key]
        except KeyError:
            made = self._make(key)
        if len(self.known) >= self._max_keys:
            self.known.clear()
        self.known[key] = made
        return made


def rename(event: Event, new_names: Remembered[str, str]) -> None:
    """
    Give the attributes of an event the names that are remembered for them, all of them or, on an error, none.

    Those that keep their names come first; a new name takes the place of an attribute that has it already.

    Raises:
        DecorateError: a new name is taken, and attributes are written once.
    """
    before = event.attributes
    kept: dict[str, bytes] = {}
    moved: list[tuple[str, bytes]] = []
    known = new_names.known
    for name, value in before.items():
        try:
            new_name = known[name]
        except KeyError:
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
