"""Estimates of Spark's ALS (alternating least squares): low-rank structure beyond the effects of station and day."""

from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyspark.ml.recommendation import ALS
from pyspark.sql import DataFrame, SparkSession

from gapfill.baselines import additive
from gapfill.grid import Values

_BLOCKS = 2  # of stations and of days; as many tasks
_ITERATIONS = 15
_REGULARISATION = 0.1  # MLlib multiplies it by the number of measurements of a station or day
_CHECKPOINT_INTERVAL = 5  # iterations; after more, the plan of Spark's task overflows the stack of Java


@dataclass(frozen=True, slots=True)
class AdditiveAls:
    """
    The additive baseline, plus a factorisation of what it leaves: the sum of `rank` products of a number of the station
    and a number of the day.

    Attributes:
        session: runs MLlib.
        rank: number of factors.
        seed: of the first factors. Equal input and seed give equal estimates.
    """

    session: SparkSession
    rank: int = 4
    seed: int = 17

    def __call__(self, values: Values) -> Values:
        """Estimates of all cells; NaN for stations and days without any measurement."""
        base = additive(values)
        return base + self._factorised(values - base)

    def _factorised(self, residuals: Values) -> Values:
        """The estimated residuals of all cells; NaN for rows and columns that have none."""
        rows, columns = np.nonzero(~np.isnan(residuals))
        estimates = np.full_like(residuals, np.nan)
        if not len(rows):
            return estimates
        ratings = {
            "station": rows.astype(np.int32),
            "day": columns.astype(np.int32),
            "residual": residuals[rows, columns].astype(np.float32),
        }
        # one partition: the order in which partitions arrive would change the last digits
        frame = self.session.createDataFrame(pa.table(ratings)).coalesce(1)
        als = ALS(
            rank=self.rank,
            maxIter=_ITERATIONS,
            regParam=_REGULARISATION,
            nonnegative=False,
            coldStartStrategy="nan",
            seed=self.seed,
            numUserBlocks=_BLOCKS,
            numItemBlocks=_BLOCKS,
            checkpointInterval=_CHECKPOINT_INTERVAL,
            userCol="station",
            itemCol="day",
            ratingCol="residual",
        )
        with TemporaryDirectory(prefix="als-") as folder:
            self.session.sparkContext.setCheckpointDir(folder)
            model = als.fit(frame)
            of_station = _factors(model.userFactors, len(residuals), self.rank)
            of_day = _factors(model.itemFactors, residuals.shape[1], self.rank)
        product: Values = of_station @ of_day.T
        return product


def _factors(frame: DataFrame, count: int, rank: int) -> Values:
    """A row of factors for each id; NaN for ids without any measurement, as `coldStartStrategy` has it."""
    factors = np.full((count, rank), np.nan)
    for row in frame.collect():
        factors[row["id"]] = row["features"]
    return factors
