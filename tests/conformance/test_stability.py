"""docs/stability.md has the formats, messages and exit codes of this version."""

import re

import pytest

from ingest.api import CheckpointError, IntegrityError
from ingest.dead_letters import envelope
from ingest.reference.error_pages import error_pages
from ingest.spark.streaming import checkpoint
from sinks.rocksdb import tables
from tests.support.environments import ROOT

PAGE = (ROOT / "docs/stability.md").read_text("utf-8")
FORMATS = {
    "checkpoint and batch times of a pipeline": [checkpoint.FORMAT.decode()],
    "dead letters, in files and in a topic": [
        str(envelope.FORMAT),
        str(envelope.BLOB_FORMAT),
        str(envelope.PLACE_FORMAT),
    ],
    "RocksDB store": [one.decode() for one in tables.FORMATS],
}


@pytest.mark.parametrize("state", FORMATS)
def test_formats_are_those_of_the_code(state: str) -> None:
    cells = next(line.split(" | ") for line in PAGE.splitlines() if line.startswith(f"| {state} |"))
    assert re.findall(r"\d+", cells[1]) == FORMATS[state]
    newer = int(FORMATS[state][-1]) + 1
    first, *others = (f'"?{one}"?' for one in FORMATS[state])
    read = f"{first} to {others[-1]}" if len(others) > 1 else " and ".join([first, *others])
    assert re.search(rf'format "?{newer}"?, this version reads {read}`, exit code 5', cells[3])


def test_exit_codes_are_those_of_the_errors() -> None:
    codes = {page.exit_code for page in error_pages() if page.exit_code is not None}
    listed = set(map(int, re.findall(r"\d+", PAGE.partition("| exit codes |")[2].partition("[")[0])))
    assert codes | {0, 130} == listed
    assert CheckpointError.exit_code == IntegrityError.exit_code == 5
