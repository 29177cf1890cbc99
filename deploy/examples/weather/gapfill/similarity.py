"""
How similarly two stations measure.

Source: Apache Mahout 0.6, `EuclideanDistanceSimilarity`: 1 / (1 + √Σ(x - y)² / √n) over the n common items. The comment
of that class has another formula than its code; this is the code's.
"""

import numpy as np

from gapfill.grid import Values


def similarity(one: Values, others: Values) -> Values:
    """
    Similarity of a station to others: 1 if they measure the same, near 0 if they differ, NaN without a common item.

    Args:
        one: items of the station.
        others: items of each other station, in the same order along the last axis.
    """
    differences = others - one
    common = (~np.isnan(differences)).sum(axis=-1)
    squares = np.nansum(differences**2, axis=-1)
    mean_squares = np.divide(squares, common, out=np.full(np.shape(common), np.nan), where=common > 0)
    return np.asarray(1.0 / (1.0 + np.sqrt(mean_squares)))


def similarities(items: Values) -> Values:
    """The similarity of each station to each other one, as a symmetric matrix."""
    return np.array([similarity(row, items) for row in items]).reshape(len(items), len(items))
