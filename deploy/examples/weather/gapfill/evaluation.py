"""How well methods estimate measurements that they have not seen."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapfill.grid import Values

Method = Callable[[Values], Values]
"""Estimates all cells of a matrix with gaps; NaN for no estimate."""


@dataclass(frozen=True, slots=True)
class Score:
    """
    The estimates of one method for the measurements that it has not seen.

    Attributes:
        mae: mean absolute error, in the unit of the measure; None without any estimate. It counts only cells with an
            estimate, so it says little without the coverage.
        estimates: number of cells with an estimate.
        no_estimate: number of cells without one.
    """

    mae: float | None
    estimates: int
    no_estimate: int

    @property
    def coverage(self) -> float:
        """Cells with an estimate, as a fraction of all; 0 if there are none."""
        return self.estimates / max(self.estimates + self.no_estimate, 1)


def held_out(values: Values, fraction: float, seed: int) -> tuple[Values, NDArray[np.bool_]]:
    """
    The matrix without a random part of its measurements, and which these are.

    Args:
        values: the measurements.
        fraction: of them, from 0 to 1.
        seed: the same seed chooses the same measurements of the same matrix.
    """
    measured = np.flatnonzero(~np.isnan(values))
    chosen = np.random.default_rng(seed).permutation(measured)[: round(fraction * len(measured))]
    is_held_out = np.zeros(values.shape, dtype=bool)
    is_held_out.flat[chosen] = True
    return np.where(is_held_out, np.nan, values), is_held_out


def score(estimates: Values, values: Values, cells: NDArray[np.bool_]) -> Score:
    """Compare estimates with the measurements of these cells."""
    errors = np.abs(estimates[cells] - values[cells])
    has_estimate = ~np.isnan(errors)
    count = int(has_estimate.sum())
    return Score(float(errors[has_estimate].mean()) if count else None, count, len(errors) - count)


def scores(methods: Mapping[str, Method], values: Values, fraction: float, seed: int) -> dict[str, Score]:
    """The scores of several methods for the same measurements, which none of them has seen."""
    training, cells = held_out(values, fraction, seed)
    return {name: score(method(training), values, cells) for name, method in methods.items()}


def clamped(estimates: Values, values: Values, deviations: float = 3.0) -> Values:
    """Estimates within the range that the station measured, extended by so many standard deviations of it."""
    low, high, spread = (_of_measured(values, function)[:, None] for function in (np.min, np.max, np.std))
    margin = deviations * spread
    # NaN, for a station without measurements, leaves its estimates as they are
    return np.fmin(np.fmax(estimates, low - margin), high + margin)


def _of_measured(values: Values, function: Callable[[Values], float]) -> Values:
    rows: Iterable[Values] = (row[~np.isnan(row)] for row in values)
    return np.array([function(row) if len(row) else np.nan for row in rows])
