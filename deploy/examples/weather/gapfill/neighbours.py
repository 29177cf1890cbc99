"""
Estimates by the stations that measure most similarly.

Source: Apache Mahout's user-based recommender with the nearest N users, with stations as users and days as items.
"""

from dataclasses import dataclass

import numpy as np

from gapfill.expansion import expanded
from gapfill.grid import Values
from gapfill.similarity import similarities

MIN_NEIGHBOURS = 2  # with a value for the day; else there is no estimate


@dataclass(frozen=True, slots=True)
class Neighbours:
    """
    The method and its options.

    Attributes:
        nearest: number of neighbours of a station; other stations have no effect on its estimates.
        previous: number of days back whose changes are extra items.
        direction: only the direction of changes of at least so many degrees counts; None for their size.
    """

    nearest: int = 2
    previous: int = 1
    direction: float | None = 2.0

    def __call__(self, values: Values) -> Values:
        """Estimates of all cells; NaN if fewer than two of the neighbours measured that day."""
        closeness = similarities(expanded(values, self.previous, self.direction))
        np.fill_diagonal(closeness, np.nan)
        estimates = np.full_like(values, np.nan)
        for station, row in enumerate(closeness):
            # a stable order, so that equal similarities give the same neighbours on every run
            order = np.argsort(-np.where(np.isnan(row), -1.0, row), kind="stable")[: self.nearest]
            chosen = order[~np.isnan(row[order])]
            estimates[station] = weighted(row[chosen], values[chosen])
        return estimates


def weighted(closeness: Values, values: Values) -> Values:
    """
    The mean of the neighbours' values of each day, weighted by similarity.

    Args:
        closeness: similarity of each neighbour.
        values: a row for each neighbour, a column for each day.

    Returns:
        An estimate for each day; NaN if fewer than two neighbours have a value.
    """
    known = ~np.isnan(values)
    weights = np.where(known, closeness[:, None], 0.0)
    sums = (weights * np.where(known, values, 0.0)).sum(axis=0)
    is_known = known.sum(axis=0) >= MIN_NEIGHBOURS
    means: Values = np.divide(sums, weights.sum(axis=0), out=np.full(sums.shape, np.nan), where=is_known)
    return means
