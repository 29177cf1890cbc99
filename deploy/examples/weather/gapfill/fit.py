"""
Pairs of stations that measure less alike than their distance explains.

The closeness p of two stations is 1 / (1 + their weighted distance). An exponential of p is fitted to the similarity of
all pairs; a pair far below it has something between its stations, such as a mountain ridge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfill.cleaning import Place, east_of
from gapfill.errors import NotEnoughPairsError, TooManyStationsError
from gapfill.grid import Values
from gapfill.similarity import similarity

MIN_PAIRS = 3
MAX_PAIRS = 3_000 * 2_999 // 2  # all pairs of 3,000 stations
ROUNDING = 1e-9  # residuals of pairs exactly on the curve


class Weights(NamedTuple):
    """
    How much a difference between two places counts.

    Attributes:
        latitude: of a degree; more than that of longitude, as the climate changes from south to north.
        longitude: of a degree.
        altitude: of 1,000 metres.
    """

    latitude: float = 2.0
    longitude: float = 1.0
    altitude: float = 5.0

    def closeness(self, one: Place, other: Place) -> float:
        """1 for the same place, near 0 for places that are far from each other."""
        parts = (
            self.latitude * (other.latitude - one.latitude),
            self.longitude * east_of(one.longitude, other.longitude),
            self.altitude * (other.altitude - one.altitude) / 1_000,
        )
        return float(1.0 / (1.0 + np.hypot.reduce(parts)))


@dataclass(frozen=True, slots=True)
class Pairs:
    """
    Pairs of stations.

    Attributes:
        first: index of one station of each pair.
        second: index of the other one.
        closeness: of their places.
        similarity: of their measurements.
        not_comparable: number of pairs without a day that both measured; they are not among the others.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    closeness: Values
    similarity: Values
    not_comparable: int = 0

    def __len__(self) -> int:
        return len(self.closeness)


@dataclass(frozen=True, slots=True)
class Fit:
    """
    The curve similarity = e^(a + b·p), which ends at 1, the similarity of equal measurements.

    Attributes:
        a: logarithm of the similarity of stations that are infinitely far from each other.
        b: how fast it rises with closeness.
        sigma: standard deviation of ln(similarity) from a + b·p.
        residuals: of each pair: ln(similarity) less that of the curve.
    """

    a: float
    b: float
    sigma: float
    residuals: Values

    def outliers(self, deviations: float) -> NDArray[np.int64]:
        """Indexes of the pairs that are more than so many standard deviations below the curve, the farthest first."""
        limit = max(deviations * self.sigma, ROUNDING)
        found = np.flatnonzero(self.residuals < -limit)
        return found[np.argsort(self.residuals[found], kind="stable")]


def pairs(places: Sequence[Place], values: Values, weights: Weights, max_pairs: int = MAX_PAIRS) -> Pairs:
    """
    All pairs of stations.

    Args:
        places: of the stations.
        values: their measurements, in the same order.
        weights: of the distance.
        max_pairs: the largest number of pairs to compare.

    Raises:
        TooManyStationsError: there are more pairs.
    """
    count = len(places) * (len(places) - 1) // 2
    if count > max_pairs:
        raise TooManyStationsError(
            f"{len(places):,} stations have {count:,} pairs, and at most {max_pairs:,} are compared; "
            f"select stations, or set --max-pairs {count}"
        )
    first, second = np.triu_indices(len(places), k=1)
    closeness = np.array([weights.closeness(*pair) for pair in combinations(places, 2)])
    alike = np.concatenate([np.empty(0), *(similarity(values[one], values[one + 1 :]) for one in range(len(places)))])
    known = ~np.isnan(alike)
    return Pairs(first[known], second[known], closeness[known], alike[known], int((~known).sum()))


def fit(closeness: Values, alike: Values) -> Fit:
    """
    Fit ln(similarity) = a + b·p by least squares.

    Args:
        closeness: p of each pair.
        alike: similarity of each pair, above 0.

    Raises:
        NotEnoughPairsError: there are fewer than three pairs, or all have the same closeness.
    """
    if len(closeness) < MIN_PAIRS or np.ptp(closeness) == 0:
        raise NotEnoughPairsError(
            f"{len(closeness)} pairs of stations can be compared, "
            f"and at least {MIN_PAIRS} with different distances are necessary"
        )
    logarithms = np.log(alike)
    a, b = np.polynomial.polynomial.polyfit(closeness, logarithms, 1)
    curve = a + b * closeness
    # two parameters were fitted
    sigma = float(np.sqrt(((logarithms - curve) ** 2).sum() / (len(curve) - 2)))
    return Fit(float(a), float(b), sigma, logarithms - np.minimum(curve, 0.0))
