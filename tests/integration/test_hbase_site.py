"""A store that is reached with nothing but the cluster's own files, which name ZooKeeper alone."""

from dataclasses import replace

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.schema_diff import Aspect, differences_in, reconcile
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
        declared = TableSpec(
            table,
            (FamilySpec(b"f"), FamilySpec(b"g")),
            attributes=((b"f", "DATA_BLOCK_ENCODING", "FAST_DIFF"), (b"g", "IN_MEMORY", "true")),
        )
        before = [(one.aspect, one.family) for one in differences_in(store, declared)]
        assert before == [(Aspect.FAMILY, b"g"), (Aspect.ATTRIBUTES, b"f")]
        changes = reconcile(store, declared, allow_data_loss=False)
        assert (changes.left, changes.refused) == ((), ())
        assert store.family_attributes(table)[b"f"]["DATA_BLOCK_ENCODING"] == "FAST_DIFF"
        new = replace(declared, name=f"{unique('ns').replace('-', '_')}:site")  # its namespace is created
        assert reconcile(store, new, allow_data_loss=False).left == ()
    finally:
        store.close()
