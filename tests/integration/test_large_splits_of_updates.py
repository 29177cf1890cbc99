"""A split with many updates: all of them are folded, and written as one row for each key."""

import gzip
from pathlib import Path

import pytest

from ingest.api import Scan
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from tests.support.audit import rocksdb_reader
from tests.support.service import Service

MIB = 1 << 20
KEYS = 50_000
TEXT = "x" * 200
EVENTS = 100 * MIB // (len(TEXT) + 16)


@pytest.mark.slow
def test_hundred_mebibytes_of_updates_in_one_split(tmp_path: Path) -> None:
    """A file with gzip is one split, whatever its size; the values of `last_n` are held with it."""
    (tmp_path / "in").mkdir()
    lines = (f"page={number % KEYS} text={TEXT}{number:08d}\n" for number in range(EVENTS))
    with gzip.open(tmp_path / "in" / "events.gz", "wt", compresslevel=1) as file:
        file.writelines(lines)
    content = {
        "stores": {"s": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "tables": {
            "sums": {"families": {"c": {}}, "updates": {"processor": "sum"}},
            "last": {"families": {"c": {}}, "updates": {"processor": {"last_n": {"n": 100}}}},
        },
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(tmp_path / "in")}},
                "decorators": [{"kv": {}}, {"value": {"attribute": "n", "value": "1"}}],
                "sinks": [
                    {"hbase": {"table": table, "row_key": {"template": "%{page}"}, "cells": [cell]}}
                    for table, cell in (
                        ("sums", {"family": "c", "qualifier": "n", "value": "%{n}"}),
                        ("last", {"family": "c", "qualifier": "text", "value": "%{text}"}),
                    )
                ],
            }
        },
    }
    with Service(tmp_path, content) as service:
        assert service.run_once() == 0, service.last_lines()
    with rocksdb_reader(tmp_path / "store") as store:
        for table in ("sums", "last"):
            rows = list(update_rows(store, table, RowFormat.recorded(store, table)))
            assert (len(rows), {row.key.start for row in rows}) == (KEYS, {rows[0].key.start})
        assert sum(int(cell.value) for row in store.scan("sums", Scan()) for cell in row.cells) == EVENTS
        stored = sum(cell.value.count(b"x" * len(TEXT)) for row in store.scan("last", Scan()) for cell in row.cells)
        assert stored == EVENTS
