"""Measurements as a matrix of stations and days."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from gapfill.cleaning import Key

Values = NDArray[np.float64]
"""A row for each station, a column for each day; NaN where nothing is known."""


@dataclass(frozen=True, slots=True)
class Grid:
    """
    All measurements of one measure.

    Attributes:
        stations: names, sorted.
        dates: consecutive days (YYYY-MM-DD), sorted.
        values: of each station and day; NaN if not measured.
    """

    stations: tuple[str, ...]
    dates: tuple[str, ...]
    values: Values

    @classmethod
    def of(cls, measured: Mapping[Key, float], stations: Iterable[str] = ()) -> "Grid":
        """
        The matrix of these measurements.

        Args:
            measured: the measurements.
            stations: more stations, which may have no measurement.
        """
        rows = tuple(sorted({station for station, _ in measured} | set(stations)))
        dates = _days(day for _, day in measured)
        values = np.full((len(rows), len(dates)), np.nan)
        row_of = {station: number for number, station in enumerate(rows)}
        column_of = {day: number for number, day in enumerate(dates)}
        for (station, day), value in measured.items():
            values[row_of[station], column_of[day]] = value
        return cls(rows, dates, values)

    @property
    def cold_stations(self) -> tuple[str, ...]:
        """Stations without any measurement."""
        return tuple(np.array(self.stations, object)[np.isnan(self.values).all(axis=1)])

    @property
    def cold_dates(self) -> tuple[str, ...]:
        """Days that no station measured."""
        return tuple(np.array(self.dates, object)[np.isnan(self.values).all(axis=0)])


def _days(days: Iterable[str]) -> tuple[str, ...]:
    """All days from the first to the last one."""
    numbers = [date.fromisoformat(day).toordinal() for day in days]
    if not numbers:
        return ()
    return tuple(date.fromordinal(number).isoformat() for number in range(min(numbers), max(numbers) + 1))
