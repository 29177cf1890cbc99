"""Drain: writers never block."""

import contextlib
import fcntl
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ingest.observe.drain import Drain, caught_stderr
from tests.support.waiting import reached


class Pipe(NamedTuple):
    reader: int
    writer: int

    def read_lines(self, count: int) -> list[str]:
        found = b""
        while found.count(b"\n") < count:
            found += os.read(self.reader, 65536)
        return found.decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    yield Pipe(reader, writer)
    for descriptor in (reader, writer):
        with contextlib.suppress(OSError):  # the test closed it
            os.close(descriptor)


def test_lines_are_written_in_order(pipe):
    with Drain(pipe.writer) as drain:
        for number in range(100):
            assert drain.write(f"line {number} ö\ud800\n") == len(f"line {number} ö?\n")
    assert pipe.read_lines(100) == [f"line {number} ö\\ud800" for number in range(100)]
    assert drain.dropped == 0


def test_unread_lines_are_counted_and_reported_when_the_reader_resumes(pipe):
    os.write(pipe.writer, b"." * (fcntl.fcntl(pipe.writer, fcntl.F_SETPIPE_SZ, 4096) - 1) + b"\n")
    reported = []
    drain = Drain(pipe.writer, max_queued_bytes=10_000, on_drop=reported.append)
    for _ in range(2_000):
        drain.write("x" * 99 + "\n")
    assert (drain.dropped, reported, drain.finish(0.0)) == (1_900, [], False)
    assert len(pipe.read_lines(101)) == 101
    assert reached(lambda: reported == [1_900], 10)
    drain.write("again\n")
    assert pipe.read_lines(1) == ["again"]
    assert (drain.finish(10), drain.dropped, reported) == (True, 1_900, [1_900])


def test_text_larger_than_the_queue_is_dropped(pipe):
    drain = Drain(pipe.writer, max_queued_bytes=10)
    drain.write("one\n" * 5)
    assert drain.dropped == 5
    assert drain.finish(0.0)


def test_lines_to_a_closed_pipe_are_dropped_and_counted(pipe):
    drain = Drain(pipe.writer)
    os.close(pipe.reader)
    drain.write("one\ntwo\n")
    assert drain.finish(10)
    assert drain.dropped == 2


def test_nonblocking_pipe_receives_all_lines(pipe):
    os.set_blocking(pipe.writer, False)
    drain = Drain(pipe.writer)
    lines = [f"{number:0>999}" for number in range(200)]
    for line in lines:
        drain.write(line + "\n")
    assert pipe.read_lines(200) == lines
    assert drain.dropped == 0


def test_forked_child_writes_only_its_own_lines(pipe):
    drain = Drain(pipe.writer)
    filler = "x" * 65_535 + "\n"
    drain.write(filler)
    drain.write("of the parent\n")
    pid = os.fork()
    if pid == 0:
        drain.write("of the child\n")
        os._exit(0 if drain.finish(20) else 1)
    lines = pipe.read_lines(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    # the child may be first
    assert sorted(lines) == ["of the child", "of the parent", filler.rstrip()]


def test_concurrent_writers_lose_no_line(pipe):
    drain = Drain(pipe.writer)

    def write(name: int) -> None:
        for number in range(200):
            drain.write(f"{name}:{number}\n")

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    lines = pipe.read_lines(800)
    assert sorted(lines) == sorted(f"{name}:{number}" for name in range(4) for number in range(200))
    for thread in threads:
        thread.join()


def test_stream_without_a_descriptor_has_no_drain():
    assert Drain.of(io.StringIO()) is None


def test_stderr_of_a_child_process_does_not_block(pipe, monkeypatch):
    with Drain(pipe.writer) as drain:
        monkeypatch.setattr(sys, "stderr", drain)
        with caught_stderr():
            child = subprocess.Popen(["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '\\n' >&2; echo end >&2"])
        assert child.wait(60) == 0
        assert pipe.read_lines(200_001)[-1] == "end"


def test_process_exits_while_its_stderr_is_blocked():
    """The interpreter flushes its streams at shutdown, and would wait for a lock that the hanging thread holds."""
    program = """
import sys
from ingest.observe.drain import Drain, caught_stderr
with Drain.of(sys.stderr) as drain:
    sys.stderr = drain
    for _ in range(100):
        print("x" * 10_000, file=sys.stderr)
    print("dropped", drain.dropped, flush=True)
raise SystemExit(7)
"""
    reader, writer = os.pipe()
    try:
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=writer, text=True)
        assert child.wait(60) == 7
        assert child.stdout is not None
        assert child.stdout.read() == "dropped 0\n"
        child.stdout.close()
        assert len(os.read(reader, 1 << 20)) > 32_000
    finally:
        os.close(reader)
        os.close(writer)
