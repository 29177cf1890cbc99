"""Interactive commands import no package they do not need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ingest

HEAVY = {"pyspark", "pyarrow", "pandas", "numpy", "kafka", "happybase", "thriftpy2", "rocksdict", "rich", "structlog"}
HEAVY |= {"fsspec", "prometheus_client", "fastavro", "py4j", "werkzeug", "wsgiref"}

CODE = """
import sys
from ingest.cli import main
code = main(sys.argv[1:])
print("loaded:", *sorted(set(name.partition(".")[0] for name in sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("template", ["files", "kafka", "hbase"])
@pytest.mark.parametrize(
    "command",
    [
        "validate pipeline.yaml",
        "test pipeline.yaml",
        "explain pipeline.yaml --events events.jsonl",
        "keys analyse pipeline.yaml --events events.jsonl --output json",
        "graph pipeline.yaml",
        "config show pipeline.yaml",
        "stash ls dumps --output json",
        'import-flume --text attr2hbase("t")',
        "--version",
    ],
)
def test_light_commands_import_no_heavy_package(ingest, folder, template, command):
    ingest("init", "--template", template)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *command.split()],
        env=os.environ | {"PYTHONPATH": str(Path(_package()).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stderr.partition("loaded: ")[2].split()
    assert HEAVY & set(loaded) == set()


def _package():
    return Path(ingest.__file__).parent
