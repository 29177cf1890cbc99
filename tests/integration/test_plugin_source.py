"""A pipeline with a source of a plugin, through Spark into RocksDB."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.service import environment
from tests.support.sources import TICKING, pipeline

LOCAL = '\nservice: {http: {listen: "127.0.0.1:0"}}\nspark: {master: "local[2,4]"}\n'


def ingest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ingest", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def write(folder: Path, text: str = TICKING, source: str = "ticking: {rows: 3}") -> None:
    (folder / "counting.py").write_text(text)
    file = pipeline(source, plugins="plugins: [counting]", store="rocksdb: {path: ./store}")
    (folder / "p.yaml").write_text(file + LOCAL)


def test_source_of_a_plugin_runs_and_its_identity_is_checked(tmp_path: Path) -> None:
    write(tmp_path)
    done = ingest(tmp_path, "run", "--once", "p.yaml", "--output", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    stored = json.loads(done.stdout)["p"]["stored"]
    assert stored > 0
    assert stored % 3 == 0
    row = ingest(tmp_path, "get", "p.yaml", "t", "ticks-2", "--output", "json")
    assert "tick 2" in row.stdout, row.stdout + row.stderr

    write(tmp_path, source="ticking: {rows: 4}")
    done = ingest(tmp_path, "run", "--once", "p.yaml")
    assert done.returncode == 4, done.stdout + done.stderr
    assert 'was made for rows "3"' in done.stderr


def test_column_with_a_wrong_type_is_refused_and_named(tmp_path: Path) -> None:
    write(tmp_path, TICKING.replace('"0 AS partition",', '"0L AS partition",'))
    done = ingest(tmp_path, "run", "--once", "p.yaml")
    assert done.returncode == 2, done.stdout + done.stderr
    assert 'source "ticking" returns "partition" as bigint' in done.stderr
    assert "cast it to int; see ingest.api.RECORD_SCHEMA" in done.stderr
