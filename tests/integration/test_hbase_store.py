"""HBase keeps the contract of stores, with and without a Thrift2 server, framed or not."""

import socket
from collections.abc import Iterator

import pytest

from ingest.api import (
    Delete,
    FamilySpec,
    Put,
    Row,
    Scan,
    SchemaError,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    WriteRejectedError,
)
from ingest.testing.stores import AnyStore, StoreContract, StoreFixture
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.local import ServerProcess, free_ports
from tests.support.names import unique
from tests.support.servers import HBase


class Server(StoreFixture):
    def __init__(self, hbase: HBase, **options: object) -> None:
        self._settings = settings_of(hbase, **options)

    def store(self) -> AnyStore:
        return HBaseStore(self._settings)

    def reader(self, store: AnyStore) -> AnyStore:
        reader = self.store()
        reader.open()
        return reader


def settings_of(hbase: HBase, **options: object) -> HBaseSettings:
    return HBaseSettings(**({"host": hbase.host, "port": hbase.port, "timeout": "60s"} | options))


class TestHBase(StoreContract):
    @pytest.fixture
    def kit(self, hbase):
        return Server(hbase, thrift2={"host": hbase.host, "port": hbase.thrift2_port})


@pytest.fixture
def store(hbase: HBase) -> Iterator[HBaseStore]:
    made = HBaseStore(settings_of(hbase))
    made.open()
    yield made
    made.close()


@pytest.fixture
def table(store: HBaseStore) -> str:
    name = unique("store")
    store.ensure_table(TableSpec(name, (FamilySpec(b"cf"), FamilySpec(b"g", versions=3, ttl_s=86_400))))
    return name


class TestTables:
    def test_made_as_the_specification_says(self, hbase: HBase, table: str) -> None:
        with hbase.connection() as connection:
            found = connection.table(table).families()
        assert {
            name: (one["max_versions"], one["bloom_filter_type"], one["block_cache_enabled"], one["time_to_live"])
            for name, one in found.items()
        } == {b"cf": (1, b"ROW", True, 2**31 - 1), b"g": (3, b"ROW", True, 86_400)}

    def test_family_of_a_live_table_needs_thrift2(self, store: HBaseStore, table: str) -> None:
        with pytest.raises(SchemaError) as caught:
            store.ensure_table(TableSpec(table, (FamilySpec(b"new", versions=2),)))
        assert f"alter '{table}', {{NAME => 'new', VERSIONS => 2" in str(caught.value)

    def test_splits_need_thrift2(self, store: HBaseStore, hbase: HBase) -> None:
        spec = TableSpec(unique("split"), (FamilySpec(b"f"),), splits=(b"\x01", b"m"))
        with pytest.raises(SchemaError, match="SPLITS"):
            store.ensure_table(spec)
        able = HBaseStore(settings_of(hbase, thrift2={"host": hbase.host, "port": hbase.thrift2_port}))
        able.open()
        able.ensure_table(spec)
        able.close()
        with hbase.connection() as connection:
            starts = sorted(region["start_key"] for region in connection.table(spec.name).regions())
        assert starts == [b"", b"\x01", b"m"]

    def test_family_added_through_thrift2_is_like_the_others(self, hbase: HBase, table: str) -> None:
        able = HBaseStore(settings_of(hbase, thrift2={"host": hbase.host, "port": hbase.thrift2_port}))
        able.open()
        able.ensure_table(TableSpec(table, (FamilySpec(b"new", versions=2, bloom="rowcol", ttl_s=60),)))
        able.close()
        with hbase.connection() as connection:
            new = connection.table(table).families()[b"new"]
        assert (new["max_versions"], new["bloom_filter_type"], new["block_cache_enabled"], new["time_to_live"]) == (
            2, b"ROWCOL", True, 60,
        )  # fmt: skip


class TestRefusals:
    def test_unknown_family_among_good_rows(self, store: HBaseStore, table: str) -> None:
        with pytest.raises(WriteRejectedError, match="no such family") as caught:
            store.apply(table, [Put(b"good", {b"cf:q": b"1"}, 1), Put(b"bad", {b"zz:q": b"1"}, 1)])
        assert caught.value.indexes is None

    def test_rows_the_server_would_refuse_are_named(self, store: HBaseStore, table: str) -> None:
        good = {b"cf:q": b"1"}
        mutations = [
            Put(b"good", good, 1),
            Put(b"", good, 1),
            Put(b"k" * 32_768, good, 1),
            Put(b"r", {b"no colon": b"1"}, 1),
            Put(b"r", {b":q": b"1"}, 1),
            Put(b"r", good, -1),
            Put(b"r", good, 2**63 - 1),
            Put(b"r", {}, 1),
            Delete(b"r", 1, b"f:"),
        ]
        with pytest.raises(WriteRejectedError) as caught:
            store.apply(table, mutations)
        assert caught.value.indexes == [1, 2, 3, 4, 5, 6, 7, 8]
        assert list(store.scan(table, Scan())) == []

    def test_cell_above_the_limit_is_named(self, store: HBaseStore, table: str) -> None:
        with pytest.raises(WriteRejectedError, match="too large") as caught:
            store.apply(table, [Put(b"a", {b"cf:q": b"1"}, 1), Put(b"b", {b"cf:q": b"x" * 10 * 2**20}, 1)])
        assert caught.value.indexes == [1]

    def test_missing_table(self, store: HBaseStore) -> None:
        name = unique("absent")
        for mutation in (Put(b"r", {b"cf:q": b"1"}, 1), Delete(b"r", 1), Delete(b"r", 1, b"cf")):
            with pytest.raises(StoreRefusedError, match=f'no table "{name}"'):
                store.apply(name, [mutation])

    def test_disabled_table(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        with hbase.connection() as connection:
            connection.disable_table(table)
        with pytest.raises(StoreRefusedError, match="is disabled"):
            store.apply(table, [Put(b"r", {b"cf:q": b"1"}, 1)])
        with hbase.connection() as connection:
            connection.enable_table(table)
        store.apply(table, [Put(b"r", {b"cf:q": b"1"}, 1)])
        assert store.get(table, b"r") is not None


@pytest.fixture(scope="module")
def framed_port(hbase: HBase) -> Iterator[int]:
    """Port of a Thrift server that frames its messages and writes them compactly."""
    (port,) = free_ports(1)
    process = ServerProcess("thrift_framed", hbase.server.folder)
    main = ["org.apache.hadoop.hbase.thrift.ThriftServer", "-p", str(port), "-b", "127.0.0.1", "-f", "-c", "start"]
    process.start(hbase.server.command(*main, heap="256m"))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        process.wait_until(listens, timeout_s=60)
        yield port
    finally:
        process.kill()


class TestFramedAndCompact:
    def test_writes_and_reads(self, hbase: HBase, framed_port: int, table: str) -> None:
        store = HBaseStore(settings_of(hbase, port=framed_port, transport="framed", protocol="compact"))
        store.open()
        puts = [Put(b"%02d" % number, {b"cf:q": bytes([number]) * 100_000}, 5) for number in range(40)]
        store.apply(table, puts)  # 4 MB: more than one frame may have
        assert [(row.key, row.cells[0].value) for row in store.scan(table, Scan(page_rows=7))] == [
            (put.row, put.columns[b"cf:q"]) for put in puts
        ]
        with pytest.raises(WriteRejectedError, match="framed") as caught:
            store.apply(table, [puts[0], Put(b"large", {b"cf:q": b"x" * 2_000_000}, 5)])
        assert caught.value.indexes == [1]
        store.close()

    def test_wrong_transport_is_an_error_not_a_hang(self, hbase: HBase, framed_port: int) -> None:
        store = HBaseStore(settings_of(hbase, port=framed_port, timeout="3s"))
        store.open()
        with pytest.raises(StoreUnavailableError):
            store.tables()
        store.close()


class TestConnection:
    def test_nobody_listens(self, hbase: HBase) -> None:
        store = HBaseStore(settings_of(hbase, port=free_ports(1)[0]))
        with pytest.raises(StoreUnavailableError, match="nobody can be reached"):
            store.open()

    def test_time_out_then_the_connection_is_made_anew(self, hbase: HBase, table: str) -> None:
        store = HBaseStore(settings_of(hbase, timeout="500ms"))
        store.open()
        hbase.pause("thrift")
        with pytest.raises(StoreUnavailableError, match="no answer"):
            store.get(table, b"r")
        hbase.resume("thrift")
        patient = HBaseStore(settings_of(hbase))
        patient.open()
        assert patient.get(table, b"r") is None
        assert store.get(table, b"r") is None
        store.close()
        patient.close()

    def test_thrift_server_restarted(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        store.apply(table, [Put(b"r", {b"cf:q": b"1"}, 1)])
        hbase.kill("thrift")
        with pytest.raises(StoreUnavailableError):
            store.get(table, b"r")
        with pytest.raises(StoreUnavailableError, match="nobody can be reached"):
            store.get(table, b"r")
        hbase.start()
        found = store.get(table, b"r")
        assert isinstance(found, Row)

    @pytest.mark.slow
    def test_region_server_killed_then_back(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        store.apply(table, [Put(b"r", {b"cf:q": b"1"}, 1)])
        hbase.kill("hbase")
        with pytest.raises(StoreUnavailableError):
            store.apply(table, [Put(b"s", {b"cf:q": b"1"}, 1)])
        hbase.start()
        store.apply(table, [Put(b"s", {b"cf:q": b"1"}, 1)])
        assert [row.key for row in store.scan(table, Scan())] == [b"r", b"s"]
