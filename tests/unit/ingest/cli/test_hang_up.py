"""A SIGHUP while `attr2hbase run` reads its file does not end it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperOption

from ingest.cli import OPTIONS_BEFORE
from ingest.cli.app import application
from tests.support.environments import ROOT

pytestmark = pytest.mark.usefixtures("hangs_up")

INVALID, HUNG_UP = 2, -signal.SIGHUP


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--no-color run FILE", INVALID),
        ("-f FILE run", INVALID),
        ("--output json --file=FILE run --once", INVALID),
        ("validate FILE", HUNG_UP),
        ("-f FILE status --pipeline run", HUNG_UP),
    ],
)
def test_sighup_before_the_service_handles_it(tmp_path: Path, words: str, code: int):
    file = tmp_path / "pipeline.yaml"
    os.mkfifo(file)
    command = [sys.executable, "-m", "ingest", *words.replace("FILE", str(file)).split()]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as started:
        # returns when the command has opened it too
        with file.open("w") as content:
            os.kill(started.pid, signal.SIGHUP)
            if code == INVALID:
                content.write("no: pipelines")
            else:
                started.wait(60)
        assert started.wait(60) == code


def test_options_before_the_command_are_those_that_it_has():
    short, long = OPTIONS_BEFORE
    known = {f"-{each}" for each in re.findall(".:?", short)} | {f"--{each}" for each in long}
    declared = [option for option in application().params if isinstance(option, TyperOption)]
    assert known == {"-h", "--help"} | {
        name if option.is_flag else f"{name}=" if name.startswith("--") else f"{name}:"
        for option in declared
        for name in option.opts
    }


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ignored_sighup_stays_ignored_while_the_file_is_read(tmp_path: Path):
    """As under `nohup`: `/proc` tells what the process does with the signal."""
    file = tmp_path / "pipeline.yaml"
    os.mkfifo(file)
    earlier = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        started = subprocess.Popen(
            [sys.executable, "-m", "ingest", "run", str(file)], cwd=ROOT, stderr=subprocess.DEVNULL
        )
    finally:
        signal.signal(signal.SIGHUP, earlier)
    with started, file.open("w") as content:
        assert ignored_of(started.pid) >> (signal.SIGHUP - 1) & 1
        content.write("no: pipelines")
    assert started.returncode == INVALID


def ignored_of(pid: int) -> int:
    """The ignored signals of a process, as bits."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), 16)
