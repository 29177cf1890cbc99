"""`attr2hbase scan` says that a region server loses rows with its filter for patterns, and what to do."""

import json

import pytest

STORE = """\
from ingest.api import Store
from sinks.memory import MemorySettings, MemoryStore


class LossySettings(MemorySettings):
    pass


class Lossy(MemoryStore, Store[LossySettings]):
    "A store with a region server."

    kind = "lossy"

    def tables(self):
        return ("t",)

    def families(self, table):
        return frozenset([b"f"])

    def scan(self, table, scan, counts=None):
        counts.lossy_filters += FOUND
        yield from ()
"""


@pytest.mark.parametrize("is_lossy", [True, False])
def test_remedy_is_shown(ingest, folder, is_lossy) -> None:
    (folder / "lossy.py").write_text(STORE.replace("FOUND", str(int(is_lossy))))
    source = {"files": {"path": "./a.log"}}
    content = {
        "version": 1,
        "plugins": ["lossy"],
        "stores": {"s": {"lossy": {}}},
        "pipelines": {"p": {"source": source, "sinks": [{"attr2hbase": {"table": "t"}}]}},
    }
    (folder / "p.yaml").write_text(json.dumps(content))
    result = ingest("scan", "-f", "p.yaml", "t", "--fuzzy", "?2")
    assert result.code == 0, result.err
    assert ("start its Java with --add-opens java.base/java.nio=ALL-UNNAMED" in result.err) is is_lossy
