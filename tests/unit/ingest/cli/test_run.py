"""`attr2hbase run` before Spark: what a user sees first. Without Java the command ends there."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ingest import cli

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2]), "JAVA_HOME": "/nowhere", "TERM": "xterm"}
SAID = "Spark is starting, which takes some seconds"


def lines(log: str) -> list[dict[str, Any]]:
    """The lines of a log, without those for people."""
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("options", [(), ("--once",)])
def test_the_first_line_of_the_log_is_that_spark_starts(pipeline: Path, options: tuple[str, ...]):
    command = [sys.executable, "-m", "ingest", "run", *options, "pipeline.yaml"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    first, *_ = lines(done.stderr)
    assert (done.returncode != 0, first["level"], first["message"]) == (True, "info", "Spark is starting")
    assert SAID not in done.stdout + done.stderr  # no terminal waits for it


@pytest.mark.parametrize("redirected", [False, True], ids=["terminal", "log-in-a-file"])
def test_a_user_at_a_terminal_is_told_also_if_the_log_is_redirected(pipeline: Path, redirected: bool):
    reading, writing = pty.openpty()
    with (pipeline / "run.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ingest", "run", "--once", "pipeline.yaml"],
            env=ENVIRONMENT,
            stdin=writing,
            stdout=writing,
            stderr=log if redirected else writing,
        )
        os.close(writing)
        shown = b""
        with suppress(OSError):  # the end of the terminal
            while piece := os.read(reading, 65536):
                shown += piece
        process.wait()
        os.close(reading)
    assert shown.decode().count(SAID) == 1
    assert SAID not in (pipeline / "run.log").read_text()


@pytest.mark.parametrize(("level", "shown"), [("error", []), ("info", ["Spark is starting"])])
def test_level_of_the_log_is_an_option(pipeline: Path, level: str, shown: list[str]):
    file = pipeline / "pipeline.yaml"
    file.write_text(file.read_text() + "service: {log: {level: warning}}\n")
    command = [sys.executable, "-m", "ingest", "run", "--log-level", level, "pipeline.yaml"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert [line["message"] for line in lines(done.stderr) if line["level"] == "info"][:1] == shown


def test_an_unknown_level_is_refused(ingest, pipeline: Path):
    result = ingest("run", "--log-level", "loud", "pipeline.yaml")
    assert (result.code, "'debug'" in result.err) == (2, True)
