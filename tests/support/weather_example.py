"""The modules of the example `weather`, importable by tests, and its generated measurements."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import cache

import numpy as np

from tests.support.environments import ROOT

EXAMPLE = ROOT / "deploy" / "examples" / "weather"
if str(EXAMPLE) not in sys.path:
    sys.path.append(str(EXAMPLE))

from gapfill.cleaning import Place, Reading  # noqa: E402 - found beside the example's scripts
from gapfill.dataset import Dataset  # noqa: E402
from gapfill.grid import Grid, Values  # noqa: E402


@cache
def reports() -> Sequence[dict[str, object] | None]:
    """The reports that the example generates; None for a broken line."""
    return list(_reports())


def _reports() -> Iterator[dict[str, object] | None]:
    from generate import Weather

    for _, line in Weather().reports():
        try:
            yield json.loads(line)
        except ValueError:
            yield None


@cache
def generated() -> Dataset:
    """What the tables of the example contain, read without a pipeline."""
    readings, places = [], {}
    for report in reports():
        if report is None:
            continue
        time_ms = int(datetime.fromisoformat(str(report["time"])).timestamp() * 1_000)
        readings.append(Reading(f"{report['station']}|{report['date']}", time_ms, str(report["temp"])))
        places[str(report["station"])] = Place(*(float(str(report[name])) for name in ("lat", "lon", "alt")))
    return Dataset.of(readings, places)


def low_rank(seed: int, *, stations: int = 40, days: int = 200, removed: float = 0.2) -> tuple[Grid, Values]:
    """
    Measurements that are effects of station and day, two products of factors, and noise of 0.5; and all of them.

    Args:
        seed: of all random numbers.
        stations: number of stations.
        days: number of days.
        removed: part of the cells that the grid lacks.
    """
    random = np.random.default_rng(seed)
    effects = random.normal(0, 4, (stations, 1)) + random.normal(10, 6, (1, days))
    products = random.normal(0, 1.3, (stations, 2)) @ random.normal(0, 1.3, (2, days))
    complete = effects + products + random.normal(0, 0.5, (stations, days))
    values = np.where(random.random((stations, days)) < removed, np.nan, complete)
    first = date(2025, 1, 1).toordinal()
    dates = tuple(date.fromordinal(first + day).isoformat() for day in range(days))
    return Grid(tuple(f"S{number:03}" for number in range(stations)), dates, values), complete
