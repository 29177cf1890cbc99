"""The sync, WAL and acknowledgement settings of the benchmarks; docs/performance.md documents them."""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from ingest.catalog import Catalog
from ingest.config import load
from tests.bench.hbase import HEAP, PROPERTIES, THRIFT_HEAP
from tests.bench.workload import PIPELINE, STORE, Workload, written

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "settings.md"
"""The part of docs/performance.md that is written by hand; contains the table of settings."""
_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| `(?P<value>[^`]+)` \|", re.MULTILINE)


def in_force() -> dict[str, str]:
    """Setting -> value that the product uses in the benchmarks of the goals."""
    rocksdb = _bound({"rocksdb": {"path": "./store"}})
    hbase = _bound({"hbase": {"host": "localhost", "port": 9090}})
    sink = hbase.pipelines[PIPELINE].sinks[0].settings
    return {
        "rocksdb: sync": _text(rocksdb.stores[STORE].settings.sync),
        "attr2hbase: write_to_wal": _text(sink.write_to_wal),
        "attr2hbase: write_buffer_size": f"{sink.write_buffer_size >> 20}MiB",
        "kafka: max_events_per_batch": str(hbase.pipelines[PIPELINE].source.settings.max_events_per_batch),
        "acknowledged": "after the flush",
        "HBase: heap": HEAP,
        "HBase: heap of the Thrift server": THRIFT_HEAP,
    } | {f"HBase: {name}": value for name, value in PROPERTIES.items()}


def differences(found: dict[str, str], page: str) -> list[str]:
    """Differences from the table of settings in a page, one sentence each."""
    documented = {match["name"]: match["value"] for match in _ROW.finditer(page)}
    return [
        f"{name} is {value}, docs/bench/settings.md says {documented.get(name, 'nothing')}"
        for name, value in found.items()
        if documented.get(name) != value
    ]


def _bound(store: dict[str, Any]) -> Any:
    content = Workload().content(brokers="127.0.0.1:9092", topic="bench", group="bench", store=store)
    with tempfile.TemporaryDirectory() as folder:
        return load(written(content, Path(folder)), env=dict(os.environ), lookup=Catalog())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
