"""What a shell completes after the words of a command line; with the protocol of bash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import cli

FILE = """\
version: 1
state_dir: ${STATE:./data}
stores: {local: {rocksdb: {path: ./rows}}}
tables: {counters: {families: {c: {}}}, visits: {families: {c: {}}}}
pipelines:
  clicks:
    source: {files: {path: ./in}}
    decorators: [value: {attribute: "2hb_", value: "%{body}"}]
    sinks: [attr2hbase: {table: visits}, archive: {root: ./archive, table: customer}]
  orders:
    source: {files: {path: ./in}}
    decorators: [value: {attribute: "2hb_", value: "%{body}"}]
    sinks: [attr2hbase: {table: counters}]
"""


def completed(folder: Path, line: str) -> list[str]:
    """The words that bash offers for the last one of a command line."""
    (folder / "p.yaml").write_text(FILE)
    words = line.split(" ")
    environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2]), "_INGEST_COMPLETE": "complete_bash"}
    environment |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "ingest"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ingest scan p.yaml ", ["counters", "visits"]),
        ("ingest get p.yaml v", ["visits"]),
        ("ingest compact p.yaml c", ["counters"]),
        ("ingest archive history p.yaml ", ["customer"]),
        ("ingest pause p.yaml ", ["clicks", "orders"]),
        ("ingest status p.yaml o", ["orders"]),
        ("ingest dead-letters list p.yaml --pipeline c", ["clicks"]),
        ("ingest graph p.yaml --pipeline o", ["orders"]),
        ("ingest feed consume p.yaml counters --group g --pipeline o", ["orders"]),
        ("ingest dead-letters replay p.yaml --code no_mat", ["no_match"]),
        ("ingest describe tim", ["timestamp"]),
        ("ingest describe attr", ["attr2hbase"]),
        ("ingest describe dead", ["dead_letters"]),
        ("ingest describe error no_mat", ["no_match"]),
        ("ingest describe timestamp ", []),
        ("ingest scan absent.yaml ", []),
        ("ingest scan - ", []),
    ],
)
def test_names_are_completed(folder: Path, line: str, words: list[str]):
    assert completed(folder, line) == words
