"""Interactive commands import no package they do not need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ingest

HEAVY = {"pyspark", "pyarrow", "pandas", "numpy", "kafka", "happybase", "thriftpy2", "rocksdict", "rich", "structlog"}
HEAVY |= {"fsspec", "prometheus_client", "fastavro", "py4j", "werkzeug", "wsgiref"}

COMMANDS = [
    "validate pipeline.yaml",
    "test pipeline.yaml",
    "explain pipeline.yaml --events events.jsonl",
    "keys analyse pipeline.yaml --events events.jsonl --output json",
    "graph pipeline.yaml",
    "config show pipeline.yaml",
    "dump ls dumps --output json",
    "import-flume --text 'attr2hbase(\"t\")'",
    "--version",
]
CODE = """
import shlex
import sys
from ingest.cli import main
for command in sys.argv[1:]:
    code = main(shlex.split(command))
    print("loaded:", command, code, *{name.partition(".")[0] for name in sys.modules}, sep="\\t", file=sys.stderr)
"""


@pytest.mark.parametrize("template", ["files", "kafka", "hbase"])
def test_light_commands_import_no_heavy_package(ingest, folder, template):
    ingest("init", "--template", template)
    (folder / "dumps").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CODE, *COMMANDS],
        env=os.environ | {"PYTHONPATH": str(Path(_package()).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    ended = [line.split("\t")[1:] for line in done.stderr.splitlines() if line.startswith("loaded:")]
    assert [(command, code, HEAVY & {*loaded}) for command, code, *loaded in ended] == [
        (command, "0", set()) for command in COMMANDS
    ]


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        *((words, {"ingest.service"}) for words in ("--help", "body --help", "dump -h", "dump")),
        *(
            (f"{words} --help", {"pyspark", "kafka"})
            for words in ("compact", "rollback", "body sweep", "dump run", "archive rerun", "archive join", "body fsck")
        ),
    ],
)
def test_help_imports_nothing_of_the_run(words: str, unused: set[str]):
    code = "import sys; from ingest.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"PYTHONPATH": str(Path(_package()).parent)}
    arguments = [sys.executable, "-c", code, *words.split()]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    assert unused & {*done.stderr.split()} == set()


def _package():
    return Path(ingest.__file__).parent
