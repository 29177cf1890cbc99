"""Time zones that the data names."""

import zoneinfo
from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cache
from typing import NoReturn, TypeVar

from ingest.decorating.names import BoundedMemo
from ingest.formats.times import offset_of

T = TypeVar("T")

_MAX_NAMES = 1_000  # there are 600 zones, and names come from the data


class NoZoneError(Exception):
    """A time needs its zone, which is not known."""


class _Unknown(tzinfo):
    """A zone that is not known."""

    def utcoffset(self, _when: datetime | None) -> NoReturn:
        """Always an error."""
        raise NoZoneError

    dst = utcoffset
    tzname = utcoffset


def by_zone(made: Callable[[tzinfo], T]) -> Callable[[bytes | None], T]:
    """
    A function of the name of a zone, or an offset such as +02:00 or UTC+2.

    Args:
        made: its result for a zone. That of a name that is unknown or absent raises NoZoneError where it needs the
            offset.
    """
    zones, unknown = _zones(), made(_Unknown())
    known: BoundedMemo[bytes, T] = BoundedMemo(lambda name: made(zones.get(name) or _offset(name)), max_keys=_MAX_NAMES)
    return lambda name: unknown if name is None else known[name.strip()]


def _offset(text: bytes) -> tzinfo:
    try:
        return offset_of(text)
    except ValueError:
        return _Unknown()


@cache
def _zones() -> dict[bytes, zoneinfo.ZoneInfo]:
    """Every zone by its name; read at once, so that no event reads files."""
    return {name.encode(): zoneinfo.ZoneInfo(name) for name in zoneinfo.available_timezones()}
