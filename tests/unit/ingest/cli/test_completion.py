"""What a shell completes after the words of a command line; with the protocol of bash."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture
def completed(ingest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Returns the words that bash offers for the last one of a command line."""

    def run(line: str, file: str = FILE) -> list[str]:
        (folder / "p.yaml").write_text(file)
        for name, value in bash(line).items():
            monkeypatch.setenv(name, value)
        done = ingest()
        assert done.err == ""
        return done.out.split()

    return run


def bash(line: str) -> dict[str, str]:
    """The variables of bash in which it asks for the last word of a command line."""
    return {"_ATTR2HBASE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("attr2hbase scan -f p.yaml ", ["counters", "visits"]),
        ("attr2hbase get -f p.yaml v", ["visits"]),
        ("attr2hbase -f p.yaml get v", ["visits"]),
        ("attr2hbase dead-letters -f p.yaml list --pipeline c", ["clicks"]),
        ("attr2hbase -f absent.yaml get -f p.yaml v", []),
        ("attr2hbase keys an", []),
        ("attr2hbase compact -f p.yaml c", ["counters"]),
        ("attr2hbase archive history -f p.yaml ", ["customer"]),
        ("attr2hbase pause -f p.yaml ", ["clicks", "orders"]),
        ("attr2hbase status p.yaml --pipeline o", ["orders"]),
        ("attr2hbase dead-letters list -f p.yaml --pipeline c", ["clicks"]),
        ("attr2hbase graph p.yaml --pipeline o", ["orders"]),
        ("attr2hbase feed consume -f p.yaml counters --group g --pipeline o", ["orders"]),
        ("attr2hbase dead-letters replay -f p.yaml --code no_mat", ["no_match"]),
        ("attr2hbase replay -f p.yaml --from 2026 --to 2027 --sink ", ["attr2hbase", "archive"]),
        ("attr2hbase describe tim", ["timestamp"]),
        ("attr2hbase describe attr", ["attr2hbase"]),
        ("attr2hbase describe dead", ["dead_letters"]),
        ("attr2hbase describe error no_mat", ["no_match"]),
        ("attr2hbase describe store r", ["rocksdb"]),
        ("attr2hbase describe timestamp ", []),
        ("attr2hbase scan -f absent.yaml ", []),
        ("attr2hbase scan -f - ", []),
    ],
)
def test_names_are_completed(completed, line: str, words: list[str]):
    assert completed(line) == words


def test_names_are_of_the_file_that_is_found(completed, folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert completed("attr2hbase scan ") == []
    (folder / "pipeline.yaml").write_text(FILE.replace("counters", "others"))
    assert completed("attr2hbase scan ") == ["others", "visits"]
    monkeypatch.setenv("ATTR2HBASE_FILE", "p.yaml")
    assert completed("attr2hbase scan ") == ["counters", "visits"]
    assert completed("attr2hbase -f pipeline.yaml pause ") == ["clicks", "orders"]


def test_process_imports_nothing_of_other_commands(folder: Path):
    (folder / "p.yaml").write_text(FILE)
    code = "import sys; from ingest.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2])} | bash("attr2hbase pause -f p.yaml ")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["clicks", "orders"]
    assert [name for name in done.stderr.split() if name.startswith("ingest.service")] == []


@pytest.mark.parametrize(
    "shell",
    [
        {"_ATTR2HBASE_COMPLETE": "complete_zsh"},
        {"_ATTR2HBASE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    ],
)
@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("attr2hbase compa", "compact"),
        ("attr2hbase dump ru", "run"),
        ("attr2hbase dump run -f a.yaml --max", "--max-rate"),
    ],
)
def test_other_shells_name_no_position(ingest, monkeypatch: pytest.MonkeyPatch, shell, line: str, word: str):
    for name, value in shell.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    assert re.findall(r"[\w-]+", ingest().out)[:2].count(word) == 1


@pytest.mark.parametrize(
    "key",
    [
        "plugins: [marks]",
        "secrets: {exec: [touch, marker]}\nservice: {http: {password: '${secret:of-http}'}}",
    ],
)
def test_nothing_of_the_file_is_run(completed, folder: Path, key: str):
    (folder / "marks.py").write_text("import pathlib\npathlib.Path('marker').write_text('')\n")
    assert completed("attr2hbase pause -f p.yaml ", f"{FILE}{key}\n") == ["clicks", "orders"]
    assert completed("attr2hbase scan -f p.yaml ", f"{FILE}{key}\n") == ["counters", "visits"]
    assert [path.name for path in folder.iterdir() if path.suffix not in {".py", ".yaml"}] == []


def test_file_with_errors_has_names(completed):
    assert completed("attr2hbase pause -f p.yaml ", f"{FILE}spark: {{no_option: 1}}\n") == ["clicks", "orders"]


def test_no_named_pipe_is_waited_for(completed, folder: Path):
    os.mkfifo(folder / "pipe.yaml")
    assert completed("attr2hbase pause -f pipe.yaml ") == []
    assert completed("attr2hbase pause -f p.yaml ", f"include: pipe.yaml\n{FILE}") == ["clicks", "orders"]
