"""Salted tables in a real HBase: created, refused, written by a pipeline beside an unsalted one, adopted."""

import json
import os
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from ingest.api import BucketsChangedError, BucketsDifferError, FamilySpec, Put, Scan, TableSpec
from ingest.cli import main
from sinks.hbase.records import RECORDS
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.schema_diff import reconcile
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.probing_committer import ProbingCommitter
from sinks.writing.sending import ThreadSender
from tests.support.names import unique
from tests.support.protocols import SLOW_WITH_THRIFT
from tests.support.servers import HBase, Protocol
from tests.support.service import Service

pytestmark = SLOW_WITH_THRIFT

BUCKETS = 16
MAX_CELL_BYTES = 2_000
FAMILIES = {"f": {"versions": 3}, "g": {}}
START_MS = 1_700_000_000_000
LARGE_EVENTS = [{"2hb_": "row-0001", f"2hb_f:{name}": name * size} for name, size in (("a", 1), ("b", 2_000), ("c", 1))]
"""Of one row; the store refuses the second one."""


def events() -> list[dict[str, Any]]:
    """Puts of several versions and deletes of 150 rows, in a random order; some keys are prefixes of others."""
    chosen = random.Random(17)
    keys = [f"row-{number}" for number in range(150)]
    made: list[dict[str, Any]] = []
    for number in range(900):
        at = START_MS + 10 * number
        op = chosen.choices(["put", "row", "family", "column"], [20, 1, 1, 1])[0]
        cells = {"2hb_f:a": number, f"2hb_f:{chosen.choice('xyz')}": at}
        made.append({"row": chosen.choice(keys), "at": at, "op": op} | cells)
    return made


@dataclass(frozen=True)
class Tables:
    """
    A pipeline file and its tables.

    Attributes:
        salted, plain: a pipeline writes the same events into both.
        large: salted; a pipeline without deletes writes the events of one row into it.
        other: has rows in 8 buckets.
    """

    hbase: HBase
    protocol: Protocol
    service: Service
    salted: str
    plain: str
    large: str
    other: str

    def write(self, *, other: int, max_cell_bytes: int = MAX_CELL_BYTES) -> None:
        """Write the file, with a number of buckets for the other table."""
        hbase = self.hbase
        options = hbase.store_options(self.protocol, thrift2=True) | {"max_cell_bytes": f"{max_cell_bytes}B"}
        self.service.write(
            {
                "stores": {"cluster": {"hbase": options}},
                "tables": {
                    self.salted: {"families": FAMILIES, "distribute": {"hash": BUCKETS}},
                    self.plain: {"families": FAMILIES},
                    self.large: {"families": {"f": {}}, "distribute": {"hash": BUCKETS}},
                    self.other: {"families": {"f": {}}, "distribute": {"hash": other}},
                },
                "pipelines": {
                    "both": {
                        "source": {"files": {"path": "./in/both"}},
                        "decorators": [
                            {"json": {}},
                            {"timestamp": {"source": "at", "formats": ["epoch_ms"]}},
                            {"rename": {"attributes": {"row": "2hb_", "op": "2hb_g:op"}}},
                        ],
                        "sinks": [sink("to_salted", self.salted), sink("to_plain", self.plain)],
                    },
                    "large": {
                        "source": {"files": {"path": "./in/large"}},
                        "decorators": [{"json": {}}],
                        "sinks": [{"attr2hbase": {"table": self.large}}],
                    },
                    "refused": {
                        "source": {"files": {"path": "./in/large"}},
                        "decorators": [{"json": {}}],
                        "sinks": [{"attr2hbase": {"table": self.other}}],
                    },
                },
            }
        )


def sink(label: str, table: str) -> dict[str, Any]:
    deletes = {"row": "row", "family": {"family": "g"}, "column": {"column": "f:a"}}
    rules = [{"when": f"%{{'2hb_g:op'}} == '{op}'", "delete": what} for op, what in deletes.items()]
    return {"attr2hbase": {"label": label, "table": table, "timestamp": "event", "rules": rules}}


@pytest.fixture(scope="module")
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore.of(HBaseSettings(timeout="60s", **hbase.store_options(protocol, thrift2=True)))
    made.open()
    yield made
    made.close()


@pytest.fixture(scope="module")
def tables(
    hbase: HBase, protocol: Protocol, store: HBaseStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tables]:
    """Created with `table apply`, and written by one run, in which the other pipeline was refused."""
    folder = tmp_path_factory.mktemp("salted")
    for name, content in (("both", events()), ("large", LARGE_EVENTS)):
        path = folder / "in" / name / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(event) + "\n" for event in content))
        os.utime(path, (START_MS / 1_000, START_MS / 1_000))
    with Service(folder, {}) as service:
        made = Tables(hbase, protocol, service, *map(unique, ("salted", "plain", "large", "other")))
        made.write(other=8)
        assert main(["table", "apply", str(service.file)]) == 0
        store.apply(made.other, [Put(Distribution(8).physical(b"r"), {b"f:q": b"v"}, 1)])
        made.write(other=BUCKETS)
        assert service.run_once() == 4, service.last_lines()
        yield made


@pytest.fixture
def ingest(tables: Tables, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Run a command on the pipeline file in this process; its exit code, output and messages."""
    monkeypatch.chdir(tables.service.folder)

    def run(command: str, *arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main([*command.split(), "-f", str(tables.service.file), *arguments])
        return code, *capfd.readouterr()

    return run


def test_table_is_created_with_a_region_for_each_bucket(tables: Tables, store: HBaseStore) -> None:
    described = store.describe_table(tables.salted)
    assert described is not None
    assert (described.buckets, described.splits) == (BUCKETS, Distribution(BUCKETS).splits())
    assert store.buckets(tables.plain) is None
    assert "attr2hbase" not in store.tables()


def test_other_number_of_buckets_is_refused_while_the_table_has_rows(tables: Tables, ingest) -> None:
    code, out, _ = ingest("table apply", "--output", "json")
    [left] = json.loads(out)["left"]
    assert (code, left["table"], left["declared"], left["found"], left["apply"]) == (
        4,
        tables.other,
        BUCKETS,
        8,
        "new_table",
    )
    tables.write(other=8)
    code, out, err = ingest("table apply")
    tables.write(other=BUCKETS)
    assert (code, out, err) == (0, "", "all tables are as declared\n")


def test_run_with_another_number_of_buckets_names_both(tables: Tables) -> None:
    [line] = [line for line in tables.service.lines() if "distribute" in json.dumps(line)]
    assert "has `distribute: {hash: 8}`, but the file says that it has `distribute: {hash: 16}`" in json.dumps(line)
    assert tables.service.checkpoint("both").commits() == [0]
    assert tables.service.checkpoint("refused").commits() == []


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--reverse"],
        ["--limit", "7"],
        ["--limit", "7", "--reverse"],
        ["--versions", "3"],
        ["--columns", "f:x,g", "--versions", "2"],
        ["--start", "row-14", "--stop", "row-30"],
        ["--start", "row-14", "--stop", "row-30", "--reverse", "--limit", "5"],
        ["--fuzzy", "row-1?5"],
        ["--after", "row-5", "--limit", "3"],
    ],
    ids=" ".join,
)
def test_scan_equals_that_of_the_unsalted_table(tables: Tables, ingest, options: list[str]) -> None:
    salted, plain = (ingest("scan", table, "--output", "json", *options) for table in (tables.salted, tables.plain))
    assert (salted[:2], salted[0]) == (plain[:2], 0)
    assert len(plain[1].splitlines()) >= 3


def test_rows_are_stored_in_their_buckets(tables: Tables, store: HBaseStore) -> None:
    stored = [row.key for row in store.scan(tables.salted, Scan())]
    logicals = [row.key for row in store.scan(tables.plain, Scan())]
    assert sorted(map(Distribution(BUCKETS).physical, logicals)) == stored
    assert {key[0] for key in stored} == set(range(BUCKETS))


def test_refused_event_of_a_row_is_the_only_dead_letter(tables: Tables, ingest) -> None:
    get = ("get", tables.large, "row-0001", "--output", "json")
    code, out, _ = ingest("dead-letters list", "--pipeline", "large", "--output", "json")
    [dead_letter] = map(json.loads, out.splitlines())
    first = json.dumps(LARGE_EVENTS[0]) + "\n"
    assert (code, dead_letter["code"], dead_letter["record"]["offset"]) == (0, "write_rejected", len(first))
    assert columns_of(ingest(*get)) == ["a", "c"]

    tables.write(other=BUCKETS, max_cell_bytes=10 * MAX_CELL_BYTES)
    code, out, err = ingest("dead-letters replay", "--pipeline", "large", "--output", "json")
    assert (code, json.loads(out)["replayed"]) == (0, 1), err
    assert columns_of(ingest(*get)) == ["a", "b", "c"]
    code, out, _ = ingest("admin dead-letters purge", "--pipeline", "large", "--replayed", "--yes", "--output", "json")
    assert (code, json.loads(out)) == (0, {"selected": 1, "deleted": 1})


def columns_of(result: tuple[int, str, str]) -> list[str]:
    code, out, err = result
    assert code == 0, err
    return [qualifier for family, qualifier, *_ in json.loads(out)["cells"] if family == "f"]


def test_table_of_hbasewd_is_adopted(tables: Tables, store: HBaseStore, ingest) -> None:
    written = unique("hbasewd")
    store.ensure_table(TableSpec(written, (FamilySpec(b"f"),)))
    logicals = [b"row-%03d" % number for number in range(200)]
    store.apply(written, [Put(Distribution(10).physical(key), {b"f:q": key}, 1) for key in logicals])
    tables.write(other=8)
    content = json.loads(tables.service.file.read_text())
    for buckets, recorded in ((9, None), (10, 10)):
        declared = {"families": {"f": {}}, "distribute": {"hash": buckets}}
        tables.service.write({**content, "tables": {**content["tables"], written: declared}})
        code, _, err = ingest("table apply", "--adopt", written)
        assert (code, "has the row key" in err, store.buckets(written)) == (
            0 if recorded else 4,
            not recorded,
            recorded,
        )
    code, out, _ = ingest("scan", written, "--output", "json")
    assert [json.loads(line)["row"] for line in out.splitlines()] == [key.decode() for key in logicals]


def written(sender: ThreadSender, table: str, key: bytes) -> None:
    """A flush cycle of one row, of a table that is declared with 4 buckets."""
    sender.begin(60.0, CycleTables({table: RowFormat(4)}))
    sender.submit(Chunk(table, [Put(key, {b"f:q": b"v"}, 1)]))
    sender.wait()


def test_table_without_its_record_is_not_written_until_it_is_adopted(hbase: HBase, store: HBaseStore) -> None:
    spec = TableSpec(unique("lost"), (FamilySpec(b"f"),), buckets=4)
    store.ensure_table(spec)
    with closing(ThreadSender(HBaseStore.of(store.settings))) as sender:
        written(sender, spec.name, b"a")
        with hbase.connection() as connection:
            connection.table(RECORDS).delete(spec.name.encode())
        with pytest.raises(BucketsChangedError):
            written(sender, spec.name, b"b")
        reconcile(store, spec, allow_data_loss=False, adopt=True)
        written(sender, spec.name, b"b")
    assert [row.key for row in store.scan(spec.name, Scan())] == sorted(map(Distribution(4).physical, (b"a", b"b")))


def test_service_that_declares_no_buckets_keeps_the_record(store: HBaseStore) -> None:
    table = unique("kept")
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"),), buckets=4))
    declared = {table: TableSpec(table, (FamilySpec(b"f"),))}
    with closing(DriverStore(HBaseStore.of(store.settings))) as driver:
        FamilyRegistry(driver, declared, {None: 1}, {}).create(table, [b"g"])
    assert (store.families(table), store.buckets(table)) == (frozenset({b"f", b"g"}), 4)
    committer = ProbingCommitter(lambda: ThreadSender(HBaseStore.of(store.settings)), declared=declared)
    with closing(committer), pytest.raises(BucketsDifferError):
        committer.recover()


def test_alias_of_a_table_has_its_record(store: HBaseStore) -> None:
    table = unique("alias")
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"),), buckets=4))
    assert (store.buckets(f"default:{table}"), store.families(f"default:{RECORDS}")) == (4, None)
