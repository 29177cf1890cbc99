"""Commands run as a user does, in a folder with a pipeline."""

import contextlib
import errno
import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest import cli
from ingest.cli import main


@dataclass(frozen=True)
class Result:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON value on stdout."""
        return json.loads(self.out)

    @property
    def lines(self):
        """The JSON values on stdout, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]


Ingest = Callable[..., Result]


@pytest.fixture
def ingest(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Ingest:
    """Run a command in this process."""
    monkeypatch.setenv("NO_COLOR", "")  # --no-color sets it, and monkeypatch removes it
    monkeypatch.delenv("ATTR2HBASE_DEBUG", raising=False)
    monkeypatch.delenv("ATTR2HBASE_FILE", raising=False)
    monkeypatch.setattr(socket.socket, "connect", _refused_by_default_port(socket.socket.connect))

    def run(*arguments: object) -> Result:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


def _refused_by_default_port(connect: Callable[..., None]) -> Callable[..., None]:
    """`connect` as without a service at the default port of files, where that of another test may listen."""

    def connect_elsewhere(opened: socket.socket, address: object) -> None:
        if address == ("127.0.0.1", 9464):
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        connect(opened, address)

    return connect_elsewhere


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pipeline(folder: Path, ingest: Ingest) -> Path:
    """The folder after `attr2hbase init`."""
    assert ingest("init").code == 0
    return folder


@pytest.fixture
def unused_port() -> int:
    """A port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture
def terminal() -> Callable[..., str]:
    """Run a command on a terminal; returns its output."""
    usual = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2]), "TERM": "xterm", "COLUMNS": "100"}
    usual.pop("NO_COLOR", None)

    def run(*arguments: str, **environment: str) -> str:
        reading, writing = pty.openpty()
        command = [sys.executable, "-m", "ingest", *arguments]
        try:
            process = subprocess.Popen(command, stdin=writing, stdout=writing, stderr=writing, env=usual | environment)
            os.close(writing)
            shown = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while piece := os.read(reading, 65536):
                    shown += piece
            process.wait()
        finally:
            os.close(reading)
        return shown.decode()

    return run
