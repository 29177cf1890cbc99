"""`attr2hbase dump`: read, verify, expire and pin dumps."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import cli
from ingest.api import NotFoundError
from ingest.clock import now_ms
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from sinks.dumps.expiry import DAY_MS
from sinks.dumps.layout import LOCK, FileFormat
from sinks.dumps.lock import root_lock
from sinks.dumps.pins import Pin
from sinks.dumps.run import DumpRun
from sinks.files.local_root import LocalRoot
from sinks.files.register import RootRegister
from tests.support.dumps import DUMP, START_MS, make_dump, row_of, rows_of
from tests.support.leases import expire_lease

NEXT = "2015-02-25-00-00-00"


@pytest.fixture
def root(folder):
    root = LocalRoot(folder / "dumps")
    make_dump(root, {"ns:t": [[row_of(b"a", q=b"1")], [row_of(b"b\xff", q=b"\xff")]], "empty": [[]]}, run_id="one")
    make_dump(root, {"ns:t": [rows_of(b"a", b"c")]}, at_ms=START_MS + DAY_MS, run_id="two")
    return root


def test_ls(ingest, root, folder):
    pin = ingest("admin", "dump", "pin", "dumps", "--at", DUMP, "--owner", "Ann", "--output", "json").json
    (folder / "dumps" / "2015-03-01-00-00-00").mkdir()
    lines = ingest("dump", "ls", "dumps", "--output", "json").lines
    assert [(each["dump"], each["status"], each["id"], each["rows"]) for each in lines] == [
        (DUMP, "complete", "one", 2),
        (NEXT, "complete", "two", 2),
        ("2015-03-01-00-00-00", "incomplete", None, None),
    ]
    assert lines[0]["pins"] == [{"id": pin["id"], "owner": "Ann", "expires": pin["expires"]}]
    text = ingest("dump", "ls", "dumps")
    assert (text.code, DUMP in text.out, "3 dumps" in text.err) == (0, True, True)


def test_suggested_commands_can_be_pasted(ingest, folder):
    make_dump(LocalRoot(folder / "my dumps"), {"it's": [rows_of(b"a")]})

    def suggested(*words: str) -> list[str]:
        done = ingest(*words)
        following = shlex.split(done.err.splitlines()[-1])
        assert (done.code, following[:2]) == (0, ["next:", "attr2hbase"])
        return following[2:]

    tables = suggested("dump", "ls", "my dumps")
    assert tables == ["dump", "tables", "my dumps"]
    rows = suggested(*tables)
    assert rows == ["dump", "cat", "my dumps", "it's", "--limit", "10"]
    assert ingest(*rows).code == 0
    unpin = suggested("admin", "dump", "pin", "my dumps")
    assert unpin[:-1] == ["admin", "dump", "unpin", "my dumps"]
    assert ingest(*unpin).code == 0


def test_ls_shows_valid_pins_alone(ingest, root):
    Pin("past", DUMP, "Ann", now_ms() - 1).write(root)
    Pin("valid", DUMP, "Ann", now_ms() + DAY_MS).write(root)
    pins = ingest("dump", "ls", "dumps", "--output", "json").lines[0]["pins"]
    assert [pin["id"] for pin in pins] == ["valid"]


@pytest.mark.parametrize(
    "command", ["dump ls", "admin dump expire", "admin dump expire --dry-run", "dump verify --all"]
)
def test_root_that_does_not_exist(ingest, folder, command: str):
    result = ingest(*command.split(), "nothing")
    assert (result.code, result.out, 'there is no folder "nothing"' in result.err) == (3, "", True)
    assert not (folder / "nothing").exists()


def test_ls_names_the_ids_of_dumps_that_can_be_resumed(ingest, root):
    with DumpRun(root, "three") as run:
        run.start(["t"], plan=dict)
    newest = ingest("dump", "ls", "dumps", "--output", "json").lines[-1]
    assert (newest["dump"], newest["status"], newest["id"]) == ("_run-three", "incomplete", "three")
    with DumpRun(root, "four") as other, pytest.raises(NotFoundError) as unknown:
        other.resume()
    assert (unknown.value.hint or "").startswith("there is three; ")


def test_tables(ingest, root):
    lines = ingest("dump", "tables", "dumps", "--at", "2015-02-24T00:00:00Z", "--output", "json").lines
    assert [(each["dump"], each["table"], each["rows"], each["files"]) for each in lines] == [
        (DUMP, "ns:t", 2, 2),
        (DUMP, "empty", 0, 0),
    ]
    assert "ns:t" in ingest("dump", "tables", "dumps").out


def test_cat_prints_lines_of_json(ingest, root):
    result = ingest("dump", "cat", "dumps", "ns:t", "--at", DUMP)
    assert [(row["~id"], row["f:q"]) for row in result.lines] == [("a", "1"), ({"b64": "Yv8="}, {"b64": "/w=="})]
    assert [row["~id"] for row in ingest("dump", "cat", "dumps", "ns:t", "--limit", 1).lines] == ["a"]
    assert root.entries("_pins") == []


def test_cat_of_a_split_reads_the_dump_of_its_token(ingest, root):
    refs = ingest("dump", "files", "dumps", "ns:t", "--at", DUMP, "--output", "json").lines
    assert [(each["rows"], each["first_row"]) for each in refs] == [(1, "a"), (1, {"b64": "Yv8="})]
    rows = ingest("dump", "cat", "dumps", "--token", refs[1]["token"]).lines
    assert [row["f:q"] for row in rows] == [{"b64": "/w=="}]
    assert root.entries("_pins") == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("cat", "dumps", "empty", "--at", DUMP), 3, "had no rows"),
        (("cat", "dumps", "other"), 3, "has no table"),
        (("cat", "dumps", "ns:t", "--at", "2014-01-01"), 3, "no complete dump"),
        (("cat", "nothing", "ns:t"), 3, "no complete dump"),
        (("cat", "dumps"), 2, "either a table or a token"),
        (("cat", "dumps", "--token", "x"), 2, "no token"),
        (("cat", "dumps", "--token", "x", "--at", DUMP), 2, "--token TOKEN names a dump already"),
        (("cat", "dumps", "t", "--at", "noon"), 2, "is not a time"),
        (("unpin", "dumps", "x"), 3, "no pin"),
        (("expire", "dumps", "--keep", "7"), 2, "--keep"),
        (("verify", "dumps", "--at", "2014-01-01-00-00-00"), 3, "no such folder"),
    ],
)
def test_errors(ingest, root, arguments, code, message):
    is_of_admin = arguments[0] in {"expire", "unpin"}
    result = ingest(*["admin"] * is_of_admin, "dump", *arguments)
    assert (result.code, message in result.err, result.out.startswith("{")) == (code, True, False), result.err


def test_cat_skips_damaged_lines(ingest, root, folder):
    import gzip

    file = next((folder / "dumps" / NEXT / "ns~t").iterdir())
    content = gzip.compress(b'{"~id":"a"}\n{broken\n{"~id":"c"}\n')
    file.write_bytes(content.ljust(file.stat().st_size, b"\0"))  # of the size that was written
    damaged = ingest("dump", "cat", "dumps", "ns:t")
    assert (damaged.code, f'{file.name}", line 2' in damaged.err) == (5, True)
    skipped = ingest("dump", "cat", "dumps", "ns:t", "--skip-bad")
    assert (skipped.code, len(skipped.lines), "1 damaged line skipped" in skipped.err) == (0, 2, True)


def test_verify(ingest, root, folder):
    (found,) = ingest("dump", "verify", "dumps", "--output", "json").lines
    assert (found["dump"], found["status"], found["rows"], found["damaged"]) == (NEXT, "complete", 2, [])
    assert root.entries("_pins") == []
    file = next((folder / "dumps" / DUMP / "ns~t").iterdir())
    content = bytearray(file.read_bytes())
    content[20] ^= 1
    file.write_bytes(content)
    result = ingest("dump", "verify", "dumps", "--all")
    assert (result.code, file.name in result.err, "damaged" in result.out) == (5, True, True)
    (folder / "dumps" / NEXT / "_SUCCESS").unlink()
    incomplete = ingest("dump", "verify", "dumps", "--at", NEXT)
    assert (incomplete.code, "incomplete: it has no _SUCCESS" in incomplete.err) == (3, True)


def test_diff(ingest, root):
    assert ingest("dump", "diff", "dumps", DUMP, NEXT, "ns:t").out.splitlines() == ["~ a", "- b\\xFF", "+ c"]
    assert root.entries("_pins") == []
    lines = ingest("dump", "diff", "dumps", DUMP, NEXT, "ns:t", "--output", "json").lines
    assert lines[1] == {"change": "removed", "row": {"b64": "Yv8="}, "before": 1_000, "after": None}
    limited = ingest("dump", "diff", "dumps", DUMP, NEXT, "ns:t", "--limit", 1)
    assert (limited.out, "1 added, 1 removed, 1 changed" in limited.err) == ("~ a\n", True)


def test_expire_prints_what_it_removes(ingest, root, folder):
    pin = ingest("admin", "dump", "pin", "dumps", "--at", DUMP).out.strip()
    kept = ingest("admin", "dump", "expire", "dumps")
    assert (kept.code, kept.out, "pinned by pid" in kept.err) == (0, "", True)
    assert ingest("admin", "dump", "unpin", "dumps", pin).code == 0
    (folder / "dumps" / "mine.txt").touch()
    planned = ingest("admin", "dump", "expire", "dumps", "--dry-run")
    assert planned.out.splitlines()[0] == f"{DUMP}/_SUCCESS"
    assert "foreign: mine.txt" in planned.err
    assert (folder / "dumps" / DUMP).exists()
    removed = ingest("admin", "dump", "expire", "dumps", "--output", "json")
    assert [line["path"] for line in removed.lines] == planned.out.splitlines()
    assert {(line["reason"], line["removed"]) for line in removed.lines} == {("old", True)}
    assert not (folder / "dumps" / DUMP).exists()
    assert (folder / "dumps" / "mine.txt").exists()


def test_expire_is_refused_while_a_dump_is_made(ingest, root):
    with root_lock(root, "the dump x"):
        refused = ingest("admin", "dump", "expire", "dumps")
        assert (refused.code, "in use by the dump x" in refused.err) == (4, True)
        assert ingest("admin", "dump", "expire", "dumps", "--dry-run").code == 0
        assert "in use by the dump x of pid" in ingest("dump", "ls", "dumps").err


def test_commands_read_parquet(ingest, folder):
    make_dump(LocalRoot(folder / "p"), {"t": [rows_of(b"a")]}, file_format=FileFormat.PARQUET)
    assert json.loads(ingest("dump", "cat", "p", "t").out)["~id"] == "a"
    assert ingest("dump", "verify", "p").code == 0


def test_retention_of_an_expiry(ingest, root, folder):
    assert ingest("admin", "dump", "expire", "dumps", "--keep-last", 2).out == ""
    (folder / "dumps" / DUMP / "_SUCCESS").unlink()
    assert ingest("admin", "dump", "expire", "dumps", "--incomplete", "365000d").out == ""
    removed = ingest("admin", "dump", "expire", "dumps", "--incomplete", "24h", "--output", "json").lines
    assert {(line["reason"], line["path"].partition("/")[0]) for line in removed} == {("incomplete", DUMP)}


def test_pin_is_valid_for_its_time(ingest, root):
    ingest("admin", "dump", "pin", "dumps", "--at", DUMP, "--for", "1ms")
    removed = ingest("admin", "dump", "expire", "dumps", "--output", "json").lines
    assert {line["reason"] for line in removed} == {"old", "expired pin"}
    assert ingest("admin", "dump", "pin", "dumps", "--for", "soon").code == 2


def test_expiry_that_is_killed_is_completed_by_the_next_one(ingest, root, folder):
    environment = os.environ | {
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
        "INGEST_FAILPOINT": "dump_hidden:1:die",
        "INGEST_FAILPOINT_FOLDER": str(folder / "points"),
    }
    command = [sys.executable, "-m", "ingest", "admin", "dump", "expire", "dumps"]
    killed = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [line["status"] for line in ingest("dump", "ls", "dumps", "--output", "json").lines] == [
        "incomplete",
        "complete",
    ]
    assert "in use by attr2hbase admin dump expire of pid" in ingest("dump", "ls", "dumps").err
    expire_lease(RootRegister(root, LOCK))
    assert ingest("admin", "dump", "expire", "dumps").code == 0
    assert not (folder / "dumps" / DUMP).exists()


@pytest.mark.parametrize("file_format", [FileFormat.GZIP, FileFormat.PARQUET])
def test_cat_shows_values_of_the_declared_types(ingest, folder, file_format):
    types = ColumnTypes({b"f:n": CellType.INT64, b"f:ok": CellType.BOOL8})
    rows = [row_of(b"a", n=b"\0\0\0\0\0\0\5\xd8", ok=b"\xff", x=b"\0"), row_of(b"b", n=b"\xff", ok=b"\0")]
    root = LocalRoot(folder / "dumps")
    make_dump(root, {"t": [rows]}, file_format=file_format, types=types)
    lines = ingest("dump", "cat", "dumps", "t").lines
    assert [(line["f:n"], line["f:ok"]) for line in lines] == [(1496, True), ({"b64": "/w=="}, False)]
    token = ingest("dump", "files", "dumps", "t", "--output", "json").json["token"]
    assert ingest("dump", "cat", "dumps", "--token", token).lines == lines
    raw = ingest("dump", "cat", "dumps", "t", "--raw").lines
    assert (raw[0]["f:n"], raw[0]["f:ok"], raw[1]["f:ok"]) == ({"b64": "AAAAAAAABdg="}, {"b64": "/w=="}, "\0")
    assert (lines[0]["~id"], lines[0]["f:x"]) == ("a", "\0")
