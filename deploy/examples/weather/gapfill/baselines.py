"""
Simple estimates of all cells, to which a better method is compared.

Each function takes a matrix with gaps and returns one of the same shape, with NaN where it has no estimate.
"""

import numpy as np

from gapfill.grid import Values

RIDGE = 0.1
"""Weight of the squared effects beside the squared errors: an effect of few measurements stays near zero."""


def station_mean(values: Values) -> Values:
    """The mean of the station, on each day."""
    means = _mean(values, axis=1)
    return np.repeat(means[:, None], values.shape[1], axis=1)


def date_mean(values: Values) -> Values:
    """The mean of the day, at each station."""
    means = _mean(values, axis=0)
    return np.repeat(means[None, :], values.shape[0], axis=0)


def additive(values: Values, ridge: float = RIDGE) -> Values:
    """
    Overall mean, effect of the station and effect of the day: the least squares of all measurements, with a ridge.

    A station or a day without any measurement has no estimate.
    """
    known = ~np.isnan(values)
    if not known.any():
        return np.full_like(values, np.nan)
    mean = values[known].mean()
    residuals = np.where(known, values - mean, 0.0)
    weights = known.astype(float)
    of_station, of_day = weights.sum(axis=1), weights.sum(axis=0)
    # the normal equations of both effects, without those of the stations, which follow from those of the days
    scaled = weights / (of_station + ridge)[:, None]
    left = np.diag(of_day + ridge) - weights.T @ scaled
    right = residuals.sum(axis=0) - scaled.T @ residuals.sum(axis=1)
    day_effects = np.linalg.solve(left, right)
    station_effects = (residuals.sum(axis=1) - weights @ day_effects) / (of_station + ridge)
    estimates: Values = mean + station_effects[:, None] + day_effects[None, :]
    estimates[of_station == 0, :] = np.nan
    estimates[:, of_day == 0] = np.nan
    return estimates


def _mean(values: Values, axis: int) -> Values:
    """The mean of the measurements along an axis; NaN if there is none."""
    known = ~np.isnan(values)
    counts = known.sum(axis=axis)
    sums = np.where(known, values, 0.0).sum(axis=axis)
    means: Values = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means
