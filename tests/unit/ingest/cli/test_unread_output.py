"""A service whose output is not read keeps running."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from ingest.cli.output import Output
from ingest.observe.drain import Drain


@pytest.fixture
def full() -> Iterator[tuple[int, TextIO]]:
    """The end of a full pipe where somebody could read, and the other end as a stream."""
    reader, writer = os.pipe()
    os.write(writer, b"." * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))
    stream = os.fdopen(writer, "w")
    yield reader, stream
    os.close(reader)
    with contextlib.suppress(OSError):
        stream.close()


def test_lines_wait_for_a_reader_and_the_service_does_not(full):
    reader, stream = full
    earlier = sys.stderr
    out = Output(stream, stream, is_plain=True)
    lost_lines = out.wait_for_nobody(lambda _lines: None, with_data=True)
    out.note("a note")
    out.line("data")
    print("from anywhere", file=sys.stderr)  # noqa: T201 - a library may
    assert lost_lines() == 0
    assert os.read(reader, 1 << 20) == b"." * 4096
    said = b""
    while said.count(b"\n") < 3:
        said += os.read(reader, 1 << 20)
    out.close()
    assert set(said.splitlines()) == {b"a note", b"data", b"from anywhere"}
    assert sys.stderr is earlier


def test_last_lines_have_an_end(full, monkeypatch):
    _, stream = full
    monkeypatch.setattr(Drain.finish, "__defaults__", (0.01,))
    out = Output(stream, stream, is_plain=True)
    out.wait_for_nobody(lambda _lines: None, with_data=True)
    out.note("nobody reads this")
    out.close()


def test_without_files_nothing_changes(capsys):
    out = Output(sys.stdout, sys.stderr, is_plain=True)
    lost_lines = out.wait_for_nobody(lambda _lines: None, with_data=True)
    out.note("seen")
    out.close()
    assert (lost_lines(), capsys.readouterr().err) == (0, "seen\n")
