"""What the scripts need of the tables."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gapfill.cleaning import Cleaned, Place, Reading, cleaned, same_places
from gapfill.errors import NoMeasurementsError
from gapfill.grid import Grid


@dataclass(frozen=True, slots=True)
class Dataset:
    """
    The measurements of one measure, clean.

    Attributes:
        grid: the measurements; only one station for each place.
        places: of the stations that have one.
        cleaned: the measurements of all stations, and the numbers of rejected readings.
        same_place: station that is left out -> station at the same place.
        newest_ms: event time of the newest reading, in milliseconds since 1970.
    """

    grid: Grid
    places: Mapping[str, Place]
    cleaned: Cleaned
    same_place: Mapping[str, str]
    newest_ms: int

    @classmethod
    def of(cls, readings: Iterable[Reading], places: Mapping[str, Place]) -> "Dataset":
        """
        Clean the readings of a table.

        Raises:
            NoMeasurementsError: there is none.
            TooManyRejectedError: more than half of them are rejected.
        """
        read = list(readings)
        found = cleaned(read)
        if not found.values:
            raise NoMeasurementsError("the table has no measurement; run the pipeline first")
        same = same_places(places, Counter(station for station, _ in found.values))
        kept = {key: value for key, value in found.values.items() if key[0] not in same}
        grid = Grid.of(kept, (found.stations | places.keys()) - same.keys())
        newest = max(reading.time_ms for reading in read)
        return cls(grid, places, found, same, newest)
