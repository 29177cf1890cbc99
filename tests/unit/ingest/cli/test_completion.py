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


def completed(folder: Path, line: str, file: str = FILE) -> list[str]:
    """The words that bash offers for the last one of a command line."""
    (folder / "p.yaml").write_text(file)
    words = line.split(" ")
    environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2]), "_INGEST_COMPLETE": "complete_bash"}
    environment |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "ingest"], env=environment, capture_output=True, text=True, check=False, timeout=120
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
        ("ingest replay p.yaml --from 2026 --to 2027 --sink ", ["attr2hbase", "archive"]),
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


@pytest.mark.parametrize(
    "key",
    [
        "plugins: [marks]",
        "secrets: {exec: [touch, marker]}\nservice: {http: {password: '${secret:of-http}'}}",
    ],
)
def test_nothing_of_the_file_is_run(folder: Path, key: str):
    (folder / "marks.py").write_text("import pathlib\npathlib.Path('marker').write_text('')\n")
    assert completed(folder, "ingest pause p.yaml ", f"{FILE}{key}\n") == ["clicks", "orders"]
    assert completed(folder, "ingest scan p.yaml ", f"{FILE}{key}\n") == ["counters", "visits"]
    assert [path.name for path in folder.iterdir() if path.suffix not in {".py", ".yaml"}] == []


def test_file_with_errors_has_names(folder: Path):
    assert completed(folder, "ingest pause p.yaml ", f"{FILE}spark: {{no_option: 1}}\n") == ["clicks", "orders"]


def test_no_named_pipe_is_waited_for(folder: Path):
    os.mkfifo(folder / "pipe.yaml")
    assert completed(folder, "ingest pause pipe.yaml ") == []
    assert completed(folder, "ingest pause p.yaml ", f"include: pipe.yaml\n{FILE}") == ["clicks", "orders"]
