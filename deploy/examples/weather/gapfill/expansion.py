"""Changes against earlier days as extra items, so that stations with the same weather resemble each other more."""

import numpy as np

from gapfill.grid import Values


def expanded(values: Values, previous: int, direction: float | None = None) -> Values:
    """
    The measurements, followed by a block of as many columns for each number N of days back, from 1 to `previous`.

    A column of a block is (t - t₋N) / N for the day of the same column among the measurements. It is NaN if one of the
    two days was not measured.

    Args:
        values: the measurements of consecutive days.
        previous: the largest number of days back; 0 for no extra items.
        direction: instead of the size of the change only its direction: plus or minus this number if the change
            t - t₋N is at least so large, else 0. In degrees.
    """
    blocks = [values]
    for days in range(1, previous + 1):
        block = np.full_like(values, np.nan)
        changes = values[:, days:] - values[:, :-days]
        if direction is None:
            block[:, days:] = changes / days
        else:
            is_small = np.abs(changes) < direction
            block[:, days:] = np.where(is_small, 0.0, np.sign(changes) * direction)
        blocks.append(block)
    return np.hstack(blocks)
