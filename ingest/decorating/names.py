"""Renames attributes, and caches values computed for names and other keys."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ingest.api.event import Event
from ingest.api.notation import name_to_bytes

K = TypeVar("K", bound=str | bytes | tuple[str | bytes, ...])
T = TypeVar("T")

_MAX_KEYS = 10_000  # keys come from the data, so their number must be bounded
_MAX_KEY = 1_000  # characters or bytes: and their size


class BoundedMemo(Generic[K, T]):
    """
    Key -> the value computed at its first use, such as the new name of an attribute or the column of a name.

    `memo[key]` always returns the value. A loop over all attributes of an event reads `known[key]` first, and
    `memo[key]` on a KeyError: a look-up in a plain dict takes half the time.

    Args:
        make: computes the value, always the same for a key; a key for which it raises is not stored, nor a very long
            one.
        max_keys: maximum number of keys; one more clears the memo, and keys in use are computed again.

    Attributes:
        known: the values stored now; only read or clear it.
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
            value = self._make(key)
        if (len(key) if isinstance(key, str | bytes) else sum(map(len, key))) > _MAX_KEY:
            return value
        if len(self.known) >= self._max_keys:
            self.known.clear()
        self.known[key] = value
        return value


def names_found(search: Callable[[bytes], object]) -> BoundedMemo[str, bool]:
    """
    Name of an attribute -> whether a pattern is found in it.

    Args:
        search: returns None if the pattern is not found in the bytes of a name.
    """
    return BoundedMemo(lambda name: search(name_to_bytes(name)) is not None)


def rename(event: Event, new_names: BoundedMemo[str, str]) -> None:
    """
    Rename the attributes of an event: all of them, or none on an error.

    Attributes that keep their names come first; a renamed attribute replaces another one that has its new name.

    Raises:
        DecorateError: another attribute has the new name, and attributes are written once.
    """
    before = event.attributes
    unchanged: dict[str, bytes] = {}
    renamed: list[tuple[str, bytes]] = []
    known = new_names.known
    for name, value in before.items():
        try:
            new_name = known[name]
        except KeyError:
            new_name = new_names[name]
        if new_name == name:
            unchanged[name] = value
        else:
            renamed.append((new_name, value))
    if not renamed:
        return
    event.attributes = unchanged
    try:
        for new_name, value in renamed:
            event.set(new_name, value)
    except BaseException:
        event.attributes = before
        raise
