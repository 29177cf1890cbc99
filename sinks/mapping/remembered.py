"""Values made once for each key and kept, up to a number: keys come from the data, so there must be an end."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """
    What was made of keys so far.

    The way for each event is `known[key]`, and `made(key)` on a KeyError: a plain mapping, because a mapping of our own
    costs a tenth more at every look-up. When it is full it forgets all: what is used comes back at once.

    Args:
        make: the value of a key, the same each time; a key for which it raises is not kept.
        limit: most keys.
    """

    __slots__ = ("_limit", "_make", "known")

    def __init__(self, make: Callable[[K], V], limit: int) -> None:
        self._make = make
        self._limit = limit
        self.known: dict[K, V] = {}

    def made(self, key: K) -> V:
        """The value of a key that is not known, remembered from now on."""
        value = self._make(key)
        if len(self.known) >= self._limit:
            self.known.clear()
        self.known[key] = value
        return value
