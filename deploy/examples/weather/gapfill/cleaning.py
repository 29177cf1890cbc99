"""Rejects values that are no measurements, and stations that measure at the same place."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from gapfill.errors import TooManyRejectedError

MISSING_CODES = frozenset({9999.9, -9999.0})
"""Numbers that mean "not measured" in archives of daily measurements."""
MAX_REJECTED = 0.5  # of all readings; with more, the table or the measure is probably not the intended one
SAME_DEGREES = 0.01  # in latitude and in longitude: about 1 km
SAME_METRES = 10.0  # of altitude

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_FULL_CIRCLE = 360.0  # degrees

Key = tuple[str, str]
"""Station and date (YYYY-MM-DD)."""


class Reading(NamedTuple):
    """
    One version of a cell of the table.

    Attributes:
        row: the row key, `station|date`.
        time_ms: event time, in milliseconds since 1970.
        text: the value, as the station reported it.
    """

    row: str
    time_ms: int
    text: str


class Place(NamedTuple):
    """
    Where a station is.

    Attributes:
        latitude: in degrees, positive to the north.
        longitude: in degrees, positive to the east.
        altitude: in metres.
    """

    latitude: float
    longitude: float
    altitude: float


@dataclass(slots=True)
class Cleaned:
    """
    The readings that are measurements.

    Attributes:
        values: measurements, one for each station and date.
        rejected: reason -> number of readings.
        duplicates: number of readings that a later one of the same station and date replaced.
        stations: all stations that have a row, also without any measurement.
    """

    values: dict[Key, float] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    stations: set[str] = field(default_factory=set)


def cleaned(readings: Iterable[Reading]) -> Cleaned:
    """
    The measurements; of several of one station and date, the last one by event time.

    A rejected reading replaces no measurement: a missing code says that nothing is known.

    Raises:
        TooManyRejectedError: more than half of the readings are rejected.
    """
    found = Cleaned()
    times: dict[Key, int] = {}
    total = 0
    for reading in readings:
        total += 1
        key = key_of(reading.row)
        value = None if key is None else number(reading.text)
        reason = "bad_row_key" if key is None else _rejection(reading.text, value)
        if key is not None:
            found.stations.add(key[0])
        if reason is not None or key is None or value is None:
            found.rejected[str(reason)] += 1
            continue
        found.duplicates += key in times
        if key not in times or reading.time_ms >= times[key]:
            found.values[key], times[key] = value, reading.time_ms
    rejected = found.rejected.total()
    if rejected > MAX_REJECTED * total:
        raise TooManyRejectedError(f"{rejected:,} of {total:,} readings are rejected: {dict(found.rejected)}")
    return found


def key_of(row: str) -> Key | None:
    """Station and date of a row key; None if it has no valid date."""
    station, bar, day = row.rpartition("|")
    try:
        is_date = date.fromisoformat(day).isoformat() == day
    except ValueError:
        is_date = False
    return (station, day) if station and bar and is_date else None


def number(text: str) -> float | None:
    """The finite number that a text is; None if it is not one. Python's `float` accepts more, such as `1_0`."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def _rejection(text: str, value: float | None) -> str | None:
    if value is None:
        return "not_finite" if _NOT_FINITE.fullmatch(text) or _NUMBER.fullmatch(text) else "not_a_number"
    return "missing_code" if value in MISSING_CODES else None


def same_places(places: Mapping[str, Place], counts: Mapping[str, int]) -> dict[str, str]:
    """
    Stations that are at the place of another one with more measurements.

    Args:
        places: of the stations.
        counts: station -> number of its measurements.

    Returns:
        Station -> the one that stays. Among stations with equal counts, the first by name stays.
    """
    staying: list[str] = []
    leaving: dict[str, str] = {}
    for station in sorted(places, key=lambda name: (-counts.get(name, 0), name)):
        other = next((name for name in staying if _is_same(places[station], places[name])), None)
        if other is None:
            staying.append(station)
        else:
            leaving[station] = other
    return leaving


def _is_same(one: Place, other: Place) -> bool:
    # with a margin, so that 0.01° in decimal notation are 0.01°
    degrees, metres = SAME_DEGREES + 1e-9, SAME_METRES + 1e-9
    return (
        abs(one.latitude - other.latitude) <= degrees
        and abs(east_of(one.longitude, other.longitude)) <= degrees
        and abs(one.altitude - other.altitude) <= metres
    )


def east_of(origin: float, longitude: float) -> float:
    """How many degrees a longitude is to the east of another one, from -180 to 180; negative to the west."""
    return (longitude - origin + _FULL_CIRCLE / 2) % _FULL_CIRCLE - _FULL_CIRCLE / 2
