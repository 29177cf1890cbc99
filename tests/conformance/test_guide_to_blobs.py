"""The guide to blobs: its file, its commands and its program run."""

import hashlib
import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ingest.cli import main

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "blobs.md").read_text("utf-8")
CONTENT = bytes(1_500_000)


@pytest.fixture
def address() -> Iterator[str]:
    """An address at which no service listens; at the default one that of another test may do so."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> Path:
    """A folder with the file of the guide, and a report."""
    monkeypatch.chdir(tmp_path)
    tables, *_ = re.findall(r"^```yaml\n(.*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    rest = {
        "version": 1,
        "service": {"http": {"listen": address}},
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
