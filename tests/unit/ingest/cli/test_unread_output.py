"""A service does not block when its output is not read."""

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from ingest import cli
from ingest.api import ConflictError
from ingest.cli.output import Output
from ingest.observe.drain import Drain


@pytest.fixture
def full_pipe() -> Iterator[tuple[int, TextIO]]:
    """A full pipe: the descriptor to read from, and the stream to write to."""
    reader, writer = os.pipe()
    os.write(writer, b"." * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))
    stream = os.fdopen(writer, "w")
    yield reader, stream
    os.close(reader)
    with contextlib.suppress(OSError):
        stream.close()


def test_lines_are_written_when_the_pipe_is_read(full_pipe):
    reader, stream = full_pipe
    earlier = sys.stderr
    out = Output(stream, stream, is_plain=True)
    dropped_lines = out.write_without_blocking(lambda _lines: None, with_data=True)
    out.note("a note")
    out.line("data")
    print("from anywhere", file=sys.stderr)  # noqa: T201 - a library may
    assert dropped_lines() == 0
    assert os.read(reader, 1 << 20) == b"." * 4096
    written = b""
    while written.count(b"\n") < 3:
        written += os.read(reader, 1 << 20)
    out.close()
    assert set(written.splitlines()) == {b"a note", b"data", b"from anywhere"}
    assert sys.stderr is earlier


def test_close_does_not_block_on_an_unread_pipe(full_pipe, monkeypatch):
    _, stream = full_pipe
    monkeypatch.setattr(Drain.finish, "__defaults__", (0.01,))
    out = Output(stream, stream, is_plain=True)
    out.write_without_blocking(lambda _lines: None, with_data=True)
    out.note("not read")
    out.close()


def test_streams_without_descriptors_are_unchanged(capsys):
    out = Output(sys.stdout, sys.stderr, is_plain=True)
    dropped_lines = out.write_without_blocking(lambda _lines: None, with_data=True)
    out.note("seen")
    out.close()
    assert (dropped_lines(), capsys.readouterr().err) == (0, "seen\n")


FILE = """
version: 1
service: {{http: {{listen: "127.0.0.1:{port}"}}}}
stores: {{unused: {{memory: {{}}}}, local: {{memory: {{}}}}}}
pipelines: {{any: {{source: {{files: {{path: ./in}}}}, sinks: [{{attr2hbase: {{store: local, table: t}}}}]}}}}
"""


def test_start_with_a_warning_does_not_block_on_an_unread_pipe(full_pipe, tmp_path):
    _, stream = full_pipe
    with socket.create_server(("127.0.0.1", 0)) as used:
        (tmp_path / "p.yaml").write_text(FILE.format(port=used.getsockname()[1]))
        command = [sys.executable, "-m", "ingest", "run", "p.yaml"]
        environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2])}
        done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=stream, timeout=120, check=False)
    assert done.returncode == ConflictError.exit_code
