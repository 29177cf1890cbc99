"""Every example pipeline passes its tests and has its files."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.cli import main

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path for path in (ROOT / "deploy" / "examples").iterdir() if path.is_dir())
# packages must be installed first: test_example_plugin
EXAMPLES = [path for path in FOLDERS if not (path / "pyproject.toml").exists()]
FILES = [
    *(file for folder in EXAMPLES for file in sorted(folder.glob("*.yaml"))),
    ROOT / "deploy" / "demo" / "hbase.yaml",
    ROOT / "deploy" / "docker" / "pipeline.yaml",
]
SERVERS = {"KAFKA": "localhost:9092", "HBASE": "localhost:16000", "HTTP_PORT": "0"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT / "deploy"))


@pytest.fixture
def ingest(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command in this process, which must succeed; returns its output."""
    for name, value in SERVERS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str, folder: Path) -> str:
        monkeypatch.chdir(folder)
        code = main(arguments)
        out, err = capfd.readouterr()
        assert (code, err if code else "") == (0, "")
        return out

    return run


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_example_passes_its_tests(ingest: Callable[..., str], file: Path) -> None:
    lines = ingest("test", file.name, folder=file.parent).splitlines()
    assert lines
    assert [line for line in lines if not line.startswith("passed")] == []


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.name != "recipes"], ids=name_of)
def test_example_has_all_files(folder: Path) -> None:
    assert {"README.md", "pipeline.yaml", "events.jsonl"} - {path.name for path in folder.iterdir()} == set()


@pytest.mark.parametrize(
    ("example", "outcomes"),
    [
        ("ticks", {"kept": 3}),
        ("access-log", {"kept": 1, "dropped": 1, "failed": 1}),
        ("app-events", {"kept": 1, "dropped": 1, "failed": 1}),
        ("metrics", {"kept": 2, "failed": 1}),
        ("counters", {"kept": 1, "dropped": 1, "failed": 1}),
        ("weather", {"kept": 2, "failed": 1}),
        ("schema-registry", {"kept": 2, "failed": 1}),
    ],
)
def test_sample_events_show_every_outcome(ingest: Callable[..., str], example: str, outcomes: dict[str, int]) -> None:
    folder = ROOT / "deploy" / "examples" / example
    output = ingest("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json", folder=folder)
    assert Counter(json.loads(line)["outcome"] for line in output.splitlines()) == outcomes


def test_access_log_equals_the_output_of_its_generator(tmp_path: Path) -> None:
    folder = ROOT / "deploy" / "examples" / "access-log"
    subprocess.run([sys.executable, folder / "generate.py", tmp_path], check=True)
    assert (tmp_path / "access.log").read_bytes() == (folder / "logs" / "access.log").read_bytes()
    # compressed bytes differ between versions of zlib, their content does not
    packed = "access.log.1.gz"
    assert gzip.decompress((tmp_path / packed).read_bytes()) == gzip.decompress((folder / "logs" / packed).read_bytes())
