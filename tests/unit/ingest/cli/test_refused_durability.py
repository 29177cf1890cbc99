"""`validate --connect` finds sinks whose rows the store would refuse for their durability."""

import json

import pytest

CHOOSY = """\
from ingest.api import Durability, Store, StoreRefusedError
from sinks.memory import MemorySettings, MemoryStore


class ChoosySettings(MemorySettings):
    pass


class Choosy(MemoryStore, Store[ChoosySettings]):
    "A store with a family that refuses rows without the write-ahead log."

    kind = "choosy"

    def families(self, table):
        return frozenset([b"far", b"near"])

    def refusal_of(self, table, family, durability):
        if (table, family, durability) == ("t", b"far", Durability.SKIP):
            return StoreRefusedError("far needs the log", hint="alter it")
        return None
"""
CELLS = {"row_key": {"template": "%{key}"}, "cells": [{"family": "near", "qualifier": "q", "value": "%{body}"}]}


@pytest.fixture
def connected(ingest, folder):
    """The answer of the store to `validate --connect`, of a file with one sink."""
    (folder / "choosing.py").write_text(CHOOSY)
    (folder / "a.log").touch()

    def run(sink):
        content = {
            "version": 1,
            "plugins": ["choosing"],
            "stores": {"s": {"choosy": {}}},
            "pipelines": {
                "p": {
                    "source": {"files": {"path": "./a.log"}},
                    "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                    "sinks": [sink],
                }
            },
        }
        (folder / "p.yaml").write_text(json.dumps(content))
        result = ingest("validate", "p.yaml", "--connect", "--output", "json")
        (answer,) = (each for each in result.json["connections"] if each["what"] == 'store "s"')
        return answer["error"]

    return run


@pytest.mark.parametrize(
    "sink",
    [
        {"attr2hbase": {"table": "t", "durability": "skip"}},
        {"attr2hbase": {"table": "t", "write_to_wal": False}},
        {"attr2hbase": {"table": "t", "rules": [{"when": "%{n} == '1'", "durability": "skip"}]}},
        {"hbase": {"table": "t", "durability": "skip"} | CELLS | {"cells": [CELLS["cells"][0] | {"family": "far"}]}},
    ],
)
def test_rows_that_a_family_would_refuse_are_an_error(connected, sink):
    assert connected(sink) == {"code": "store_refused", "message": "far needs the log", "hint": "alter it"}


@pytest.mark.parametrize(
    "sink",
    [
        {"attr2hbase": {"table": "t"}},
        {"attr2hbase": {"table": "other", "durability": "skip"}},
        {"attr2hbase": {"table": "t%{n}", "durability": "skip"}},
        {"attr2hbase": {"table": "t", "durability": "skip", "families": {"deny": ["far"]}}},
        {"attr2hbase": {"table": "t", "durability": "skip", "families": {"allow": ["near"]}}},
        {"hbase": {"table": "t", "durability": "skip"} | CELLS},
    ],
)
def test_rows_of_other_families_tables_or_durabilities_are_fine(connected, sink):
    assert connected(sink) is None
