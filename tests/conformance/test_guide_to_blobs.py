"""The guide to blobs: its file, its commands and its program run."""

import hashlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from ingest.cli import main

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "blobs.md").read_text("utf-8")
CONTENT = bytes(1_500_000)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of the guide, and a report."""
    monkeypatch.chdir(tmp_path)
    tables, *_ = re.findall(r"^```yaml\n(.*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    rest = {
        "version": 1,
        "stores": {"s": {"rocksdb": {"path": "./store"}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./a.log"}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{topic}-%{offset}"}},
                    {"value": {"attribute": "2hb_f:q", "value": "v"}},
                ],
                "sinks": [{"attr2hbase": {"table": "events"}}],
            }
        },
    }
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(rest) + tables)
    (tmp_path / "report.pdf").write_bytes(CONTENT)
    return tmp_path


def test_commands_run_in_the_order_of_the_guide(folder: Path) -> None:
    lines = GUIDE.splitlines()
    commands = [line.partition(" > ")[0] for line in lines if re.match("attr2hbase (admin )?blob ", line)]
    assert len(commands) == 9
    for command in commands:
        arguments = shlex.split(command.replace(" ID", f" {hashlib.sha256(CONTENT).hexdigest()}"))
        assert (command, main(arguments[1:])) == (command, 0)
    assert (folder / "copy.pdf").read_bytes() == CONTENT


def test_program_runs(folder: Path) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    found: dict[str, object] = {}
    exec(program, found)  # noqa: S102 - the guide's own
    assert (found["first"], found["part"]) == (bytes(100), bytes(100))
