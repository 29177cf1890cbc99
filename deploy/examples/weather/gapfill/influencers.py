"""Points between stations that measure less alike than their distance explains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gapfill.cleaning import Place, east_of
from gapfill.dataset import Dataset
from gapfill.fit import Fit, Pairs, Weights, fit, pairs

DEVIATIONS = 2.0
"""How many standard deviations below the curve a pair must be."""
_SHOWN = 10  # points of a summary


class Influencer(NamedTuple):
    """
    A point between two stations that measure less alike than their distance explains.

    Attributes:
        stations: their names.
        latitude: of the midpoint, in degrees.
        longitude: of the midpoint, in degrees.
        altitude: of the midpoint, in metres.
        similarity: of the measurements.
        expected: the similarity that the fit gives for their distance.
        residual: ln(similarity) - ln(expected), below 0.
    """

    stations: tuple[str, str]
    latitude: float
    longitude: float
    altitude: float
    similarity: float
    expected: float
    residual: float


@dataclass(frozen=True, slots=True)
class Found:
    """
    The points of a set of stations.

    Attributes:
        places: of the stations that were compared.
        pairs: of these stations.
        fit: of the pairs.
        points: the influencers, the farthest from the curve first.
    """

    places: Mapping[str, Place]
    pairs: Pairs
    fit: Fit
    points: Sequence[Influencer]

    def __str__(self) -> str:
        lines = [
            f"{len(self.places):,} stations, {len(self.pairs):,} pairs",
            f"pairs without a common day: {self.pairs.not_comparable:,}",
            f"similarity = e^({self.fit.a:.3f} {self.fit.b:+.3f} p), standard deviation {self.fit.sigma:.3f}",
            f"{len(self.points):,} pairs are far below the curve",
        ]
        lines += [
            f"  {each.latitude:8.3f} {each.longitude:9.3f}  {each.stations[0]} {each.stations[1]}"
            f"  similarity {each.similarity:.3f}, expected {each.expected:.3f}"
            for each in self.points[:_SHOWN]
        ]
        return "\n".join(lines)


def found_in(data: Dataset, weights: Weights, max_pairs: int) -> Found:
    """
    The influencers among all stations that have a place and a measurement.

    Args:
        data: the measurements.
        weights: of the distance between two places.
        max_pairs: the largest number of pairs to compare.

    Raises:
        TooManyStationsError: there are more pairs.
        NotEnoughPairsError: there are fewer than three pairs.
    """
    left_out = {*data.grid.cold_stations, *(set(data.grid.stations) - data.places.keys())}
    chosen = [row for row, name in enumerate(data.grid.stations) if name not in left_out]
    places = {data.grid.stations[row]: data.places[data.grid.stations[row]] for row in chosen}
    found = pairs(list(places.values()), data.grid.values[chosen], weights, max_pairs)
    fitted = fit(found.closeness, found.similarity)
    return Found(places, found, fitted, influencers(places, found, fitted, DEVIATIONS))


def influencers(places: Mapping[str, Place], found: Pairs, fitted: Fit, deviations: float) -> list[Influencer]:
    """
    The pairs below the curve, the farthest first.

    Args:
        places: name and place of each station, in the order of the pairs' indexes.
        found: the pairs of these stations.
        fitted: the curve of these pairs.
        deviations: how many standard deviations below the curve a pair must be.
    """
    names = list(places)
    points = []
    for pair in fitted.outliers(deviations):
        one, other = names[found.first[pair]], names[found.second[pair]]
        middle = midpoint(places[one], places[other])
        alike, residual = float(found.similarity[pair]), float(fitted.residuals[pair])
        points.append(Influencer((one, other), *middle, alike, alike / math.exp(residual), residual))
    return points


def midpoint(one: Place, other: Place) -> Place:
    """The point in the middle of two places, also across the 180th meridian."""
    longitude = one.longitude + east_of(one.longitude, other.longitude) / 2
    return Place(
        (one.latitude + other.latitude) / 2,
        east_of(0.0, longitude),
        (one.altitude + other.altitude) / 2,
    )


def geojson(points: Sequence[Influencer]) -> Mapping[str, Any]:
    """The points as a FeatureCollection of GeoJSON (RFC 7946), which has longitude before latitude."""
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {
                    "type": "Point",
                    "coordinates": [round(each.longitude, 5), round(each.latitude, 5), round(each.altitude, 1)],
                },
                "properties": {
                    "stations": list(each.stations),
                    "similarity": round(each.similarity, 4),
                    "expected": round(each.expected, 4),
                    "residual": round(each.residual, 4),
                },
            }
            for each in points
        ],
    }
