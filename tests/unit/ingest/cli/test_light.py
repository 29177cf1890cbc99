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
    "admin keys analyse --events events.jsonl --output json",
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


HELP = {
    **dict.fromkeys(("--help", "blob --help", "dump -h", "dump"), frozenset({"ingest.service"})),
    **dict.fromkeys(
        (
            f"{words} --help"
            for words in (
                "compact",
                "rollback",
                "admin blob sweep",
                "dump run",
                "archive rerun",
                "archive join",
                "admin blob check",
            )
        ),
        frozenset({"pyspark", "kafka"}),
    ),
}
"""Words -> modules that they do not need."""
# each in a process of its own, of which none starts Python again
CODE_OF_HELP = """
import os
import sys
from ingest.cli import app, main
for words in sys.argv[1:]:
    if (child := os.fork()) == 0:
        main(words.split())
        print("loaded:", words, *sys.modules, sep="\\t", file=sys.stderr, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_help_imports_nothing_of_the_run():
    environment = os.environ | {"PYTHONPATH": str(Path(_package()).parent)}
    arguments = [sys.executable, "-c", CODE_OF_HELP, *HELP]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    ended = [line.split("\t")[1:] for line in done.stderr.splitlines() if line.startswith("loaded:")]
    assert {words: HELP[words] & {*loaded} for words, *loaded in ended} == {words: set() for words in HELP}


def _package():
    return Path(ingest.__file__).parent
