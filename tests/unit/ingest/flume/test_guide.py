"""The guide shows the output of its commands. `python tests/unit/ingest/flume/test_guide.py` updates it."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ingest.config import read_text
from ingest.config.nodes import plain
from sinks import BUILTIN_SINKS

ROOT = Path(__file__).resolve().parents[4]
GUIDE = ROOT / "docs" / "guides" / "coming-from-flume.md"
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*<<'END'\n(?:.*\n)*?END|.*)\n", re.MULTILINE)


def run_again(guide, folder):
    """The guide with the current output of its commands."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "attr2hbase"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ingest "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    work = folder / "work"
    work.mkdir()

    def shown(command):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return f"$ {command}\n{done.stdout}"

    return _BLOCK.sub(lambda block: "".join(shown(command) for command in _COMMAND.findall(block[0])), guide)


def test_guide_shows_the_output_of_its_commands(tmp_path):
    guide = GUIDE.read_text(encoding="utf-8")
    assert run_again(guide, tmp_path) == guide


def rows():
    """Calls of Flume and their translations in the table, where both are complete."""
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        cells = line.split(" | ")
        if len(cells) == 2 and line.startswith("| `"):
            old, new = (re.findall(r"`([^`]+)`", cell) for cell in cells)
            yield from ((call, made) for call, made in zip(old, new, strict=False) if "{" in made and "…" not in made)


@pytest.mark.parametrize(("call", "made"), list(rows()))
def test_table_of_the_guide_agrees_with_the_importer(call, made, imported):
    (kind,) = expected = plain(read_text(made, "guide", {}).root)
    text = call if kind in BUILTIN_SINKS else f'{call} attr2hbase("t")'
    root = plain(read_text(imported(text).yaml, "made", {}).root)
    pipeline = root["pipelines"]["flume"]
    assert expected in [*pipeline.get("decorators", []), *pipeline["sinks"]]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        GUIDE.write_text(run_again(GUIDE.read_text(encoding="utf-8"), Path(name)), encoding="utf-8")
