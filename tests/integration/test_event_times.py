"""With `timestamp: event` the same events give the same cells in every store, independent of the batches."""

from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.audit import Table, assert_same_table, hbase_table, rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks

TO_ROCKSDB, TO_HBASE = "to_rocksdb", "to_hbase"


@pytest.mark.slow
def test_stores_have_the_same_cells_also_after_reading_again(
    kafka: Kafka, hbase: HBase, protocol: Protocol, many_ticks: Ticks, tmp_path: Path
) -> None:
    """200,000 events, read under one checkpoint, then under a new one with batches of another size."""
    tables = {TO_ROCKSDB: "t", TO_HBASE: unique("event_times")}
    stores = {TO_ROCKSDB: "embedded", TO_HBASE: "cluster"}

    def content(batch: int) -> dict[str, object]:
        return {
            "stores": {
                "embedded": ticks.rocksdb(tmp_path / "store"),
                "cluster": {"hbase": hbase.store_options(protocol)},
            },
            "tables": {tables[name]: ticks.table(store) for name, store in stores.items()},
            "pipelines": {
                name: ticks.pipeline(
                    kafka,
                    many_ticks.topic,
                    store,
                    tables[name],
                    group=f"{tables[TO_HBASE]}-{name}",
                    max_events_per_batch=batch,
                    sinks=[{"attr2hbase": {"store": store, "table": tables[name], "timestamp": "event"}}],
                )
                for name, store in stores.items()
            },
        }

    def found() -> list[Table]:
        embedded = rocksdb_table(tmp_path / "store", tables[TO_ROCKSDB], versions=ticks.VERSIONS)
        return [embedded, hbase_table(hbase, tables[TO_HBASE])]

    expected = table_of(many_ticks.expected_of_events("t"), "t", versions=ticks.VERSIONS)
    assert len(expected) == many_ticks.count
    with Service(tmp_path, content(70_000)) as service:
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        assert service.run_once(timeout_s=900) == 0, service.last_lines()
        for table in found():
            assert_same_table(expected, table)

        for name in stores:
            service.checkpoint(name).remove()
        service.write(content(30_000))
        assert service.run_once("--start-from", "earliest", timeout_s=900) == 0, service.last_lines()
        assert len(service.checkpoint(TO_HBASE).commits()) > many_ticks.count // 70_000 + 1
        for table in found():
            assert_same_table(expected, table)
