"""The example of a plugin, installed into an environment where nothing of the source tree is in reach."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.support.environments import ROOT, environment_with, run_in, wheel_of

EXAMPLE = ROOT / "deploy" / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ours = wheel_of(ROOT, tmp_path_factory.mktemp("ours"))
    plugin = wheel_of(EXAMPLE, tmp_path_factory.mktemp("plugin"))
    return environment_with(tmp_path_factory.mktemp("second") / "venv", ours, plugin)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """All of the example but its code, which is to come from the environment."""
    folder = tmp_path / "plugin"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("src", "__pycache__", "data"))
    return folder


def test_its_own_suite_passes_there(installed: Path, copy: Path) -> None:
    said = run_in(copy, installed / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in said
    assert "skipped" not in said


def test_it_is_found_and_named(installed: Path, copy: Path) -> None:
    ingest = installed / "bin" / "ingest"
    (entry,) = [
        each for each in json.loads(run_in(copy, ingest, "--output", "json", "describe")) if each["name"] == "geohash"
    ]
    assert (entry["room"], entry["provider"]) == ("decorators", "attr2hbase-geohash 1.0.0")
    found = json.loads(run_in(copy, ingest, "--output", "json", "validate", "pipeline.yaml"))
    assert found == {
        "valid": True,
        "problems": [],
        "plugins": [{"room": "decorators", "name": "geohash", "provider": "attr2hbase-geohash 1.0.0"}],
    }


def test_its_pipeline_passes_its_tests(installed: Path, copy: Path) -> None:
    lines = run_in(copy, installed / "bin" / "ingest", "test", "pipeline.yaml").splitlines()
    assert [line.split()[0] for line in lines] == ["passed", "passed"]


def test_sample_events_show_both_outcomes(installed: Path, copy: Path) -> None:
    command = ("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json")
    found = run_in(copy, installed / "bin" / "ingest", *command)
    assert Counter(json.loads(line)["outcome"] for line in found.splitlines()) == {"kept": 2, "failed": 1}
