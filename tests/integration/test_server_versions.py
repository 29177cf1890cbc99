"""
Records into a table, and back; `tests.support.server_versions` runs this with the servers of the support matrix.

The jars of these servers are fetched by Maven, about 200 MB for the first run.
"""

import json
from pathlib import Path
from random import Random

import pytest

from tests.support import ticks
from tests.support.audit import assert_same_table, hbase_table, table_of
from tests.support.fuzzy_scans import Filters, Scans, opened
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks

COUNT = 20_000


@pytest.mark.slow
def test_records_become_rows(kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path) -> None:
    topic, table, group = Ticks.produced(kafka, COUNT), unique("ticks"), unique("group")
    content = {
        "stores": {"cluster": {"hbase": hbase.store_options(protocol)}},
        "tables": {table: ticks.table("cluster")},
        "pipelines": {"plain": ticks.pipeline(kafka, topic.topic, "cluster", table, group=group)},
    }
    with Service(tmp_path, content) as service:
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        assert service.run_once() == 0, service.last_lines()
        expected = topic.expected(service.checkpoint("plain"), "t")
        assert_same_table(table_of(expected, "t", versions=ticks.VERSIONS), hbase_table(hbase, table))
        assert kafka.committed(group, topic.topic) == topic.ends
        ids = json.loads((service.checkpoint("plain").folder / "topics.json").read_text())
        assert set(ids) == {topic.topic}
        scanned = service.ingest("scan", table, "--limit", "100", "--output", "json")
        assert len(scanned.stdout.splitlines()) == 100, scanned.stderr
        planned = service.ingest("table plan")
        assert planned.returncode == 0, planned.stdout


@pytest.mark.slow
@pytest.mark.one_protocol("compares the two")
def test_filter_of_the_server_and_seeks_of_the_client_find_the_same_rows(
    hbase: HBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = Filters(monkeypatch)
    with opened(hbase, "rpc") as rpc, opened(hbase, "thrift") as thrift:
        for seed in range(3):
            Scans(rpc, Random(seed)).compare([rpc, thrift], 100)
    assert filters.used > 100
