"""The tables of the example, read and written by Spark."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every PySpark reader knows

from gapfill.cleaning import Place, Reading, number
from gapfill.dataset import Dataset
from gapfill.grid import Grid, Values
from sinks.dumps.reader import DumpReader

FORMAT = "attr2hbase"
MEASUREMENTS = "measurements"
"""The table with a row `station|date`, and a family for each measure and for filled cells."""
STATIONS = "stations"
"""The table with the places of the stations."""
VERSIONS = 3  # of a cell, as the pipeline file declares
_PLACE = "row as station utf8, place:lat as lat, place:lon as lon, place:alt as alt"


class Dump(NamedTuple):
    """
    A dump that `attr2hbase dump run` has made.

    Attributes:
        root: folder of the dumps, a path or a URL.
        name: of the dump.
    """

    root: str
    name: str


@contextmanager
def pinned(root: str | None) -> Iterator[Dump | None]:
    """
    The newest complete dump, with a pin so that it does not expire before the block ends; None without a root.

    All tables are read from this dump, also if a newer one is complete before the last of them is read.

    Raises:
        DumpNotAvailableError: there is no complete dump.
    """
    if root is None:
        yield None
        return
    with DumpReader(root, owner="weather").locked_view() as view:
        yield Dump(root, str(view.locked_dump))


@dataclass(frozen=True, slots=True)
class Tables:
    """
    The tables of a pipeline file.

    Attributes:
        config: path of the file.
        dump: from which the tables are read; None to read them from their store.
    """

    session: SparkSession
    config: str
    dump: Dump | None = None

    @property
    def source(self) -> str:
        """Where the tables are read."""
        if self.dump is None:
            return f"{self.config}, table {MEASUREMENTS}"
        return f"dump {self.dump.name} of {self.dump.root}, table {MEASUREMENTS}"

    def dataset(self, measure: str) -> Dataset:
        """
        The measurements of one measure, clean.

        Args:
            measure: name of its family.
        """
        return Dataset.of(self._readings(measure), self._places())

    def write_filled(self, measure: str, cells: Iterable[tuple[str, str]], *, origin: "Origin", time_ms: int) -> None:
        """
        Store estimates in the family `filled`; measurements are in another family and stay.

        Args:
            measure: the estimated measure: the qualifier of its estimates, and the prefix of those of their origin.
            cells: row key and estimate of each cell.
            origin: of the estimates.
            time_ms: timestamp of all cells; with the same one, a write that runs again stores the same cells.
        """
        origins = {f"{measure}_{name}": text for name, text in origin.columns().items()}
        frame = self.session.createDataFrame(list(cells), "row string, estimate string").select(
            "row", "estimate", *(F.lit(text).alias(name) for name, text in origins.items())
        )
        columns = ["row utf8", f"filled:{measure} as estimate", *(f"filled:{name}" for name in origins)]
        (
            frame.write.format(FORMAT)
            .options(config=self.config, table=MEASUREMENTS, columns=", ".join(columns), time=str(time_ms))
            .mode("append")
            .save()
        )

    def _readings(self, measure: str) -> list[Reading]:
        cell = F.col("cell")
        frame = (
            # a dump has one version of each cell
            self._read(MEASUREMENTS, versions=str(VERSIONS if self.dump is None else 1))
            .select(F.col("row").cast("string").alias("row"), F.explode("cells").alias("cell"))
            .where(cell["column"] == f"{measure}:value")
            .select("row", cell["timestamp"], cell["value"].cast("string"))
        )
        return [Reading(*row) for row in frame.collect()]

    def _places(self) -> dict[str, Place]:
        places = {}
        for row in self._read(STATIONS, columns=_PLACE).collect():
            numbers = [value for name in ("lat", "lon", "alt") if (value := number(row[name] or "")) is not None]
            if len(numbers) == len(Place._fields):
                places[row["station"]] = Place(*numbers)
        return places

    def _read(self, table: str, **options: str) -> DataFrame:
        if self.dump is None:
            options["config"] = self.config
        else:
            # `pinned` has written the pin
            options |= {"dump_root": self.dump.root, "dump": self.dump.name, "pin": "false"}
        return self.session.read.format(FORMAT).options(table=table, **options).load()


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Where the estimates of a run come from; stored beside each of them.

    Attributes:
        model: name of the method.
        rank: number of its factors.
        mae: its mean absolute error for measurements that it has not seen; None if there were none.
    """

    model: str
    rank: int
    mae: float | None

    def columns(self) -> Mapping[str, str]:
        """Name -> value; in a table, the name of the measure and `_` are before each name."""
        return {
            "model": self.model,
            "rank": str(self.rank),
            "mae": "" if self.mae is None else f"{self.mae:.3f}",
        }


def gaps(grid: Grid, estimates: Values) -> list[tuple[str, str]]:
    """Row key and estimate of each cell that was not measured and has an estimate."""
    rows, columns = np.nonzero(np.isnan(grid.values) & ~np.isnan(estimates))
    return [
        (f"{grid.stations[row]}|{grid.dates[column]}", f"{estimates[row, column]:.2f}")
        for row, column in zip(rows, columns, strict=True)
    ]


def open_session(name: str) -> SparkSession:
    """A session on two cores of this machine."""
    # Spark looks for data sources with this Python; without it, with the first `python3` of the path
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return (
        SparkSession.builder.master("local[2]")
        .appName(name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
