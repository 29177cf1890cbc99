"""The example sink, killed before and after its commit: each event is in the Parquet files exactly once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.environments import ROOT
from tests.support.service import environment

pytestmark = pytest.mark.slow

SOURCE = ROOT / "deploy" / "examples" / "parquet-sink" / "src"
FILES, LINES = 3, 200
PIPELINE = """\
version: 1
plugins: [attr2hbase_parquet]
state_dir: ./state
service: {http: {listen: "127.0.0.1:0"}}
spark: {master: "local[2,4]"}
pipelines:
  p:
    source: {files: {path: "./in/*.log"}}
    sinks: [parquet: {path: ./rows, columns: {line: "%{body}"}}]
"""


def run_once(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (ROOT, SOURCE)))
    return subprocess.run(
        [sys.executable, "-m", "ingest", "run", "--once", "p.yaml", "--output", "json"],
        cwd=folder,
        env=environment() | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder: Path) -> list[str]:
    """Write files for the source; returns their lines."""
    (folder / "in").mkdir()
    written = []
    for number in range(FILES):
        lines = [f"{number} {line}" for line in range(LINES)]
        (folder / "in" / f"{number}.log").write_text("".join(f"{line}\n" for line in lines))
        written += lines
    return written


def rows(folder: Path) -> list[str]:
    """The rows that readers see, which ignore hidden folders."""
    files = folder.glob("rows/batch=*/*.parquet")
    return sorted(row for file in files for row in pq.ParquetFile(file).read().column("line").to_pylist())


def killed_at(folder: Path, point: str) -> None:
    reached = folder / "reached"
    killed = run_once(folder, INGEST_FAILPOINT=f"{point}:1:kill", INGEST_FAILPOINT_FOLDER=str(reached))
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    assert (reached / point).exists()


def test_kills_around_the_commit_leave_every_event_once(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PIPELINE)
    expected = sorted(write(tmp_path))
    killed_at(tmp_path, "after_last_send")  # flushed
    assert rows(tmp_path) == []
    assert list(tmp_path.glob("rows/.of-*/*/*/*.parquet")), "nothing was staged when it was killed"

    killed_at(tmp_path, "before_commit")  # committed, and not acknowledged
    assert rows(tmp_path) == expected

    again = run_once(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads(again.stdout)["p"]["stored"] == len(expected)
    assert rows(tmp_path) == expected
    assert not list(tmp_path.glob("rows/.of-*/*/*"))


def test_batch_that_spends_the_error_budget_runs_again_with_the_corrected_file(tmp_path: Path) -> None:
    refusing = PIPELINE.replace(
        "    sinks:",
        "    decorators: [regex: {pattern: '^(?P<number>[12]) ', on_no_match: error}]\n"
        "    error_budget: {share: 5%, min_events: 1}\n"
        "    sinks:",
    )
    (tmp_path / "p.yaml").write_text(refusing)
    expected = write(tmp_path)
    stopped = run_once(tmp_path)
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    assert "nothing of the last batch is acknowledged" in stopped.stdout + stopped.stderr
    assert rows(tmp_path) == []
    assert not list(tmp_path.glob("rows/.of-*/*/*"))

    (tmp_path / "p.yaml").write_text(refusing.replace("[12]", "[012]"))
    again = run_once(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert rows(tmp_path) == sorted(expected)
