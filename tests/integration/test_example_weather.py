"""The example `weather`: its method with Spark's ALS, and all of its commands from generated files to filled cells."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from ingest.api import Cell, Row
from sinks.files.local_root import LocalRoot
from tests.support.commands import ANY_PORT, Folder
from tests.support.dumps import DUMP, START_MS, make_dump
from tests.support.servers import Kafka
from tests.support.short_lived import java_options
from tests.support.weather_example import EXAMPLE, generated, low_rank

pytestmark = pytest.mark.slow

Cells = dict[str, str]
"""Column -> value."""
COLD_STATION, COLD_DATE = "WX00102", "2025-07-19"


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    from gapfill.tables import open_session

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_SUBMIT_OPTS", java_options())
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        patched.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = open_session("test")
        try:
            yield session
        finally:
            session.stop()


@dataclass(frozen=True)
class Example:
    """
    A copy of the example after `run.py`.

    Attributes:
        output: of all commands.
        filled: row -> cells of the family `filled`.
        measured: row -> all versions of the measured cell.
    """

    ingest: Folder
    output: str
    filled: dict[str, Cells]
    measured: dict[str, list[Any]]

    def script(self, *arguments: str) -> str:
        """Run a script of the example; returns what it prints."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.ingest.path,
            env=self.ingest.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def read(self, *options: str) -> Iterator[tuple[str, list[Any]]]:
        """Row key and cells of each row of the table."""
        scanned = self.ingest("scan", "measurements", "--output", "json", *options).stdout
        for row in map(json.loads, scanned.splitlines()):
            yield row["row"], row["cells"]

    def filled_cells(self) -> dict[str, list[Any]]:
        """Row -> cells of the family `filled`, with their timestamps."""
        return dict(self.read("--columns", "filled"))

    def measured_cells(self) -> dict[str, list[Any]]:
        """Row -> all versions of the measured cell."""
        return dict(self.read("--columns", "temp", "--versions", "3"))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    ingest = _copy(tmp_path_factory.mktemp("example") / "weather")
    ran = Example(ingest, "", {}, {})
    output = ran.script("run.py")
    filled = {
        row: {f"{family}:{qualifier}": value for family, qualifier, _, value in cells}
        for row, cells in ran.filled_cells().items()
    }
    return Example(ingest, output, filled, ran.measured_cells())


def test_w01_error_is_below_that_of_the_additive_baseline(session: SparkSession) -> None:
    from gapfill.als import AdditiveAls
    from gapfill.baselines import additive
    from gapfill.evaluation import score

    grid, complete = low_rank(seed=3)
    removed = np.isnan(grid.values)
    ours = score(AdditiveAls(session)(grid.values), complete, removed)
    baseline = score(additive(grid.values), complete, removed)
    assert ours.mae is not None
    assert baseline.mae is not None
    assert ours.mae <= 0.8 * baseline.mae
    assert ours.mae <= 0.75
    assert (ours.coverage, ours.no_estimate) == (1.0, 0)


def test_w02_same_seed_and_input_give_the_same_estimates(session: SparkSession) -> None:
    from gapfill.als import AdditiveAls

    grid, _ = low_rank(seed=4)
    first, second = (AdditiveAls(session, seed=17)(grid.values) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-6)
    other = AdditiveAls(session, seed=18)(grid.values)
    assert np.abs(first - other).max() > 1e-6


def test_w06_cold_station_and_date_have_no_estimate_by_als(session: SparkSession) -> None:
    from gapfill.als import AdditiveAls

    grid, _ = low_rank(seed=5, stations=10, days=30)
    values = grid.values.copy()
    values[3, :] = values[:, 7] = np.nan
    missing = np.isnan(AdditiveAls(session)(values))
    assert missing[3, :].all()
    assert missing[:, 7].all()
    assert missing.sum() == 30 + 10 - 1


def test_w06_cold_station_and_date_have_no_filled_cells(example: Example) -> None:
    assert not [row for row in example.filled if COLD_STATION in row or COLD_DATE in row]
    assert f"cold stations: {COLD_STATION}; cold dates: {COLD_DATE}" in example.output
    texts = [cells["filled:temp"] for cells in example.filled.values()]
    assert all(np.isfinite(float(text)) for text in texts)
    assert texts.count("0") == 0


def test_gaps_are_filled_and_name_their_origin(example: Example) -> None:
    data = generated()
    rows = {
        f"{station}|{day}"
        for station, values in zip(data.grid.stations, data.grid.values, strict=True)
        for day, value in zip(data.grid.dates, values, strict=True)
        if np.isnan(value) and station != COLD_STATION and day != COLD_DATE
    }
    assert example.filled.keys() == rows
    report = json.loads((example.ingest.path / "data" / "report.json").read_text())
    mae = f"{report['scores']['additive+als']['mae']:.3f}"
    assert {cells["filled:temp_mae"] for cells in example.filled.values()} == {mae}
    assert {cells["filled:temp_model"] for cells in example.filled.values()} == {"additive+als"}
    assert {cells["filled:temp_rank"] for cells in example.filled.values()} == {"4"}


def test_w07_measured_cells_stay_and_a_second_run_stores_the_same_cells(example: Example) -> None:
    usable = {f"{station}|{day}" for station, day in generated().cleaned.values}
    assert example.filled.keys() & usable == set()
    before = example.filled_cells()
    printed = example.script("run.py")
    assert report_of(printed) == report_of(example.output)
    assert (example.measured_cells(), example.filled_cells()) == (example.measured, before)


def test_w08_w09_counts_of_the_report_are_those_of_the_generated_reports(example: Example) -> None:
    data = generated()
    report = json.loads((example.ingest.path / "data" / "report.json").read_text())
    assert report["rejected"] == dict(data.cleaned.rejected)
    assert report["duplicates"] == data.cleaned.duplicates
    assert report["same_place"] == data.same_place
    assert (report["measured"], report["filled"]) == (len(data.cleaned.values), len(example.filled))


def test_w12_all_tables_are_read_from_the_pinned_dump(session: SparkSession, tmp_path: Path) -> None:
    from gapfill.tables import Tables, pinned

    root = LocalRoot(tmp_path / "dumps")
    make_dump(root, dumped(day=1))
    with pinned(str(tmp_path / "dumps")) as dump:
        assert dump is not None
        tables = Tables(session, "pipeline.yaml", dump=dump)
        # a newer one becomes the latest before the tables are read
        make_dump(root, dumped(day=2), at_ms=START_MS + 86_400_000, run_id="newer")
        data = tables.dataset("temp")
    assert (dump.name, data.grid.dates, data.places["S1"].altitude) == (DUMP, ("2025-01-01",), 1.0)
    assert f"dump {DUMP} of " in tables.source
    with pinned(str(tmp_path / "dumps")) as newest:
        assert newest is not None
        assert Tables(session, "pipeline.yaml", dump=newest).dataset("temp").grid.dates == ("2025-01-02",)


def test_w12_fill_of_a_dump_names_it_and_stores_the_same_cells(example: Example) -> None:
    tables = ("--tables", "measurements,stations")
    example.ingest("dump", "run", "--root", "data/dumps", *tables)
    before = example.filled_cells()
    printed = example.script("fill.py", "--from-dump", "data/dumps")
    (name,) = (path.name for path in (example.ingest.path / "data" / "dumps").iterdir() if path.name[0].isdigit())
    assert f"measurements of dump {name} of data/dumps, table measurements\n" in printed
    assert (example.filled_cells(), example.measured_cells()) == (before, example.measured)
    # the scores are the same; a dump has only the newest version of a cell, so no replaced reading
    assert scores_of(printed) == scores_of(example.output)


def test_folder_without_a_dump_ends_with_exit_code_3(tmp_path: Path) -> None:
    from gapfill.errors import run
    from gapfill.tables import pinned

    def read(_arguments: object) -> None:
        with pinned(str(tmp_path)):
            pass

    assert run(read) == 3


def test_w13_report_of_the_command_is_that_of_the_readme(example: Example) -> None:
    shown = report_of((EXAMPLE / "README.md").read_text("utf-8").partition("## Fill the gaps")[2])
    assert "coverage" in shown
    assert shown == report_of(example.output)


def test_influencers_of_the_table_are_those_of_the_picture(example: Example) -> None:
    drawn = (example.ingest.path / "data" / "influencers.svg").read_text("utf-8")
    assert drawn == (EXAMPLE / "influencers.svg").read_text("utf-8")
    collection = json.loads((example.ingest.path / "data" / "influencers.geojson").read_text())
    assert f"{len(collection['features'])} pairs are far below the curve" in example.output


def test_topic_gives_the_same_cells_as_the_files(example: Example, kafka: Kafka, tmp_path: Path) -> None:
    ingest = _copy(tmp_path / "weather", KAFKA=kafka.brokers)
    files = sorted((example.ingest.path / "data" / "measurements").iterdir())
    (tmp_path / "lines").write_bytes(b"".join(gzip.decompress(file.read_bytes()) for file in files))
    ingest("produce", "-f", "kafka.yaml", "--lines", str(tmp_path / "lines"))
    ingest("run", "--once", "kafka.yaml")
    found = Example(ingest, "", {}, {})
    assert found.measured_cells() == example.measured


def test_table_with_mostly_rejected_values_ends_with_exit_code_5(tmp_path: Path) -> None:
    folder = tmp_path / "weather"
    ingest = _copy(folder)
    (folder / "data" / "measurements").mkdir(parents=True)
    lines = (folder / "events.jsonl").read_text().splitlines()
    bodies = [json.loads(line)["body"] for line in lines]
    missing = [bodies[1].replace("2025-01-01", f"2025-01-0{day}") for day in range(1, 4)]
    content = "".join(f"{body}\n" for body in (bodies[0], *missing)).encode()
    (folder / "data" / "measurements" / "a.jsonl.gz").write_bytes(gzip.compress(content))
    ingest("run", "--once", "pipeline.yaml")
    done = subprocess.run(
        [sys.executable, "fill.py"], cwd=folder, env=ingest.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert "error: too_many_rejected: 3 of 4 readings are rejected" in done.stderr
    assert dict(Example(ingest, "", {}, {}).read("--columns", "filled")) == {}


def report_of(text: str) -> str:
    """The report of `fill.py` in the output of all commands, or in the README."""
    shown = re.search(r"^temp: .*?^neighbours .*?\n", text, re.MULTILINE | re.DOTALL)
    assert shown is not None, text
    return shown[0]


def scores_of(text: str) -> str:
    """The table of methods and their scores."""
    return report_of(text).partition("\n\n")[2]


def dumped(day: int) -> dict[str, list[list[Row]]]:
    """Tables with one measurement of this day, and one station at an altitude of as many metres."""
    measured = Cell(b"temp", b"value", 1_000, b"2.5")
    place = {b"lat": b"46.0", b"lon": b"7.0", b"alt": b"%d" % day}
    return {
        "measurements": [[Row(b"S1|2025-01-%02d" % day, (measured,))]],
        "stations": [[Row(b"S1", tuple(Cell(b"place", name, 1_000, place[name]) for name in sorted(place)))]],
    }


def _copy(folder: Path, **variables: str) -> Folder:
    """The example in a folder of its own."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
    for name in ("pipeline.yaml", "kafka.yaml"):
        with (folder / name).open("a") as file:
            file.write(ANY_PORT)
    return Folder(folder, **variables)
