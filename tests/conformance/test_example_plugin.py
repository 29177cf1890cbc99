"""The example plugins, installed in an environment without the source tree."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.environments import ROOT, environment_with, run_in, wheel_of

EXAMPLES = ROOT / "deploy" / "examples"


class Example(NamedTuple):
    """A folder of `deploy/examples`, and the component that its package provides."""

    folder: str
    component_type: str
    name: str
    provider: str


GEOHASH = Example("plugin", "decorators", "geohash", "attr2hbase-geohash 1.0.0")
PARQUET = Example("parquet-sink", "sinks", "parquet", "attr2hbase-parquet 1.0.0")

pytestmark = pytest.mark.parametrize("example", [GEOHASH, PARQUET], ids=lambda example: example.folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the packages of all examples."""
    projects = [ROOT, *(EXAMPLES / example.folder for example in (GEOHASH, PARQUET))]
    wheels = [wheel_of(project, tmp_path_factory.mktemp("wheel")) for project in projects]
    return environment_with(tmp_path_factory.mktemp("second") / "venv", *wheels)


@pytest.fixture(scope="module")
def described(installed: Path) -> list[dict[str, str]]:
    """All components that the environment has."""
    return [
        *map(
            json.loads, run_in(installed, installed / "bin" / "attr2hbase", "--output", "json", "describe").splitlines()
        )
    ]


@pytest.fixture
def copy(tmp_path: Path, example: Example) -> Path:
    """The example without its code, which the environment provides."""
    folder = tmp_path / example.folder
    shutil.copytree(EXAMPLES / example.folder, folder, ignore=shutil.ignore_patterns("src", "__pycache__", "data"))
    return folder


def test_suite_of_the_plugin_passes(installed: Path, copy: Path) -> None:
    output = run_in(copy, installed / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in output
    assert "skipped" not in output


def test_plugin_is_listed_with_its_provider(
    installed: Path, described: list[dict[str, str]], copy: Path, example: Example
) -> None:
    ingest = installed / "bin" / "attr2hbase"
    (entry,) = [each for each in described if each["name"] == example.name]
    assert (entry["type"], entry["provider"]) == (example.component_type, example.provider)
    found = json.loads(run_in(copy, ingest, "--output", "json", "validate", "pipeline.yaml"))
    plugin = {"type": example.component_type, "name": example.name, "provider": example.provider}
    assert found == {"valid": True, "problems": [], "plugins": [plugin]}


def test_pipeline_of_the_example_passes_its_tests(installed: Path, copy: Path) -> None:
    lines = run_in(copy, installed / "bin" / "attr2hbase", "test", "pipeline.yaml").splitlines()
    assert [line.split()[0] for line in lines] == ["passed", "passed"]


def test_sample_events_show_both_outcomes(installed: Path, copy: Path) -> None:
    command = ("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json")
    found = run_in(copy, installed / "bin" / "attr2hbase", *command)
    assert Counter(json.loads(line)["outcome"] for line in found.splitlines()) == {"kept": 2, "failed": 1}
