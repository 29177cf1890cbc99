"""HBase fulfils the contract of stores, creates tables as declared, and reconnects."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ingest.api import (
    FamilySpec,
    FuzzyPattern,
    Put,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    StoreUnavailableError,
    TableSpec,
)
from ingest.testing.stores import StoreContract
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.hbase_stores import HBaseStores
from tests.support.local import free_ports
from tests.support.names import unique
from tests.support.protocols import thrift_only
from tests.support.servers import HBase, Protocol


def settings_of(
    hbase: HBase, protocol: Protocol = "thrift", *, thrift2: bool = False, **options: object
) -> HBaseSettings:
    return HBaseSettings(**({"timeout": "60s"} | hbase.store_options(protocol, thrift2=thrift2) | options))


class TestHBase(StoreContract):
    @pytest.fixture
    def kit(self, hbase, protocol):
        return HBaseStores(settings_of(hbase, protocol, thrift2=True))


@contextmanager
def opened(settings: HBaseSettings) -> Iterator[HBaseStore]:
    made = HBaseStore.of(settings)
    made.open()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore.of(settings_of(hbase, protocol))
    made.open()
    yield made
    made.close()


@pytest.fixture
def table(store: HBaseStore) -> str:
    name = unique("store")
    store.ensure_table(TableSpec(name, (FamilySpec(b"cf"), FamilySpec(b"g", versions=3, ttl_s=86_400))))
    return name


class TestTables:
    def test_table_is_created_as_declared(self, hbase: HBase, table: str) -> None:
        with hbase.connection() as connection:
            found = connection.table(table).families()
        assert {
            name: (one["max_versions"], one["bloom_filter_type"], one["block_cache_enabled"], one["time_to_live"])
            for name, one in found.items()
        } == {b"cf": (1, b"ROW", True, 2**31 - 1), b"g": (3, b"ROW", True, 86_400)}

    @thrift_only("HBase's native RPC needs no Thrift2 server")
    def test_family_of_a_live_table_needs_thrift2(self, store: HBaseStore, table: str) -> None:
        with pytest.raises(SchemaError) as caught:
            store.ensure_table(TableSpec(table, (FamilySpec(b"new", versions=2),)))
        assert f"alter '{table}', {{NAME => 'new', VERSIONS => 2" in str(caught.value)

    @thrift_only("HBase's native RPC needs no Thrift2 server")
    def test_splits_need_thrift2(self, store: HBaseStore, hbase: HBase) -> None:
        spec = TableSpec(unique("split"), (FamilySpec(b"f"),), splits=(b"\x01", b"m"))
        with pytest.raises(SchemaError, match="SPLITS"):
            store.ensure_table(spec)
        with opened(settings_of(hbase, thrift2=True)) as able:
            able.ensure_table(spec)
        with hbase.connection() as connection:
            starts = sorted(region["start_key"] for region in connection.table(spec.name).regions())
        assert starts == [b"", b"\x01", b"m"]

    def test_added_family_is_as_declared(self, hbase: HBase, table: str, protocol: Protocol) -> None:
        with opened(settings_of(hbase, protocol, thrift2=True)) as able:
            able.ensure_table(TableSpec(table, (FamilySpec(b"new", versions=2, bloom="rowcol", ttl_s=60),)))
        with hbase.connection() as connection:
            new = connection.table(table).families()[b"new"]
        assert (new["max_versions"], new["bloom_filter_type"], new["block_cache_enabled"], new["time_to_live"]) == (
            2, b"ROWCOL", True, 60,
        )  # fmt: skip


class TestRegions:
    def test_rows_larger_than_a_page_are_read_as_a_whole(self, hbase: HBase, protocol: Protocol) -> None:
        columns = {b"f:%03d" % number: b"%d" % (number % 10) * 100_000 for number in range(60)}
        with opened(settings_of(hbase, protocol)) as store:
            spec = TableSpec(unique("wide"), (FamilySpec(b"f"),))
            store.ensure_table(spec)
            for key in (b"a", b"b"):
                store.apply(spec.name, [Put(key, dict(columns), 1)])
            for reverse in (False, True):
                rows = list(store.scan(spec.name, Scan(reverse=reverse)))
                assert [row.key for row in rows] == ([b"b", b"a"] if reverse else [b"a", b"b"])
                assert all({b"f:" + cell.qualifier: cell.value for cell in row.cells} == columns for row in rows)

    def test_scans_over_several_regions(self, hbase: HBase, protocol: Protocol) -> None:
        spec = TableSpec(unique("regions"), (FamilySpec(b"f"),), splits=(b"2", b"4", b"40", b"6"))
        keys = [b"%02d" % number for number in range(10, 80)] + [b"2", b"4", b"40\x00"]
        ordered = sorted(keys)
        with opened(settings_of(hbase, protocol, thrift2=True)) as store:
            store.ensure_table(spec)
            assert store.describe_table(spec.name) == spec
            store.apply(spec.name, [Put(key, {b"f:q": key}, 1) for key in keys])

            def found(**options: Any) -> list[bytes]:
                return [row.key for row in store.scan(spec.name, Scan(**options))]

            for page_rows in (1, 7, 500):
                assert found(page_rows=page_rows) == ordered
                assert found(page_rows=page_rows, reverse=True) == ordered[::-1]
                for start, stop in ((b"2", b"4"), (b"3", b"41"), (b"40", b"40\x00"), (b"4", b"4"), (b"39", b"6")):
                    expected = [key for key in ordered if start <= key < stop]
                    assert found(start=start, stop=stop, page_rows=page_rows) == expected
                    assert found(start=start, stop=stop, page_rows=page_rows, reverse=True) == expected[::-1]
            assert found(limit=45) == ordered[:45]
            assert found(limit=45, reverse=True) == ordered[::-1][:45]
            fuzzy = (FuzzyPattern.parse("?3"),)
            assert found(fuzzy=fuzzy) == [b"13", b"23", b"33", b"43", b"53", b"63", b"73"]
            assert found(fuzzy=fuzzy, reverse=True) == [b"73", b"63", b"53", b"43", b"33", b"23", b"13"]


class TestScansWithPatterns:
    @thrift_only("HBase's native RPC filters on the server, as test_fuzzy_filter.py tests")
    @pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
    def test_scan_that_mostly_seeks_falls_back_to_whole_pages(
        self, store: HBaseStore, table: str, *, reverse: bool
    ) -> None:
        keys = sorted(
            [b"%04d_%d" % (user, row) for user in range(600) for row in (1, 2, 3, 5)] + [b"0001_4", b"0598_4"]
        )
        store.apply(table, [Put(key, {b"cf:q": b"1"}, 1) for key in keys])
        counts = ScanCounts()
        scan = Scan(fuzzy=(FuzzyPattern.parse("????_4"),), reverse=reverse)
        found = [row.key for row in store.scan(table, scan, counts)]
        assert sorted(found) == [b"0001_4", b"0598_4"]
        assert counts.seeks < 250
        assert counts.rows_in_fallback > 1000
        assert counts.rows_touched <= len(found) + counts.seeks


class TestConnection:
    def test_no_server_at_the_port(self, hbase: HBase, protocol: Protocol) -> None:
        options = hbase.store_options(protocol, port=free_ports(1)[0])
        store = HBaseStore.of(HBaseSettings.model_validate(options | {"timeout": "60s"}))
        with pytest.raises(StoreUnavailableError, match=r"no server (can be reached|of the cluster)"):
            store.open()

    def test_reconnects_after_a_timeout(self, hbase: HBase, protocol: Protocol, table: str) -> None:
        with hbase.proxy(protocol) as proxy:
            options = hbase.store_options(protocol, port=proxy.port)
            with opened(HBaseSettings.model_validate(options | {"timeout": "1s"})) as store:
                proxy.behave(stalled=True)
                with pytest.raises(StoreUnavailableError, match="no answer"):
                    store.get(table, b"r")
                proxy.behave()
                with opened(HBaseSettings.model_validate(options | {"timeout": "60s"})) as slow:
                    assert slow.get(table, b"r") is None
                assert store.get(table, b"r") is None

    @thrift_only("a Thrift server is killed")
    def test_thrift_server_restarted(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        store.apply(table, [Put(b"r", {b"cf:q": b"1"}, 1)])
        hbase.kill("thrift")
        with pytest.raises(StoreUnavailableError):
            store.get(table, b"r")
        with pytest.raises(StoreUnavailableError, match="no server can be reached"):
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
