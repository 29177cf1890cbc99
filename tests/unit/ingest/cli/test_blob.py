"""`attr2hbase blob`, on an embedded store."""

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
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobsElsewhereError
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import cell_reference
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

FILE = """\
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {rocksdb: {rocksdb: {path: ./data}}}
tables:
  events:
    families: {f: {}}
    blobs: {OPTIONS}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [{value: {attribute: 2hb_, value: '%{topic}-%{offset}'}}, {value: {attribute: '2hb_f:q', value: v}}]
    sinks: [{attr2hbase: {table: events}}]
"""
BLOB = bytes(range(256)) * 10
ID = hashlib.sha256(BLOB).hexdigest()
DAY_MS = 24 * 3_600_000


@pytest.fixture
def file(folder: Path) -> Path:
    """A pipeline file whose table has a blob store with blocks of 1,000 bytes."""
    path = folder / "p.yaml"
    path.write_text(FILE.replace("OPTIONS", "block_size: 1KB"))
    (folder / "blob.bin").write_bytes(BLOB)
    return path


def of_blobs(verb: str) -> list[str]:
    """The words of a command."""
    return [*["admin"] * (verb in {"sweep", "check"}), "blob", verb]


@pytest.fixture
def blob(ingest, file):
    """Runs a command of the group; the blob is stored."""
    assert ingest("blob", "put", "-f", "p.yaml", "events", "blob.bin").code == 0

    def run(verb: str, *arguments: object):
        return ingest(*of_blobs(verb), "-f", "p.yaml", "events", *arguments)

    return run


def test_blob_is_stored_once_and_shown(ingest, file):
    put = ("blob", "put", "-f", "p.yaml", "events", "blob.bin", "--output", "json")
    for is_new in (True, False):
        assert ingest(*put, "--reference", "a\\xff").json == {
            "table": "events", "id": ID, "length": 2560, "is_new": is_new
        }  # fmt: skip
    stat = ingest("blob", "stat", "-f", "p.yaml", "events", ID.upper(), "--output", "json").json
    assert {name: stat[name] for name in ("id", "state", "length", "blocks", "block_bytes", "references")} == {
        "id": ID,
        "state": "stored",
        "length": 2560,
        "blocks": 3,
        "block_bytes": 1000,
        "references": [{"b64": "Yf8="}],
    }
    result = ingest("blob", "stat", "-f", "p.yaml", "events", ID)
    assert "blocks        3, each 1000 bytes, compression none\n" in result.out
    assert "  a\\xFF\n" in result.out
    result = ingest("blob", "put", "-f", "p.yaml", "events", "blob.bin")
    assert (result.out, "2,560 bytes were stored already" in result.err) == (f"{ID}\n", True)


def test_blob_is_read_to_a_file(blob, folder):
    (folder / "copy.part").write_bytes(b"of the user")
    assert blob("get", ID, "--to", "copy").code == 0
    assert (folder / "copy").read_bytes() == BLOB
    result = blob("get", ID, "--to", "copy", "--offset", 990, "--length", 20, "--output", "json")
    assert result.json == {"id": ID, "path": "copy", "bytes": 20}
    assert (folder / "copy").read_bytes() == BLOB[990:1010]
    assert sorted(path.name for path in folder.iterdir()) == ["blob.bin", "copy", "copy.part", "data", "p.yaml"]
    assert (folder / "copy.part").read_bytes() == b"of the user"
    refused = blob("get", ID, "--to", "none/copy")
    assert (refused.code, 'cannot write "none/copy"' in refused.err) == (3, True)


def test_2c2_blob_is_copied_through_stdin_and_stdout(file, folder):
    def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "ingest", "blob", *arguments]
        environment = {"PYTHONPATH": str(Path(product.__file__).parents[1]), "NO_COLOR": "1"}
        return subprocess.run(command, input=stdin, capture_output=True, check=True, env=environment)

    assert run("put", "-f", "p.yaml", "events", "-", stdin=BLOB).stdout == f"{ID}\n".encode()
    assert run("get", "-f", "p.yaml", "events", ID).stdout == BLOB
    assert run("put", "-f", "p.yaml", "events", "-").stdout == f"{hashlib.sha256().hexdigest()}\n".encode()
    done = run("get", "-f", "p.yaml", "events", hashlib.sha256().hexdigest())
    assert (done.returncode, done.stdout) == (0, b"")


def test_2c5_wrong_hash_stores_nothing(ingest, file):
    result = ingest("blob", "put", "-f", "p.yaml", "events", "blob.bin", "--sha256", "00" * 32)
    assert (result.code, "not 0000" in result.err) == (2, True)
    assert ingest("blob", "stat", "-f", "p.yaml", "events", ID).code == 3
    assert ingest("blob", "put", "-f", "p.yaml", "events", "blob.bin", "--sha256", ID).code == 0


def test_references(blob):
    for verb, code in (("pin", 0), ("pin", 0), ("unpin", 0), ("unpin", 3)):
        result = blob(verb, ID, "report\\x00", "--output", "json")
        assert result.code == code
        if not code:
            assert result.json == {"table": "events", "id": ID, "reference": "report\\x00"}
    assert blob("pin", "11" * 32, "report").code == 3
    assert blob("pin", "xyz", "report").code == 2


def test_stat_shows_since_when_a_blob_is_unreferenced(blob):
    since_ms = blob("stat", ID, "--output", "json").json["unreferenced_since_ms"]
    assert abs(now_ms() - since_ms) < DAY_MS
    assert "references    0, since 20" in blob("stat", ID).out
    blob("pin", ID, "report")
    assert blob("stat", ID, "--output", "json").json["unreferenced_since_ms"] is None
    assert "references    1\n" in blob("stat", ID).out


def test_offset_behind_the_end_is_refused(blob, folder):
    result = blob("get", ID, "--offset", 2561, "--to", "copy")
    assert (result.code, "--offset 2561 is behind the end of the blob, which has 2,560 bytes" in result.err) == (
        2,
        True,
    )
    assert not (folder / "copy").exists()
    assert (blob("get", ID, "--offset", 2560, "--to", "copy").code, (folder / "copy").read_bytes()) == (0, b"")


@pytest.mark.parametrize("verb", ["sweep", "pin", "unpin", "check"])
def test_only_put_creates_a_store(ingest, file, folder, verb):
    arguments = {"sweep": (), "check": ("--repair",)}.get(verb, (ID, "report"))
    result = ingest(*of_blobs(verb), "-f", "p.yaml", "events", *arguments)
    assert (result.code, 'there is no store at "' in result.err) == (3, True), result.err
    assert not (folder / "data").exists()
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    result = ingest(*of_blobs(verb), "-f", "p.yaml", "events", *arguments)
    assert (result.code, 'there is no table "events_blobs_meta"' in result.err) == (3, True), result.err
    assert "events_blobs_meta" not in ingest("scan", "-f", "p.yaml", "absent").err


def test_hint_beside_a_process_that_holds_the_store(blob):
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        result = blob("put", "blob.bin")
    assert (result.code, "by process" in result.err) == (4, True)
    assert "hint: stop that process, or wait for its end, then run this command again: only" in result.err
    assert "reload" not in result.err


def test_stat_shows_the_cell_of_a_reference(ingest, blob):
    with closing(RocksDBStore(RocksDBSettings(path="./data"))) as store:
        store.open()
        blobs = BlobStore(store, "events_blobs", BlobOptions())
        for row in (b"a", b"key\xff"):
            blobs.pin_cell(bytes.fromhex(ID), cell_reference(row, b"f:large"))
    blob("pin", ID, "report")
    assert "  \\x00\\x00\\x04key\\xFFf:large  row key\\xFF, column f:large\n" in blob("stat", ID).out
    shown = blob("stat", ID, "--output", "json").json
    assert (shown["references"][0], shown["references"][2]) == ("\x00\x00\x01af:large", "report")
    assert shown["cells"] == [
        {"row": "a", "column": "f:large"},
        {"row": {"b64": "a2V5/w=="}, "column": "f:large"},
    ]


def test_sweep_prints_what_it_deletes(ingest, file):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    two_days_ago_ms = now_ms() - 2 * DAY_MS
    blobs = BlobStore(store, "events_blobs", BlobOptions(block_bytes=1000), clock_ms=lambda: two_days_ago_ms)
    blobs.prepare()
    blobs.put_bytes(BLOB)
    store.close()
    assert ingest("blob", "put", "-f", "p.yaml", "events", "p.yaml").code == 0  # is unreferenced since now
    sweep = ("admin", "blob", "sweep", "-f", "p.yaml", "events")
    swept = {
        "table": "events",
        "blobs": 2,
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
    assert (result.out, "next: attr2hbase admin blob sweep -f p.yaml events" in result.err) == (f"{ID}\n", True)
    assert ingest(*sweep, "--output", "json").json == swept | {"dry_run": False}
    result = ingest("blob", "get", "-f", "p.yaml", "events", ID)
    assert (result.code, "was swept" in result.err) == (3, True)


def test_2c13_damaged_blob(blob, folder):
    result = blob("check")
    assert result.code == 0
    assert "1 blob and 3 blocks read: no blob is damaged; 0 other findings\n" in result.err
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    row = list(store.scan("events_blobs_value", Scan()))[1]
    data = row.cells[1]
    store.apply("events_blobs_value", [Put(row.key, {b"b:d": data.value[:-1] + b"?"}, data.timestamp_ms)])
    store.close()
    (folder / "copy").write_bytes(b"before")
    result = blob("get", ID, "--to", "copy")
    assert (result.code, "block 1 is damaged" in result.err) == (5, True)
    assert (folder / "copy").read_bytes() == b"before"
    result = blob("check", "--output", "json")
    found = {"kind": "damaged_block", "blob": ID, "block": 1, "detail": "its checksum differs"}
    counts = {"blobs": 1, "blocks": 3, "damaged": 1, "others": 0}
    assert (result.code, result.json) == (
        5,
        {"table": "events", **counts, "earlier_topics": {}, "findings": [found]},
    )
    result = blob("check", "--repair")
    assert f"{ID} block 1: damaged block: its checksum differs\n" in result.out
    assert "1 blob and 3 blocks read: 1 finding of damage; 0 other findings\n" in result.err


def test_2c13_missing_block(blob, folder):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    row = list(store.scan("events_blobs_value", Scan()))[2]
    store.apply("events_blobs_value", [Delete(row.key, row.cells[0].timestamp_ms)])
    store.close()
    result = blob("get", ID, "--to", "copy")
    assert (result.code, "block 2 is missing" in result.err) == (5, True), result.err
    assert not (folder / "copy").exists()
    result = blob("check", "--output", "json")
    (found,) = result.json["findings"]
    assert (result.code, found["kind"], found["blob"], found["block"]) == (5, "missing_block", ID, 2)
    assert (result.json["blobs"], result.json["blocks"]) == (1, 2)


def test_2c14_changed_option_is_refused(blob, file):
    file.write_text(FILE.replace("OPTIONS", "block_size: 2KB"))
    result = blob("put", "blob.bin")
    assert result.code == 2
    assert '"block_size":1000' in result.err
    assert '"block_size":2000' in result.err
    assert blob("stat", ID).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("put", "-f", "p.yaml", "absent", "blob.bin"), 3, 'the file declares no table "absent"'),
        (("stat", "-f", "p.yaml", "absent", ID), 3, "hint: tables with `blobs`: events\n"),
        (("stat", "-f", "p.yaml", "event", ID), 3, 'did you mean "events"?'),
        (
            ("put", "-f", "p.yaml", "plain", "blob.bin"),
            2,
            'table "plain" has no blob store\n  hint: add `blobs: {}` to it',
        ),
        (
            ("sweep", "-f", "p.yaml", "events_blobs_meta"),
            2,
            'belongs to the one of table "events"\n  hint: name "events"\n',
        ),
        (("put", "-f", "p.yaml", "events", "absent.bin"), 3, '/absent.bin": No such file'),
        (("put", "-f", "p.yaml", "events", "."), 3, "Is a directory"),
        (("get", "-f", "p.yaml", "events", ID, "--output", "json"), 2, "name a file with --to"),
        (("get", "-f", "p.yaml", "events", "11" * 32), 3, "there is no blob"),
        (("get", "-f", "p.yaml", "events", ID, "--to", "absent/copy"), 3, 'cannot write "absent/copy"'),
    ],
)
def test_wrong_arguments(ingest, blob, arguments, code, said):
    result = ingest(*of_blobs(arguments[0]), *arguments[1:])
    assert (result.code, said in result.err) == (code, True), result.err


def test_large_values_are_shown_on_request(ingest, file):
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    for table in ("events", "plain"):
        store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_blobs", BlobOptions(block_bytes=1000), 100)}
    BlobMovingStore(store, rules).apply("events", [Put(b"r", {b"f:large": b"v" * 2_000, b"f:small": b"1"}, 5)])
    store.close()
    for command in (("get", "-f", "p.yaml", "events", "r"), ("scan", "-f", "p.yaml", "events")):
        pointer, small = ingest(*command, "--output", "json").json["cells"]
        assert '"length":2000' in pointer[3]
        assert small == ["f", "small", 5, "1"]
        large, small = ingest(*command, "--output", "json", "--blobs").json["cells"]
        assert (large, small) == (["f", "large", 5, "v" * 2_000], ["f", "small", 5, "1"])
    # the data source of Spark, as a task reads it
    for options, first in (({}, b"\x00BP\x01"), ({"blobs": "true"}, b"vvvv")):
        source = TableDataSource({"config": str(file), "table": "events", **options})
        reader = source.reader(source.schema())
        (row,) = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
        cells = dict(row["cells"])
        assert (cells["f:large"][:4], cells["f:small"]) == (first, b"1")
    plain = TableDataSource({"config": str(file), "table": "plain", "blobs": "true"})
    with pytest.raises(ConfigError, match="no blob store"):
        plain.reader(plain.schema()).partitions()
    for table in ("plain", "events_blobs_meta"):
        result = ingest("scan", "-f", "p.yaml", table, "--blobs")
        assert (result.code, "has no blob store" in result.err) == (2, True)
    assert 'hint: name "events"\n' in result.err


def test_file_without_tables_says_how_to_declare_one(ingest, folder):
    content = (
        "version: 1\nstores: {s: memory}\npipelines:\n"
        '  p: {source: {files: {path: ./in}}, decorators: [{value: {attribute: "2hb_", value: "%{body}"}}], '
        "sinks: [{attr2hbase: {table: events}}]}\n"
    )
    (folder / "without.yaml").write_text(content)
    result = ingest("blob", "stat", "-f", "without.yaml", "events", ID)
    assert (result.code, "declare it, as in tables: {events: {blobs: {}}}" in result.err) == (3, True), result.err


def test_changed_name_is_refused(ingest, file, folder):
    """Pointers in the rows of the table would find no blob."""
    (folder / "a.log").write_text("")
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_blobs", BlobOptions(block_bytes=1000), 100)}
    BlobMovingStore(store, rules).apply("events", [Put(b"r", {b"f:q": BLOB}, 5)])
    store.close()
    file.write_text(FILE.replace("OPTIONS", "block_size: 1KB, name: renamed"))
    reader = TableDataSource({"config": str(file), "table": "events", "blobs": "true"})
    for command in (
        ("validate", "p.yaml", "--connect"),
        ("blob", "put", "-f", "p.yaml", "events", "blob.bin"),
        ("admin", "blob", "sweep", "-f", "p.yaml", "events"),
        ("admin", "blob", "sweep", "-f", "p.yaml", "events", "--dry-run"),
        ("admin", "blob", "check", "-f", "p.yaml", "events"),
        ("blob", "stat", "-f", "p.yaml", "events", ID),
        ("get", "-f", "p.yaml", "events", "r", "--blobs"),
        ("scan", "-f", "p.yaml", "events", "--blobs"),
    ):
        result = ingest(*command)
        said = 'are in the blob store "events_blobs", but the file declares "renamed"'
        assert (command, result.code, said in result.err + result.out) == (command, 4, True), result.err
    found = reader.reader(reader.schema())
    with pytest.raises(BlobsElsewhereError):
        [list(found.read(part)) for part in found.partitions()]
    assert ingest("scan", "-f", "p.yaml", "events").code == 0
    file.write_text(FILE.replace("OPTIONS", "block_size: 1KB"))
    for command in (("validate", "p.yaml", "--connect"), ("scan", "-f", "p.yaml", "events", "--blobs")):
        assert ingest(*command).code == 0
