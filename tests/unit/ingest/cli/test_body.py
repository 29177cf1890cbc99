"""`ingest body`, on an embedded store."""

import hashlib
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import ingest as product
from ingest.api import ConfigError, Delete, FamilySpec, Put, Scan, TableSpec
from ingest.clock import now_ms
from ingest.spark.datasource.source import TableDataSource
from sinks.bodies.body_store import BodyStore
from sinks.bodies.errors import BodiesElsewhereError
from sinks.bodies.large_values import LargeValues
from sinks.bodies.moving import BodyMovingStore, MovedCounts
from sinks.bodies.options import BodyOptions
from sinks.bodies.pointers import cell_reference
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

FILE = """\
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {rocksdb: {rocksdb: {path: ./data}}}
tables:
  events:
    families: {f: {}}
    bodies: {OPTIONS}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [{value: {attribute: 2hb_, value: '%{topic}-%{offset}'}}, {value: {attribute: '2hb_f:q', value: v}}]
    sinks: [{attr2hbase: {table: events}}]
"""
BODY = bytes(range(256)) * 10
ID = hashlib.sha256(BODY).hexdigest()
DAY_MS = 24 * 3_600_000


@pytest.fixture
def file(folder: Path) -> Path:
    """A pipeline file whose table has a body store with blocks of 1,000 bytes."""
    path = folder / "p.yaml"
    path.write_text(FILE.replace("OPTIONS", "block_size: 1KB"))
    (folder / "body.bin").write_bytes(BODY)
    return path


@pytest.fixture
def body(ingest, file):
    """Runs a command of the group; the body is stored."""
    assert ingest("body", "put", "p.yaml", "events", "body.bin").code == 0

    def run(verb: str, *arguments: object):
        return ingest("body", verb, "p.yaml", "events", *arguments)

    return run


def test_body_is_stored_once_and_shown(ingest, file):
    put = ("body", "put", "p.yaml", "events", "body.bin", "--output", "json")
    for is_new in (True, False):
        assert ingest(*put, "--reference", "a\\xff").json == {
            "table": "events", "id": ID, "length": 2560, "is_new": is_new
        }  # fmt: skip
    stat = ingest("body", "stat", "p.yaml", "events", ID.upper(), "--output", "json").json
    assert {name: stat[name] for name in ("id", "state", "length", "blocks", "block_bytes", "references")} == {
        "id": ID,
        "state": "stored",
        "length": 2560,
        "blocks": 3,
        "block_bytes": 1000,
        "references": [{"b64": "Yf8="}],
    }
    result = ingest("body", "stat", "p.yaml", "events", ID)
    assert "blocks        3, each 1000 bytes, compression none\n" in result.out
    assert "  a\\xFF\n" in result.out
    result = ingest("body", "put", "p.yaml", "events", "body.bin")
    assert (result.out, "2,560 bytes were stored already" in result.err) == (f"{ID}\n", True)


def test_body_is_read_to_a_file(body, folder):
    (folder / "copy.part").write_bytes(b"of the user")
    assert body("get", ID, "--to", "copy").code == 0
    assert (folder / "copy").read_bytes() == BODY
    result = body("get", ID, "--to", "copy", "--offset", 990, "--length", 20, "--output", "json")
    assert result.json == {"id": ID, "path": "copy", "bytes": 20}
    assert (folder / "copy").read_bytes() == BODY[990:1010]
    assert sorted(path.name for path in folder.iterdir()) == ["body.bin", "copy", "copy.part", "data", "p.yaml"]
    assert (folder / "copy.part").read_bytes() == b"of the user"
    refused = body("get", ID, "--to", "none/copy")
    assert (refused.code, 'cannot write "none/copy"' in refused.err) == (3, True)


def test_2c2_body_is_copied_through_stdin_and_stdout(file, folder):
    def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "ingest", "body", *arguments]
        environment = {"PYTHONPATH": str(Path(product.__file__).parents[1]), "NO_COLOR": "1"}
        return subprocess.run(command, input=stdin, capture_output=True, check=True, env=environment)

    assert run("put", "p.yaml", "events", "-", stdin=BODY).stdout == f"{ID}\n".encode()
    assert run("get", "p.yaml", "events", ID).stdout == BODY
    assert run("put", "p.yaml", "events", "-").stdout == f"{hashlib.sha256().hexdigest()}\n".encode()
    done = run("get", "p.yaml", "events", hashlib.sha256().hexdigest())
    assert (done.returncode, done.stdout) == (0, b"")


def test_2c5_wrong_hash_stores_nothing(ingest, file):
    result = ingest("body", "put", "p.yaml", "events", "body.bin", "--sha256", "00" * 32)
    assert (result.code, "not 0000" in result.err) == (2, True)
    assert ingest("body", "stat", "p.yaml", "events", ID).code == 3
    assert ingest("body", "put", "p.yaml", "events", "body.bin", "--sha256", ID).code == 0


def test_references(body):
    for verb, code in (("mark", 0), ("mark", 0), ("unmark", 0), ("unmark", 3)):
        result = body(verb, ID, "report\\x00", "--output", "json")
        assert result.code == code
        if not code:
            assert result.json == {"table": "events", "id": ID, "reference": "report\\x00"}
    assert body("mark", "11" * 32, "report").code == 3
    assert body("mark", "xyz", "report").code == 2


def test_stat_shows_since_when_a_body_is_unreferenced(body):
    since_ms = body("stat", ID, "--output", "json").json["unreferenced_since_ms"]
    assert abs(now_ms() - since_ms) < DAY_MS
    assert "references    0, since 20" in body("stat", ID).out
    body("mark", ID, "report")
    assert body("stat", ID, "--output", "json").json["unreferenced_since_ms"] is None
    assert "references    1\n" in body("stat", ID).out


def test_offset_behind_the_end_is_refused(body, folder):
    result = body("get", ID, "--offset", 2561, "--to", "copy")
    assert (result.code, "--offset 2561 is behind the end of the body, which has 2,560 bytes" in result.err) == (
        2,
        True,
    )
    assert not (folder / "copy").exists()
    assert (body("get", ID, "--offset", 2560, "--to", "copy").code, (folder / "copy").read_bytes()) == (0, b"")


@pytest.mark.parametrize("verb", ["sweep", "mark", "unmark", "fsck"])
def test_only_put_creates_a_store(ingest, file, folder, verb):
    arguments = {"sweep": (), "fsck": ("--repair",)}.get(verb, (ID, "report"))
    result = ingest("body", verb, "p.yaml", "events", *arguments)
    assert (result.code, 'there is no store at "' in result.err) == (3, True), result.err
    assert not (folder / "data").exists()
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    result = ingest("body", verb, "p.yaml", "events", *arguments)
    assert (result.code, 'there is no table "events_bodies_meta"' in result.err) == (3, True), result.err
    assert "events_bodies_meta" not in ingest("scan", "p.yaml", "absent").err


def test_hint_beside_a_process_that_holds_the_store(body):
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        result = body("put", "body.bin")
    assert (result.code, "by process" in result.err) == (4, True)
    assert "hint: stop that process, or wait for its end, then run this command again: only" in result.err
    assert "reload" not in result.err


def test_stat_shows_the_cell_of_a_reference(ingest, body):
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        bodies = BodyStore(store, "events_bodies", BodyOptions())
        for row in (b"a", b"key\xff"):
            bodies.mark_cell(bytes.fromhex(ID), cell_reference(row, b"f:large"))
    body("mark", ID, "report")
    assert "  \\x00\\x00\\x04key\\xFFf:large  row key\\xFF, column f:large\n" in body("stat", ID).out
    shown = body("stat", ID, "--output", "json").json
    assert (shown["references"][0], shown["references"][2]) == ("\x00\x00\x01af:large", "report")
    assert shown["cells"] == [
        {"row": "a", "column": "f:large"},
        {"row": {"b64": "a2V5/w=="}, "column": "f:large"},
    ]


def test_sweep_prints_what_it_deletes(ingest, file):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    two_days_ago_ms = now_ms() - 2 * DAY_MS
    bodies = BodyStore(store, "events_bodies", BodyOptions(block_bytes=1000), clock_ms=lambda: two_days_ago_ms)
    bodies.prepare()
    bodies.put_bytes(BODY)
    store.close()
    assert ingest("body", "put", "p.yaml", "events", "p.yaml").code == 0  # is unreferenced since now
    sweep = ("body", "sweep", "p.yaml", "events")
    swept = {
        "table": "events",
        "bodies": 2,
        "referenced": 0,
        "unreferenced": 1,
        "named": 0,
        "storing": 0,
        "dropped": 0,
        "purged": 1,
        "purged_bytes": 2560,
        "forgotten": 0,
        "changed": 0,
        "named_by": {},
        "ids": [ID],
        "named_ids": [],
    }
    assert ingest(*sweep, "--dry-run", "--output", "json").json == swept | {"dry_run": True}
    result = ingest(*sweep, "--dry-run")
    assert (result.out, "next: ingest body sweep p.yaml events" in result.err) == (f"{ID}\n", True)
    assert ingest(*sweep, "--output", "json").json == swept | {"dry_run": False}
    result = ingest("body", "get", "p.yaml", "events", ID)
    assert (result.code, "was swept" in result.err) == (3, True)


def test_2c13_damaged_body(body, folder):
    result = body("fsck")
    assert result.code == 0
    assert "1 body and 3 blocks read: no body is damaged; 0 other findings\n" in result.err
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    row = list(store.scan("events_bodies_value", Scan()))[1]
    data = row.cells[1]
    store.apply("events_bodies_value", [Put(row.key, {b"b:d": data.value[:-1] + b"?"}, data.timestamp_ms)])
    store.close()
    (folder / "copy").write_bytes(b"before")
    result = body("get", ID, "--to", "copy")
    assert (result.code, "block 1 is damaged" in result.err) == (5, True)
    assert (folder / "copy").read_bytes() == b"before"
    result = body("fsck", "--output", "json")
    found = {"kind": "damaged_block", "body": ID, "block": 1, "detail": "its checksum differs"}
    counts = {"bodies": 1, "blocks": 3, "damaged": 1, "others": 0}
    assert (result.code, result.json) == (
        5,
        {"table": "events", **counts, "earlier_topics": {}, "findings": [found]},
    )
    result = body("fsck", "--repair")
    assert f"{ID} block 1: damaged block: its checksum differs\n" in result.out
    assert "1 body and 3 blocks read: 1 finding of damage; 0 other findings\n" in result.err


def test_2c13_missing_block(body, folder):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    row = list(store.scan("events_bodies_value", Scan()))[2]
    store.apply("events_bodies_value", [Delete(row.key, row.cells[0].timestamp_ms)])
    store.close()
    result = body("get", ID, "--to", "copy")
    assert (result.code, "block 2 is missing" in result.err) == (5, True), result.err
    assert not (folder / "copy").exists()
    result = body("fsck", "--output", "json")
    (found,) = result.json["findings"]
    assert (result.code, found["kind"], found["body"], found["block"]) == (5, "missing_block", ID, 2)
    assert (result.json["bodies"], result.json["blocks"]) == (1, 2)


def test_2c14_changed_option_is_refused(body, file):
    file.write_text(FILE.replace("OPTIONS", "block_size: 2KB"))
    result = body("put", "body.bin")
    assert result.code == 2
    assert '"block_size":1000' in result.err
    assert '"block_size":2000' in result.err
    assert body("stat", ID).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("put", "p.yaml", "absent", "body.bin"), 3, 'the file declares no table "absent"'),
        (("stat", "p.yaml", "absent", ID), 3, "hint: tables with `bodies`: events\n"),
        (("stat", "p.yaml", "event", ID), 3, 'did you mean "events"?'),
        (("put", "p.yaml", "plain", "body.bin"), 2, 'table "plain" has no body store\n  hint: add `bodies: {}` to it'),
        (("sweep", "p.yaml", "events_bodies_meta"), 2, 'belongs to the one of table "events"\n  hint: name "events"\n'),
        (("put", "p.yaml", "events", "absent.bin"), 3, '/absent.bin": No such file'),
        (("put", "p.yaml", "events", "."), 3, "Is a directory"),
        (("get", "p.yaml", "events", ID, "--output", "json"), 2, "name a file with --to"),
        (("get", "p.yaml", "events", "11" * 32), 3, "there is no body"),
        (("get", "p.yaml", "events", ID, "--to", "absent/copy"), 3, 'cannot write "absent/copy"'),
    ],
)
def test_wrong_arguments(ingest, body, arguments, code, said):
    result = ingest("body", *arguments)
    assert (result.code, said in result.err) == (code, True), result.err


def test_large_values_are_shown_on_request(ingest, file):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    for table in ("events", "plain"):
        store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_bodies", BodyOptions(block_bytes=1000), 100)}
    BodyMovingStore(store, rules, MovedCounts()).apply(
        "events", [Put(b"r", {b"f:large": b"v" * 2_000, b"f:small": b"1"}, 5)]
    )
    store.close()
    for command in (("get", "p.yaml", "events", "r"), ("scan", "p.yaml", "events")):
        pointer, small = ingest(*command, "--output", "json").json["cells"]
        assert '"length":2000' in pointer[3]
        assert small == ["f", "small", 5, "1"]
        large, small = ingest(*command, "--output", "json", "--bodies").json["cells"]
        assert (large, small) == (["f", "large", 5, "v" * 2_000], ["f", "small", 5, "1"])
    # the data source of Spark, as a task reads it
    for options, first in (({}, b"\x00BP\x01"), ({"bodies": "true"}, b"vvvv")):
        source = TableDataSource({"config": str(file), "table": "events", **options})
        reader = source.reader(source.schema())
        (row,) = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
        cells = dict(row["cells"])
        assert (cells["f:large"][:4], cells["f:small"]) == (first, b"1")
    plain = TableDataSource({"config": str(file), "table": "plain", "bodies": "true"})
    with pytest.raises(ConfigError, match="no body store"):
        plain.reader(plain.schema()).partitions()
    for table in ("plain", "events_bodies_meta"):
        result = ingest("scan", "p.yaml", table, "--bodies")
        assert (result.code, "has no body store" in result.err) == (2, True)
    assert 'hint: name "events"\n' in result.err


def test_file_without_tables_says_how_to_declare_one(ingest, folder):
    content = (
        "version: 1\nstores: {s: memory}\npipelines:\n"
        '  p: {source: {files: {path: ./in}}, decorators: [{value: {attribute: "2hb_", value: "%{body}"}}], '
        "sinks: [{attr2hbase: {table: events}}]}\n"
    )
    (folder / "without.yaml").write_text(content)
    result = ingest("body", "stat", "without.yaml", "events", ID)
    assert (result.code, "declare it, as in tables: {events: {bodies: {}}}" in result.err) == (3, True), result.err


def test_changed_name_is_refused(ingest, file, folder):
    """Pointers in the rows of the table would find no body."""
    (folder / "a.log").write_text("")
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_bodies", BodyOptions(block_bytes=1000), 100)}
    BodyMovingStore(store, rules, MovedCounts()).apply("events", [Put(b"r", {b"f:q": BODY}, 5)])
    store.close()
    file.write_text(FILE.replace("OPTIONS", "block_size: 1KB, name: renamed"))
    reader = TableDataSource({"config": str(file), "table": "events", "bodies": "true"})
    for command in (
        ("validate", "p.yaml", "--connect"),
        ("body", "put", "p.yaml", "events", "body.bin"),
        ("body", "sweep", "p.yaml", "events"),
        ("body", "sweep", "p.yaml", "events", "--dry-run"),
        ("body", "fsck", "p.yaml", "events"),
        ("body", "stat", "p.yaml", "events", ID),
        ("get", "p.yaml", "events", "r", "--bodies"),
        ("scan", "p.yaml", "events", "--bodies"),
    ):
        result = ingest(*command)
        said = 'are in the body store "events_bodies", but the file declares "renamed"'
        assert (command, result.code, said in result.err + result.out) == (command, 4, True), result.err
    found = reader.reader(reader.schema())
    with pytest.raises(BodiesElsewhereError):
        [list(found.read(part)) for part in found.partitions()]
    assert ingest("scan", "p.yaml", "events").code == 0
    file.write_text(FILE.replace("OPTIONS", "block_size: 1KB"))
    for command in (("validate", "p.yaml", "--connect"), ("scan", "p.yaml", "events", "--bodies")):
        assert ingest(*command).code == 0
