"""Plugins in Spark workers: a file is sent to them, a missing package is named."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import ROOT, environment_with, wheel_of
from tests.support.service import environment
from tests.support.short_lived import INSTALLED_SPARK

GUIDE = ROOT / "docs" / "guides" / "plugins.md"
LOCAL = '\nservice: {http: {listen: "127.0.0.1:0"}}\nspark: {master: "local[2,4]"}\n'


def run_once(folder: Path, ingest: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in environment().items() if not name.startswith(("PYTHON", "PYSPARK"))}
    command = [ingest, "run", "--once", "pipeline.yaml", "--output", "json"]
    env = inherited | {"PYTHONPATH": str(INSTALLED_SPARK)} | variables
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_file_of_the_guide_runs_in_workers(tmp_path: Path) -> None:
    decorator, file = re.findall(
        r"^```(?:python|yaml)\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )[:2]
    (tmp_path / "steps.py").write_text(decorator)
    (tmp_path / "pipeline.yaml").write_text(file + LOCAL)
    (tmp_path / "a.log").write_text("503 /cart\n200 /cart\n")
    ingest = Path(sys.executable).with_name("attr2hbase")
    done = run_once(tmp_path, ingest)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["faults"]["stored"] == 2
    got = subprocess.run(
        [ingest, "get", "faults", f"{tmp_path / 'a.log'}:0", "--output", "json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [cell[1::2] for cell in json.loads(got.stdout)["cells"]] == [["level", "urgent"]]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An environment with the example plugin, and one without."""
    product = wheel_of(ROOT, tmp_path_factory.mktemp("ours"))
    plugin = wheel_of(ROOT / "deploy" / "examples" / "plugin", tmp_path_factory.mktemp("plugin"))
    folder = tmp_path_factory.mktemp("environments")
    return environment_with(folder / "with", product, plugin), environment_with(folder / "without", product)


def test_package_that_workers_lack_stops_the_pipeline_and_is_named(
    tmp_path: Path, environments: tuple[Path, Path]
) -> None:
    text = (ROOT / "deploy" / "examples" / "plugin" / "pipeline.yaml").read_text("utf-8")
    source = '{kafka: {brokers: "${KAFKA:localhost:9092}", topics: [positions]}}'
    assert source in text
    (tmp_path / "pipeline.yaml").write_text(text.replace(source, '{files: {path: "./*.jsonl"}}') + LOCAL)
    (tmp_path / "a.jsonl").write_text('{"bus": "N7", "lat": 57.64911, "lon": 10.40744}\n')
    complete, lacking = (folder / "bin" for folder in environments)

    done = run_once(tmp_path, complete / "attr2hbase", PYSPARK_PYTHON=str(lacking / "python"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"geohash" is from attr2hbase-geohash 1.0.0 (attr2hbase_geohash:Geohash), but worker ' in _plain(done.stderr)
    assert f"install it, with its dependencies, for {lacking / 'python'} on every machine with workers" in done.stderr


def _plain(text: str) -> str:
    """Without the backslashes that JSON puts before quotes."""
    return text.replace('\\"', '"')
