"""`table plan` and `table apply` with a real HBase, with and without Thrift2."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import thriftpy2

from ingest.api import Cell, FamilySpec, Put, SchemaError, TableSpec
from ingest.cli import main
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift import schema
from sinks.hbase.thrift.schema import Thrift2
from tests.support.local import ServerProcess, free_ports
from tests.support.names import unique
from tests.support.protocols import thrift_only
from tests.support.servers import HBase, Protocol

FIRST = {"a": {"versions": 3, "ttl": "30d"}, "b": {"compression": "gz", "bloom": "rowcol"}}
CHANGED = {"a": {"versions": 2, "ttl": "60d", "bloom": "none"}, "b": {"ttl": "1d"}, "c": {"versions": 5}}


class Tables:
    """A pipeline file with one table, and the `table` commands."""

    def __init__(self, hbase: HBase, protocol: Protocol, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.table = unique("declared")
        self._hbase = hbase
        self._protocol = protocol
        self._capfd = capfd
        self.file = folder / "pipeline.yaml"

    def declare(self, families: dict[str, Any], *, thrift2: bool = True, splits: tuple[str, ...] = ()) -> None:
        content = {
            "version": 1,
            "stores": {"cluster": {"hbase": self._hbase.store_options(self._protocol, thrift2=thrift2)}},
            "tables": {self.table: {"families": families, "splits": list(splits)}},
            "pipelines": {
                "p": {
                    "source": {"files": {"path": "./in"}},
                    "decorators": [{"value": {"attribute": "2hb_", "value": "%{topic}:%{offset}"}}],
                    "sinks": [{"attr2hbase": {"table": self.table}}],
                }
            },
        }
        self.file.write_text(json.dumps(content))

    def run(self, command: str, *options: str) -> tuple[int, dict[str, Any]]:
        """Run a command in this process, which is faster than a new one."""
        return self._main("table", command, str(self.file), *options)

    def text(self, command: str, *options: str) -> tuple[int, str]:
        """The exit code, and both streams, of a command with text as its output."""
        self._capfd.readouterr()
        return main(["table", command, str(self.file), *options]), "".join(self._capfd.readouterr())

    def regions(self, events: Path, *options: str) -> dict[str, Any]:
        """The table's regions, as `keys analyse` shows them."""
        code, found = self._main("admin", "keys", "analyse", "-f", str(self.file), "--events", str(events), *options)
        assert code == 0
        regions: dict[str, Any] = found["tables"][0]["current"]
        return regions

    def _main(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        self._capfd.readouterr()
        code = main([*arguments, "--output", "json"])
        out, err = self._capfd.readouterr()
        assert out, err
        return code, json.loads(out)

    def plan(self) -> tuple[int, list[tuple[Any, ...]]]:
        code, found = self.run("plan")
        return code, [(row["family"], row["what"], row["apply"]) for row in found["differences"]]

    def apply(self, *options: str) -> tuple[int, list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]:
        code, found = self.run("apply", *options)
        done, left = ([(row["family"], row["what"]) for row in found[side]] for side in ("done", "left"))
        return code, done, left, found["commands"]


@pytest.fixture
def tables(hbase: HBase, protocol: Protocol, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Tables:
    return Tables(hbase, protocol, tmp_path, capfd)


def settings_of(hbase: HBase, **options: object) -> HBaseSettings:
    thrift2 = {"host": hbase.host, "port": hbase.thrift2_port}
    return HBaseSettings(**({"host": hbase.host, "port": hbase.port, "timeout": "60s", "thrift2": thrift2} | options))


@pytest.fixture
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore.of(HBaseSettings(timeout="60s", **hbase.store_options(protocol, thrift2=True)))
    made.open()
    yield made
    made.close()


def test_table_is_created_and_altered_and_keeps_its_cells(tables: Tables, store: HBaseStore) -> None:
    tables.declare(FIRST, splits=("g", "p"))
    assert tables.plan() == (4, [(None, "table", "make")])
    assert tables.apply() == (0, [(None, "table")], [], [])
    assert tables.plan() == (0, [])
    a, b = FamilySpec(b"a", versions=3, ttl_s=30 * 86_400), FamilySpec(b"b", compression="gz", bloom="rowcol")
    assert store.describe_table(tables.table) == TableSpec(tables.table, (a, b), (b"g", b"p"))
    store.apply(tables.table, [Put(b"r", {b"b:q": b"old"}, 1)])

    tables.declare(CHANGED, splits=("g",))
    assert tables.plan() == (
        4,
        [
            ("a", "versions", "data_loss"),
            ("a", "ttl", "change"),
            ("a", "bloom", "change"),
            ("b", "ttl", "data_loss"),
            ("b", "compression", "change"),
            ("b", "bloom", "change"),
            ("c", "family", "make"),
            (None, "splits", "nothing"),
        ],
    )
    done = [("a", "ttl"), ("a", "bloom"), ("b", "compression"), ("b", "bloom"), ("c", "family")]
    assert tables.apply() == (4, done, [("a", "versions"), ("b", "ttl")], [])
    row = store.get(tables.table, b"r")
    assert row is not None
    assert row.cells == (Cell(b"b", b"q", 1, b"old"),)
    assert tables.apply("--allow-data-loss") == (0, [("a", "versions"), ("b", "ttl")], [], [])
    assert store.get(tables.table, b"r") is None
    assert tables.apply() == (0, [], [], [])


def test_analysis_of_row_keys_takes_the_regions_of_the_store(tables: Tables, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    given = [{"body": "b", "topic": key, "attributes": {"2hb_a:q": "v"}} for key in ("a", "h", "i", "q")]
    events.write_text("".join(json.dumps(event) + "\n" for event in given))
    tables.declare({"a": {}}, splits=("g", "p"))
    assert tables.apply() == (0, [(None, "table")], [], [])
    tables.declare({"a": {}}, splits=("c",))
    from_file, from_store = tables.regions(events), tables.regions(events, "--connect")
    assert (from_file["from"], from_file["splits"], from_file["writes"]) == ("file", ["c"], [1, 3])
    assert (from_store["from"], from_store["splits"], from_store["writes"]) == ("store", ["g", "p"], [1, 2, 1])


@thrift_only("HBase's native RPC needs no Thrift2 server")
def test_without_thrift2_the_commands_for_the_hbase_shell_are_printed(tables: Tables) -> None:
    table = tables.table
    tables.declare({"a": {}}, thrift2=False, splits=("m",))
    assert tables.plan() == (4, [(None, "table", "by_hand")])
    plain = "COMPRESSION => 'NONE', BLOOMFILTER => 'ROW'"
    create = f"create '{table}', {{NAME => 'a', VERSIONS => 1, {plain}}}, SPLITS => ['m']"
    assert tables.apply() == (4, [], [(None, "table")], [create])

    tables.declare({"a": {"ttl": "1m"}}, thrift2=False)
    assert tables.apply() == (0, [(None, "table")], [], [])

    tables.declare({"a": {"versions": 2}, "b": {}}, thrift2=False)
    left = [("a", "versions"), ("a", "ttl"), ("b", "family")]
    assert tables.plan() == (4, [(family, what, "by_hand") for family, what in left])
    alters = [
        f"alter '{table}', {{NAME => 'b', VERSIONS => 1, {plain}}}",
        f"alter '{table}', {{NAME => 'a', VERSIONS => 2, TTL => 'FOREVER', {plain}}}",
    ]
    assert tables.apply() == (4, [], left, alters)


@pytest.mark.parametrize("thrift2", [True, False])
def test_attributes_that_a_descriptor_of_thrift_has(tables: Tables, protocol: Protocol, *, thrift2: bool) -> None:
    tables.declare({"a": {"attributes": {"IN_MEMORY": True, "BLOCKCACHE": False}}, "b": {}}, thrift2=thrift2)
    assert tables.apply() == (0, [(None, "table")], [], [])
    assert tables.plan() == (0, [])

    attributes = {"IN_MEMORY": False, "BLOCKCACHE": False}
    tables.declare({"a": {"attributes": attributes}, "b": {"attributes": {"IN_MEMORY": True}}}, thrift2=thrift2)
    changed = [("a", "attributes"), ("b", "attributes")]
    if thrift2 or protocol == "rpc":
        assert tables.plan() == (4, [(family, what, "change") for family, what in changed])
        assert tables.apply() == (0, changed, [], [])
        assert tables.plan() == (0, [])
    else:
        assert tables.plan() == (4, [(family, what, "by_hand") for family, what in changed])
        alters = [
            f"alter '{tables.table}', {{NAME => 'a', IN_MEMORY => 'false'}}",
            f"alter '{tables.table}', {{NAME => 'b', IN_MEMORY => 'true'}}",
        ]
        assert tables.apply() == (4, [], changed, alters)


@thrift_only("HBase's native RPC alters tables itself")
def test_without_thrift2_a_command_that_deletes_cells_is_printed_on_request(tables: Tables) -> None:
    tables.declare({"a": {}}, thrift2=False)
    assert tables.apply() == (0, [(None, "table")], [], [])
    tables.declare({"a": {"ttl": "30d"}}, thrift2=False)
    assert tables.plan() == (4, [("a", "ttl", "data_loss")])
    suggested = f"next: attr2hbase table apply -f {tables.file} --allow-data-loss\n"
    alter = f"alter '{tables.table}', {{NAME => 'a', VERSIONS => 1, TTL => 2592000, "
    code, text = tables.text("apply")
    assert (code, suggested in text, alter in text) == (4, True, False)
    code, text = tables.text("apply", "--allow-data-loss")
    assert (code, suggested in text, alter in text) == (4, False, True)


class Descriptors:
    """Complete column family descriptors from the Thrift2 server."""

    def __init__(self, hbase: HBase) -> None:
        settings = settings_of(hbase)
        assert settings.thrift2 is not None
        self._thrift2 = Thrift2(settings, settings.thrift2)
        self._types = thriftpy2.load(
            str(Path(schema.__file__).with_name("thrift2_ddl.thrift")), module_name="attr2hbase_thrift2_ddl_thrift"
        )

    def read(self, table: str, family: bytes) -> dict[str, Any]:
        found: list[Any] = []
        name = self._types.TTableName(qualifier=table.encode())
        self._thrift2._call(lambda client: found.append(client.getTableDescriptor(name)), table)
        (descriptor,) = [one for one in found[0].columns if one.name == family]
        return {field: getattr(descriptor, field) for _, field, *_ in descriptor.thrift_spec.values()}

    def write(self, table: str, family: bytes, **fields: object) -> None:
        described = self.read(table, family) | fields
        name = self._types.TTableName(qualifier=table.encode())
        descriptor = self._types.TColumnFamilyDescriptor(**described)
        self._thrift2._call(lambda client: client.modifyColumnFamily(name, descriptor), table)


SPECIAL = {
    "attributes": {b"NEW_VERSION_BEHAVIOR": b"true", b"OWNER": b"ops \xff"},
    "configuration": {"hbase.hstore.blockingStoreFiles": "30"},
    "blockSize": 32_768,
    "inMemory": True,
    "minVersions": 1,
    "keepDeletedCells": 1,
    "dataBlockEncoding": 4,
    "evictBlocksOnClose": True,
}


def test_attributes_that_the_file_does_not_declare_are_unchanged(hbase: HBase, store: HBaseStore) -> None:
    """Settings of a family by an operator survive a change by attr2hbase."""
    table = unique("special")
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    descriptors = Descriptors(hbase)
    descriptors.write(table, b"f", **SPECIAL)
    before = descriptors.read(table, b"f")
    assert {name: before[name] for name in SPECIAL if name != "attributes"} == {
        name: value for name, value in SPECIAL.items() if name != "attributes"
    }
    store.change_family(table, FamilySpec(b"f", versions=4, ttl_s=3600, compression="gz", bloom="none"))
    after = descriptors.read(table, b"f")
    assert after["attributes"][b"OWNER"] == b"ops \xff"
    changed = {"maxVersions": 4, "timeToLive": 3600, "compressionType": 1, "bloomFilterType": 0}
    counted = {b"VERSIONS": b"4", b"TTL": b"3600", b"COMPRESSION": b"GZ", b"BLOOMFILTER": b"NONE"}
    assert after == before | changed | {"attributes": before["attributes"] | counted}


@pytest.fixture
def framed(hbase: HBase) -> Iterator[int]:
    """Port of a Thrift2 server with framed transport."""
    (port,) = free_ports(1)
    process = ServerProcess("thrift2_framed", hbase.server.folder)
    main = ["org.apache.hadoop.hbase.thrift2.ThriftServer", "-p", str(port), "-b", "127.0.0.1", "-f", "start"]
    process.start(hbase.server.command(*main, heap="256m"))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        process.wait_until(listens, timeout_s=60)
        yield port
    finally:
        process.kill()


@thrift_only("a Thrift2 server is tested")
def test_framed_thrift2_server_changes_nothing(hbase: HBase, store: HBaseStore, framed: int) -> None:
    table = unique("framed")
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"), FamilySpec(b"g"))))
    descriptors = Descriptors(hbase)
    descriptors.write(table, b"g", attributes={b"OWNER": b"ops"})
    settings = settings_of(hbase, transport="framed", thrift2={"host": hbase.host, "port": framed})
    assert settings.thrift2 is not None
    thrift2 = Thrift2(settings, settings.thrift2)
    before = {name: descriptors.read(table, name) for name in (b"f", b"g")}
    thrift2.change_family(table, FamilySpec(b"f", versions=4))
    assert descriptors.read(table, b"f") | {"attributes": None} == before[b"f"] | {"attributes": None, "maxVersions": 4}
    with pytest.raises(SchemaError, match="OWNER") as caught:
        thrift2.change_family(table, FamilySpec(b"g", versions=4))
    assert caught.value.command is not None
    assert descriptors.read(table, b"g") == before[b"g"]
