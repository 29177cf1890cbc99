"""`attr2hbase table apply` waits for a store whose servers are starting."""

import json

import pytest

from ingest.plan import starting

STORE = """\
from pathlib import Path

from ingest.api import Store, StoreUnavailableError
from sinks.memory import MemorySettings, MemoryStore


class SlowSettings(MemorySettings):
    pass


class Slow(MemoryStore, Store[SlowSettings]):
    "A store that is not there at first."

    kind = "slow"

    def open(self):
        left = int(Path("left").read_text())
        if left:
            Path("left").write_text(str(left - 1))
            error = StoreUnavailableError("not available: PleaseHoldException")
            error.is_starting = Path("starting").exists()
            raise error
        super().open()
"""


@pytest.fixture
def applied(ingest, folder, monkeypatch):
    monkeypatch.setattr(starting, "_PAUSE_S", 0.0)
    (folder / "slow.py").write_text(STORE)
    content = {
        "version": 1,
        "plugins": ["slow"],
        "stores": {"s": {"slow": {}}},
        "tables": {"t": {"families": {"f": {}}}},
        "pipelines": {
            "p": {"source": {"files": {"path": "./a.log"}}, "sinks": [{"attr2hbase": {"table": "t"}}]},
        },
    }
    (folder / "p.yaml").write_text(json.dumps(content))
    (folder / "left").write_text("2")
    return lambda: ingest("table", "apply", "p.yaml")


def test_servers_that_are_starting_are_waited_for(applied, folder):
    (folder / "starting").touch()
    result = applied()
    assert result.code == 0, result.err
    assert result.err.count("not available: PleaseHoldException; waiting up to 60 s for its start") == 1
    assert (folder / "left").read_text() == "0"


def test_servers_that_are_away_are_not(applied, folder):
    result = applied()
    assert result.code == 3
    assert "waiting" not in result.err
    assert (folder / "left").read_text() == "1"
