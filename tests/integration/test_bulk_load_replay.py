"""A table with bulk load that was dropped, and refilled by a replay."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ingest.formats.times import moment
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support import ticks
from tests.support.audit import assert_same_table, table_of
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

pytestmark = pytest.mark.one_protocol("a Thrift server loads no files")


@pytest.mark.slow
def test_dropped_table_is_refilled_by_files(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    made, table = Ticks.produced(kafka, 4_000), unique("refilled")
    staging = tmp_path / "staging"
    options = hbase.store_options("rpc") | {"timeout": "60s", "staging": str(staging)}
    content = {
        "stores": {"cluster": {"hbase": options}},
        "tables": {table: ticks.table("cluster") | {"bulk_load": {"from": 1}}},
        "pipelines": {
            "p": ticks.pipeline(kafka, made.topic, "cluster", table, group=unique("group"), max_events_per_batch=1_000)
        },
    }
    times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + 3_600_000))
    with Service(tmp_path, content) as service, closing(RpcStore(HBaseSettings(**options))) as store:
        store.open()
        assert service.ingest("table apply").returncode == 0
        assert service.run_once() == 0, service.last_lines()
        before = table_of(store, table, versions=10)
        assert len(before) == 4_000
        for is_empty in (True, False):
            shutil.rmtree(staging, ignore_errors=True)
            if is_empty:
                with hbase.connection() as connection:
                    connection.delete_table(table, disable=True)
                assert service.ingest("table apply").returncode == 0
            done = service.ingest("replay", *times, "--rate", "1000000", timeout_s=300)
            assert done.returncode == 0, done.stderr
            assert_same_table(before, table_of(store, table, versions=10))
            assert staging.is_dir() is is_empty
