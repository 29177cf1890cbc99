"""A SIGHUP while `ingest run` reads its file does not end it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import ROOT

INVALID, HUNG_UP = 2, -signal.SIGHUP


@pytest.mark.parametrize(
    ("words", "code"), [(["--no-color", "run"], INVALID), (["validate"], HUNG_UP)], ids=["run", "another command"]
)
def test_sighup_before_the_service_handles_it(tmp_path: Path, words: list[str], code: int):
    file = tmp_path / "pipeline.yaml"
    os.mkfifo(file)
    command = [sys.executable, "-m", "ingest", *words, str(file)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as started:
        # returns when the command has opened it too
        with file.open("w") as content:
            os.kill(started.pid, signal.SIGHUP)
            if code == INVALID:
                content.write("no: pipelines")
            else:
                started.wait(60)
        assert started.wait(60) == code
