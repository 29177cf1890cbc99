"""A store that is reached with nothing but the cluster's own files, which name ZooKeeper alone."""

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.names import unique
from tests.support.servers import HBase


@pytest.mark.one_protocol("the files are of HBase's native RPC")
def test_rows_by_the_files_of_the_cluster(hbase: HBase) -> None:
    settings = HBaseSettings(site=str(hbase.server.folder / "conf"))
    assert (settings.bootstrap_servers, settings.addresses) == (
        None,
        (("127.0.0.1", int(hbase.server.endpoints["zookeeper"].rpartition(":")[2])),),
    )
    table = unique("site")
    store = HBaseStore.of(settings)
    store.open()
    try:
        store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
        store.apply(table, [Put(b"r", {b"f:a": b"1"}, 1_000)])
        assert [row.key for row in store.scan(table, Scan())] == [b"r"]
    finally:
        store.close()
