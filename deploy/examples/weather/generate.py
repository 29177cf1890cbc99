"""
Write the measurements of this example: daily temperatures of 90 stations in 2025, the same on every run.

    python generate.py [FOLDER]

A file for each month, one JSON object a line. They have what real archives have: days without a report, outages of
weeks, codes for missing values, text, corrections, broken lines, a station that never measured, two stations at one
place, and a day without any report. A mountain ridge between the 46th and the 47th parallel separates two climates.
"""

# ruff: noqa: PLR2004 - arbitrary numbers of synthetic weather

import gzip
import io
import json
import math
import random
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

SEED = 20250719
STATIONS = 90
FIRST_DAY, DAYS = date(2025, 1, 1), 365
SOUTH, NORTH, WEST, EAST = 43.5, 49.5, 5.0, 15.0  # degrees
NORTH_OF_RIDGE = -8.0  # degrees Celsius
BLACKOUT = date(2025, 7, 19)  # nothing was reported that day
MISSING_CODES = (9999.9, -9999, -9999.0)


class Station(NamedTuple):
    """
    A station.

    Attributes:
        latitude: in degrees.
        longitude: in degrees.
        altitude: in metres.
        missing_code: what it reports if it has not measured.
    """

    name: str
    latitude: float
    longitude: float
    altitude: int
    missing_code: float


def ridge(longitude: float) -> float:
    """Latitude of the mountain ridge at a longitude."""
    return 46.5 + 0.4 * math.sin((longitude - WEST) / (EAST - WEST) * 2 * math.pi)


class Weather:
    """Generates the reports of one day after the other."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)  # noqa: S311 - synthetic weather, not a secret
        self.stations = [self._station(number) for number in range(STATIONS - 1)]
        # a second station beside the first one
        first = self.stations[0]
        beside = {"latitude": round(first.latitude + 0.004, 3), "altitude": first.altitude + 6}
        self.stations.append(first._replace(name=_name(STATIONS - 1), **beside))
        self._outages = {station.name: self._outage() for station in self._random.sample(self.stations, 20)}
        self._east_west = self._north_south = 0.0

    def reports(self) -> Iterator[tuple[date, bytes]]:
        """The day and the line of each report, in the order of the days."""
        for number in range(DAYS):
            day = FIRST_DAY + timedelta(days=number)
            # the large-scale weather of a day depends on the day before
            self._east_west = 0.7 * self._east_west + self._random.gauss(0, 1.5)
            self._north_south = 0.7 * self._north_south + self._random.gauss(0, 1.5)
            for index, station in enumerate(self.stations):
                temperature = self._temperature(station, number)
                for line in self._lines(station, index, day, temperature):
                    if day != BLACKOUT:
                        yield day, line

    def _station(self, number: int) -> Station:
        latitude = round(self._random.uniform(SOUTH, NORTH), 3)
        longitude = round(self._random.uniform(WEST, EAST), 3)
        altitude = int(self._random.triangular(80, 1_400, 250))
        return Station(_name(number), latitude, longitude, altitude, self._random.choice(MISSING_CODES))

    def _outage(self) -> tuple[int, int]:
        start = self._random.randrange(DAYS - 30)
        return start, start + self._random.randint(10, 30)

    def _temperature(self, station: Station, day: int) -> float:
        east = (station.longitude - WEST) / (EAST - WEST) * 2 - 1
        north = (station.latitude - SOUTH) / (NORTH - SOUTH) * 2 - 1
        return (
            12.0
            - (10.0 + 1.5 * east) * math.cos(2 * math.pi * (day - 20) / 365)
            - 6.5 * station.altitude / 1_000
            - 1.2 * north
            + self._east_west * east
            + self._north_south * north
            + (NORTH_OF_RIDGE if station.latitude > ridge(station.longitude) else 0.0)
            + self._random.gauss(0, 0.5)
        )

    def _lines(self, station: Station, index: int, day: date, temperature: float) -> Iterator[bytes]:
        number = (day - FIRST_DAY).days
        start, end = self._outages.get(station.name, (DAYS, DAYS))
        if start <= number < end or self._random.random() < 0.05 or (index == STATIONS - 1 and number < 240):
            return
        morning = datetime.combine(day + timedelta(days=1), time(6, self._random.randrange(60)), UTC)
        chance = self._random.random()
        if index == 1 or chance < 0.02:  # the second station never measured
            yield _line(station, day, station.missing_code, morning)
        elif chance < 0.021:
            yield _line(station, day, self._random.choice(("NaN", "n/a")), morning)
        elif chance < 0.0213:
            yield _line(station, day, temperature, morning)[:60]
        elif chance < 0.026:
            # a wrong value, and its correction some hours later
            yield _line(station, day, temperature + self._random.choice((-10, 10)), morning)
            yield _line(station, day, temperature, morning + timedelta(hours=5))
        else:
            yield _line(station, day, temperature, morning)


def _name(number: int) -> str:
    return f"WX{number + 101:05}"


def _line(station: Station, day: date, temperature: float | str, reported: datetime) -> bytes:
    report = {
        "station": station.name,
        "date": day.isoformat(),
        "temp": temperature if isinstance(temperature, str) else round(temperature, 1),
        "lat": station.latitude,
        "lon": station.longitude,
        "alt": station.altitude,
        "time": reported.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return json.dumps(report).encode()


def main(folder: Path) -> None:
    """Write a file for each month; a file with this content stays as it is: a changed one becomes a dead letter."""
    months: dict[str, list[bytes]] = {}
    for day, line in Weather().reports():
        months.setdefault(f"{day:%Y-%m}", []).append(line)
    folder.mkdir(parents=True, exist_ok=True)
    for month, lines in months.items():
        content = b"".join(line + b"\n" for line in lines)
        path = folder / f"{month}.jsonl.gz"
        if path.exists() and gzip.decompress(path.read_bytes()) == content:
            continue
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
            file.write(content)
        path.write_bytes(packed.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data" / "measurements")
