"""Rows that HBase refuses are detected before they are sent, or separated from the accepted rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import (
    Delete,
    Put,
    Scan,
    StoreBusyError,
    StoreRefusedError,
    TimestampRefusedError,
    WriteRejectedError,
)
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.thrift1 import BatchMutation, ThriftMutation
from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import GuardedHBase
from tests.support.hbase_tables import table_with
from tests.support.java_program import ProgramError
from tests.support.names import unique
from tests.support.servers import HBase, Protocol
from tests.support.waiting import reached

LIMIT = 10 * 1024 * 1024
GOOD = {b"cf:q": b"1"}


def store_of(hbase: HBase, protocol: Protocol = "thrift", **options: object) -> HBaseStore:
    found = {"timeout": "60s"} | hbase.store_options(protocol) | options
    return HBaseStore.of(HBaseSettings.model_validate(found))


@pytest.fixture
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = store_of(hbase, protocol)
    made.open()
    yield made
    made.close()


@pytest.fixture
def table(hbase: HBase) -> str:
    return hbase.create_table("errors")


class TestLimits:
    def test_rows_beyond_the_limits_of_hbase_are_not_sent(self, store: HBaseStore, table: str) -> None:
        mutations = [
            Put(b"good", GOOD, 1),
            Put(b"", GOOD, 1),
            Put(b"k" * 32_768, GOOD, 1),
            Put(b"r", {b"no colon": b"1"}, 1),
            Put(b"r", {b":q": b"1"}, 1),
            Put(b"r", {b"f" * 128 + b":q": b"1"}, 1),
            Put(b"r", GOOD, -1),
            Put(b"r", GOOD, 2**63 - 1),
            Put(b"r", {}, 1),
            Delete(b"r", 1, b"f:"),
            Put(b"r", {b"cf:q": b"x" * LIMIT}, 1),
        ]
        with pytest.raises(WriteRejectedError) as caught:
            store.apply(table, mutations)
        assert caught.value.indexes == list(range(1, 11))
        assert list(store.scan(table, Scan())) == []

    @pytest.mark.one_protocol("a Thrift server does not say which row it refuses")
    @pytest.mark.parametrize(
        "mutation",
        [
            BatchMutation(row=b"", mutations=[ThriftMutation(column=b"cf:q", value=b"1")]),
            BatchMutation(row=b"k" * 32_768, mutations=[ThriftMutation(column=b"cf:q", value=b"1")]),
            BatchMutation(row=b"r", mutations=[ThriftMutation(column=b"cf", value=b"1")]),
            BatchMutation(row=b"r", mutations=[ThriftMutation(column=b":q", value=b"1")]),
            BatchMutation(row=b"r", mutations=[ThriftMutation(column=b"f" * 128 + b":q", value=b"1")]),
        ],
        ids=["no_key", "long_key", "no_colon", "no_family", "long_family"],
    )
    def test_hbase_refuses_the_whole_call_with_such_a_row(
        self, hbase: HBase, table: str, mutation: BatchMutation
    ) -> None:
        connection = Connection(HBaseSettings(host=hbase.host, port=hbase.port))
        connection.open()
        rows = [BatchMutation(row=b"good", mutations=[ThriftMutation(column=b"cf:q", value=b"1")]), mutation]
        with pytest.raises(StoreRefusedError, match="could not process a call"):
            connection.call(lambda client: client.mutateRowsTs(table.encode(), rows, 5, {}))
        connection.close()
        assert hbase.rows(table) == {}

    def test_cell_may_have_10_mib_but_not_one_byte_more(
        self, hbase: HBase, protocol: Protocol, store: HBaseStore, table: str
    ) -> None:
        size = LIMIT - 24 - len(b"row") - len(b"cf") - len(b"q")
        fits, over = Put(b"row", {b"cf:q": b"x" * size}, 1), Put(b"row", {b"cf:q": b"y" * (size + 1)}, 2)
        with pytest.raises(WriteRejectedError, match=f"{LIMIT + 1} bytes") as caught:
            store.apply(table, [over, fits, over])
        assert caught.value.indexes == [0, 2]
        store.apply(table, [fits])
        # HBase has the same limit
        unlimited = store_of(hbase, protocol, max_cell_bytes="11MiB")
        unlimited.open()
        with pytest.raises(WriteRejectedError, match=f"with size {LIMIT + 1} exceeds limit of {LIMIT}") as caught:
            unlimited.apply(table, [over])
        unlimited.close()
        assert caught.value.indexes == [0]
        assert [(len(row.cells[0].value), row.cells[0].timestamp_ms) for row in store.scan(table, Scan())] == [
            (size, 1)
        ]

    def test_row_key_may_have_32767_bytes_but_not_one_more(self, store: HBaseStore, table: str) -> None:
        fits, over = Put(b"k" * 32_767, GOOD, 1), Put(b"k" * 32_768, GOOD, 1)
        with pytest.raises(WriteRejectedError, match="row key of 32768 bytes") as caught:
            store.apply(table, [fits, over])
        assert caught.value.indexes == [1]
        store.apply(table, [fits])
        assert [row.key for row in store.scan(table, Scan())] == [fits.row]


class TestRejected:
    def test_unknown_family_among_good_rows(self, protocol: Protocol, store: HBaseStore, table: str) -> None:
        with pytest.raises(WriteRejectedError, match="no such family") as caught:
            store.apply(table, [Put(b"good", GOOD, 1), Put(b"bad", {b"zz:q": b"1"}, 1)])
        # a Thrift server does not report which row it rejects
        indexes = [1] if protocol == "rpc" else None
        assert (caught.value.indexes, caught.value.code) == (indexes, "unknown_family")
        assert store.get(table, b"good") is not None
        with pytest.raises(WriteRejectedError, match="no such family") as caught:
            store.apply(table, [Delete(b"bad", 1, b"zz")])
        assert caught.value.indexes == [0]

    def test_cell_above_the_limit_of_the_table(self, hbase: HBase, store: HBaseStore) -> None:
        table = table_with(hbase, hbase__server__keyvalue__maxsize="1000")
        large = Put(b"TableNotFoundException", {b"cf:q": b"x" * 1_000}, 1)
        with pytest.raises(WriteRejectedError, match="too large") as caught:
            store.apply(table, [Put(b"good", GOOD, 1), large])
        assert caught.value.indexes is None
        with pytest.raises(WriteRejectedError, match="too large") as caught:
            store.apply(table, [large])
        assert caught.value.indexes == [0]

    def test_timestamp_too_far_in_the_future(self, hbase: HBase, protocol: Protocol, store: HBaseStore) -> None:
        table = table_with(hbase, hbase__hregion__keyvalue__timestamp__slop__millisecs="1000")
        with pytest.raises(TimestampRefusedError, match="out of range"):
            store.apply(table, [Put(b"r", GOOD, 2**60)])
        with pytest.raises(TimestampRefusedError, match="too late by its clock") as caught:
            store.apply(table, [Put(b"good", GOOD, 1), Put(b"r", GOOD, 2**60)])
        assert caught.value.indexes == [1]
        assert [row.key for row in store.scan(table, Scan())] == [b"good"]
        store.apply(table, [Delete(b"r", 2**60, b"cf", b"q")])  # HBase does not check the times of deletes
        with pytest.raises(TimestampRefusedError) as caught:
            store.apply(table, [Put(b"one", GOOD, 2**60), Put(b"two", GOOD, 2**60)])
        # a Thrift server does not report which row it rejects
        assert caught.value.indexes == ([0, 1] if protocol == "rpc" else None)


def created(admin: Admin, table: str) -> bool:
    """Whether the table was created; a master that is initializing refuses to."""
    try:
        admin.ask("create", table, "cf")
    except ProgramError as error:
        if "PleaseHoldException" in str(error):
            return False
        raise
    return True


class TestRefused:
    def test_missing_table_is_refused(self, store: HBaseStore) -> None:
        name = unique("absent")
        for mutation in (Put(b"r", GOOD, 1), Delete(b"r", 1), Delete(b"r", 1, b"cf")):
            with pytest.raises(StoreRefusedError, match=f'no table "{name}"'):
                store.apply(name, [mutation])

    def test_table_dropped_between_two_calls(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        store.apply(table, [Put(b"r", GOOD, 1)])
        with hbase.connection() as connection:
            connection.delete_table(table, disable=True)
        for mutation in (Put(b"r", GOOD, 1), Delete(b"r", 1), Delete(b"r", 1, b"cf")):
            with pytest.raises(StoreRefusedError, match=f'no table "{table}"'):
                store.apply(table, [mutation])
        with hbase.connection() as connection:
            connection.create_table(table, {"cf": {}})
        store.apply(table, [Put(b"r", GOOD, 1)])

    def test_disabled_table_is_refused_until_enabled(self, hbase: HBase, store: HBaseStore, table: str) -> None:
        with hbase.connection() as connection:
            connection.disable_table(table)
        with pytest.raises(StoreRefusedError, match="is disabled"):
            store.apply(table, [Put(b"r", GOOD, 1)])
        with hbase.connection() as connection:
            connection.enable_table(table)
        store.apply(table, [Put(b"r", GOOD, 1)])
        assert store.get(table, b"r") is not None

    def test_read_only_table(self, hbase: HBase, store: HBaseStore) -> None:
        table = table_with(hbase, READONLY="true")
        for mutation in (Put(b"r", GOOD, 1), Delete(b"r", 1)):
            with pytest.raises(StoreRefusedError, match="is read only"):
                store.apply(table, [mutation])

    @pytest.mark.one_protocol("a Thrift2 server is used as a Thrift server")
    def test_thrift2_server_instead_of_thrift(self, hbase: HBase, table: str) -> None:
        wrong = store_of(hbase, port=hbase.thrift2_port)
        wrong.open()
        with pytest.raises(StoreRefusedError, match="is it a Thrift2 server"):
            wrong.apply(table, [Put(b"r", GOOD, 1)])
        wrong.close()

    @pytest.mark.slow
    def test_user_without_rights(
        self, servers_folder: Path, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = servers_folder / unique("guarded")
        server = GuardedHBase(folder)
        store = store_of(HBase(folder, server), protocol)
        try:
            server.start()
            server.wait()
            with Admin(server) as admin:
                assert reached(lambda: created(admin, "guarded"), 60.0)
                monkeypatch.setenv("HADOOP_USER_NAME", server.user)
                store.open()
                for mutation in (Put(b"r", GOOD, 1), Delete(b"r", 1, b"cf"), Delete(b"r", 1)):
                    with pytest.raises(StoreRefusedError, match=r"access denied.*Insufficient permissions"):
                        store.apply("guarded", [mutation])
                with pytest.raises(StoreRefusedError, match="access denied"):
                    store.get("guarded", b"r")
                with pytest.raises(StoreRefusedError, match="access denied"):
                    store.families("guarded")
                # region servers hear of rights from ZooKeeper, after the call has returned
                admin.ask("grant", "guarded", server.user)
                assert reached(lambda: not is_denied(store), 30.0)
                admin.ask("revoke", "guarded", server.user)
                assert reached(lambda: is_denied(store), 30.0)
        finally:
            store.close()
            for process in server.processes:
                process.kill()


def is_denied(store: HBaseStore) -> bool:
    """Whether the user of a store may not write the table guarded."""
    try:
        store.apply("guarded", [Put(b"r", GOOD, 1)])
    except StoreRefusedError:
        return True
    return False


@pytest.mark.slow  # the Thrift server itself retries for 8 s
def test_busy_region_raises_a_busy_error(hbase: HBase, store: HBaseStore) -> None:
    # HBase 2.6.4 checks the multiplier
    unchecked = {"hbase__hregion__memstore__block__multiplier": "-1", "hbase__table__sanity__checks": "false"}
    table = table_with(hbase, **unchecked)
    for mutation in (Put(b"r", GOOD, 1), Delete(b"r", 1, b"cf")):
        with pytest.raises(StoreBusyError, match="Over memstore limit"):
            store.apply(table, [mutation])
