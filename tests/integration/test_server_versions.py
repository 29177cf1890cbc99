"""
Kafka and HBase of the support matrix besides those of all other tests: records into a table, and back.

The jars of these servers are fetched by Maven, about 200 MB for the first run.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from ingest.doctor.versions import MATRIX, numbers_of
from tests.support import ticks
from tests.support.audit import assert_same_table, hbase_table, table_of
from tests.support.fuzzy_scans import Filters, Scans, opened
from tests.support.local import HBaseServer, jars
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks

COUNT = 20_000
VERSIONS = (("3.9.2", "2.5.8"), ("3.9.2", "2.4.17"))


class Servers(NamedTuple):
    """A broker and an HBase."""

    kafka: Kafka
    hbase: HBase


@pytest.fixture(scope="module", params=VERSIONS, ids="kafka-{0[0]}-hbase-{0[1]}".format)
def servers(request: pytest.FixtureRequest, servers_folder: Path) -> Iterator[Servers]:
    from ingest.spark.jars import fetch

    fetch()
    kafka_version, hbase_version = request.param
    folder = servers_folder / f"kafka-{kafka_version}-hbase-{hbase_version}"
    server = HBaseServer(folder / "hbase", java_options=jars.SHORT_LIVED, version=hbase_version)
    found = Servers(Kafka(folder / "kafka", version=kafka_version), HBase(folder / "hbase", server))
    try:
        found.kafka.start()
        found.hbase.start()
        yield found
    finally:
        found.kafka.close()
        found.hbase.close()


@pytest.mark.slow
def test_records_become_rows(servers: Servers, protocol: Protocol, tmp_path: Path) -> None:
    kafka, hbase = servers
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
def test_filter_of_the_server_and_seeks_of_the_client_find_the_same_rows(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = Filters(monkeypatch)
    with opened(servers.hbase, "rpc") as rpc, opened(servers.hbase, "thrift") as thrift:
        for seed in range(3):
            Scans(rpc, Random(seed)).compare([rpc, thrift], 100)
    assert filters.used > 100


def test_versions_are_those_of_the_support_matrix() -> None:
    for product, index in (("kafka", 0), ("hbase", 1)):
        here = {numbers_of(versions[index])[:2] for versions in VERSIONS}
        assert here | {MATRIX[product].newest} == set(MATRIX[product].tested)
