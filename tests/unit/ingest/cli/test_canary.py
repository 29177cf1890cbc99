"""No output of any command contains a secret."""

import io
import stat

import pytest

from ingest.cli.output import Output
from ingest.masks import Masks

CANARY = 'c4n4ry-\u00fc"81f2\\e5a0'
FORMS = ("c4n4ry", "81f2", "e5a0")  # parts of it that no quoting changes
PIPELINE = """\
version: 1
secrets: {directory: ./secrets}
state_dir: ./state
spark: {conf: {spark.hadoop.fs.example.account.key: "x${secret:canary}"}}
stores:
  kept: {rocksdb: {path: "./store-${secret:canary}"}}
tables:
  mytable: {families: {f: {}}}
pipelines:
  ticks:
    source: {files: {path: "./in-${secret:canary}"}}
    decorators:
      - filter: {drop: "%{body} matches '^#'", reason: "${secret:canary}"}
      - value: {attribute: word, value: "${secret:canary}", label: "${secret:canary}"}
      - convert: {source: word, decode: int64, when: "%{body} matches '^bad'"}
      - value: {attribute: "2hb_f:word", value: "%{word}"}
      - value: {attribute: "2hb_", value: "%{body}"}
    sinks:
      - attr2hbase: {table: mytable}
tests:
  - name: one
    pipeline: ticks
    given: [{body: a}, {body: "#"}, {body: bad}]
    expect: {kept: 3}
"""
EVENTS = """{"body": "a"}\n{"body": "#"}\n{"body": "bad"}\n"""


@pytest.fixture
def file(folder):
    (folder / "secrets").mkdir()
    (folder / "secrets" / "canary").write_text(CANARY)
    (folder / "events.jsonl").write_text(EVENTS)
    (folder / "p.yaml").write_text(PIPELINE)
    return folder / "p.yaml"


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("validate FILE", 0),
        ("validate FILE --connect", 3),
        ("config show FILE", 0),
        ("config show FILE --defaults", 0),
        ("explain FILE --events events.jsonl", 0),
        ("explain FILE --lines events.jsonl", 0),
        ("test FILE --junit report.xml", 1),
        ("test FILE --update", 0),
        ("graph FILE", 0),
        ("submit FILE --print", 0),
        ("table plan FILE", 4),
        ("table apply FILE", 0),
        ("scan -f FILE mytable", 3),
        ("get -f FILE mytable row", 3),
        ("dead-letters list -f FILE", 0),
        ("dead-letters show -f FILE 1:1", 3),
        ("dead-letters replay -f FILE", 0),
        ("admin dead-letters purge -f FILE --replayed --yes", 0),
        ("produce -f FILE --events events.jsonl", 2),
        ("run --once --start-from latest FILE", 2),
        ("explain FILE --events nowhere.jsonl", 3),
    ],
)
def test_secret_is_in_no_output(ingest, file, command, code, output):
    result = ingest(*command.replace("FILE", file.name).split(), "--output", output)
    assert result.code == code, result.err
    assert [form for form in FORMS if form in result.out + result.err] == []
    written = [path for path in file.parent.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    given = [path for path in written if path.name == "spark-submit.properties"]  # only its owner can read it
    assert [stat.S_IMODE(path.stat().st_mode) for path in given] == ([0o600] if command.startswith("submit") else [])
    by_us = [path for path in written if not path.parent.name.startswith("store-") and path not in given]
    assert [path for path in by_us for form in FORMS if form.encode() in path.read_bytes()] == []


def test_stored_data_is_not_masked():
    """A short secret may be part of a cell, and an export must not change it."""
    stdout, stderr = io.StringIO(), io.StringIO()
    out = Output(stdout, stderr, is_plain=True)
    out.hide_secrets(Masks(["ab"]).hide, in_data=False)
    out.line("cable")
    out.note("cable")
    assert (stdout.getvalue(), stderr.getvalue()) == ("cable\n", "c***le\n")
