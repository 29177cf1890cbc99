"""The scripts' options and exit codes, the generator, and the figures of the README."""

import gzip
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fill import estimated, parsed
from gapfill.baselines import additive, date_mean, station_mean
from gapfill.errors import NotEnoughPairsError, run
from gapfill.evaluation import scores
from gapfill.neighbours import Neighbours
from generate import main as generate
from pyspark.errors import AnalysisException

from tests.support.weather_example import EXAMPLE, generated, reports

README = (EXAMPLE / "README.md").read_text("utf-8")


def test_error_ends_a_script_with_its_exit_code_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_arguments: object) -> None:
        raise NotEnoughPairsError("no pairs")

    assert run(fail) == 3
    assert capsys.readouterr().err == "error: not_enough_pairs: no pairs\n"
    assert run(lambda _arguments: None) == 0


def test_error_in_a_process_of_spark_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    traceback = 'Traceback\n  raise E\ningest.api.errors.NotFoundError: there is no store at "x"\n SQLSTATE: 1'

    def fail(_arguments: object, message: str = traceback) -> None:
        raise AnalysisException(message)

    assert run(fail) == 1
    assert capsys.readouterr().err == 'error: failed: there is no store at "x"\n'
    with pytest.raises(AnalysisException):
        run(lambda arguments: fail(arguments, "no traceback"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("fill.py", "--holdout", "0"),
        ("fill.py", "--holdout", "1"),
        ("fill.py", "--rank", "0"),
        ("influencers.py", "--weights", "1"),
    ],
)
def test_bad_options_end_with_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE / arguments[0], *arguments[1:]], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[1] in done.stderr


@pytest.mark.parametrize(("arguments", "estimate"), [((), 9.0), (("--clamp",), 5.0)])
def test_estimates_are_near_the_range_of_the_station_with_clamp(arguments: tuple[str, ...], estimate: float) -> None:
    options = parsed(arguments)
    measured = np.array([[0.0, 2.0, np.nan]])
    found = estimated(lambda values: np.full_like(values, 9.0), measured, clamp=options.clamp)
    assert found[0, 2] == estimate


def test_generator_writes_the_same_files_and_does_not_touch_them_again(tmp_path: Path) -> None:
    generate(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"2025-{month:02}.jsonl.gz" for month in range(1, 13)]
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert len(lines) == len(reports())
    for file in files:
        os.utime(file, (1, 1))
    generate(tmp_path)
    assert {file.stat().st_mtime for file in files} == {1.0}


def test_readme_has_the_numbers_of_the_generated_reports() -> None:
    found = reports()
    broken = found.count(None)
    assert f"{len(found):,} lines" in README
    assert f"{broken} are cut off" in README
    data = generated()
    rejected = Counter(data.cleaned.rejected)
    shown = ", ".join(f"{reason} {count:,}" for reason, count in sorted(rejected.items()))
    assert f"rejected: {rejected.total():,} ({shown})" in README
    assert f"replaced by a later one: {data.cleaned.duplicates:,}" in README
    assert f"temp: {len(data.cleaned.values):,} measurements" in README


def test_readme_has_the_scores_of_the_baselines() -> None:
    methods = {
        "additive": additive,
        "date_mean": date_mean,
        "station_mean": station_mean,
        "neighbours": Neighbours(),
    }
    for name, found in scores(methods, generated().grid.values, 0.05, seed=17).items():
        shown = re.search(rf"^{name} +([\d.]+) +([\d.]+)% +([\d,]+)$", README, re.MULTILINE)
        assert shown is not None, name
        assert shown.groups() == (f"{found.mae:.3f}", f"{100 * found.coverage:.1f}", f"{found.no_estimate:,}")


def test_file_with_kafka_differs_in_the_source_only() -> None:
    files, kafka = ((EXAMPLE / name).read_text("utf-8") for name in ("pipeline.yaml", "kafka.yaml"))
    source = re.compile(r"^    source: .*\n", re.MULTILINE)
    tests = source.sub("", kafka)
    assert source.sub("", files).startswith(tests)
    assert "- name:" in tests
