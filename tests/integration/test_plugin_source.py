"""A pipeline with a source of a plugin, through Spark into RocksDB."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.support.in_process import run_here
from tests.support.service import environment
from tests.support.sources import TICKING, pipeline

KINDS = MappingProxyType({"ticking": TICKING})
"""Kind of a source -> the text of its module, which has the same name."""
OTHER = """\
  KIND:
    source: {KIND: {}}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: KIND}}]
"""
LOCAL = '\nservice: {http: {listen: "127.0.0.1:0"}}\nspark: {master: "local[2,4]"}\n'


def ingest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ingest", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def write(folder: Path, *, rows: int, others: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write a pipeline `p` with the source `ticking`, and one for each other kind of source, with its module."""
    text = pipeline(
        f"ticking: {{rows: {rows}}}",
        plugins=f"plugins: [{', '.join([*KINDS, *others])}]",
        store="rocksdb: {path: ./store}",
    )
    for kind, module in {**KINDS, **others}.items():
        (folder / f"{kind}.py").write_text(module)
    for kind in others:
        text += OTHER.replace("KIND", kind)
    (folder / "p.yaml").write_text(text + LOCAL)


def test_source_of_a_plugin_runs_beside_one_that_is_refused_and_its_identity_is_checked(tmp_path: Path) -> None:
    wrong = TICKING.replace('"0 AS partition",', '"0L AS partition",').replace('kind = "ticking"', 'kind = "wrong"')
    write(tmp_path, rows=3, others={"wrong": wrong})
    done = ingest(tmp_path, "run", "--once", "p.yaml", "--output", "json")
    assert done.returncode == 2, done.stdout + done.stderr
    assert 'source \\"wrong\\" returns \\"partition\\" as bigint' in done.stderr
    assert "cast it to int; see ingest.api.RECORD_SCHEMA" in done.stderr
    stored = json.loads(done.stdout)["p"]["stored"]
    assert stored > 0
    assert stored % 3 == 0
    row = run_here(["get", "-f", "p.yaml", "t", "ticks-2", "--output", "json"], tmp_path)
    assert "tick 2" in row.stdout, row.stdout + row.stderr

    write(tmp_path, rows=4)
    done = ingest(tmp_path, "run", "--once", "p.yaml")
    assert done.returncode == 4, done.stdout + done.stderr
    assert 'was made for rows "3"' in done.stderr
