"""A stream that never makes its writers wait."""

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


def test_lines_come_out_in_their_order(pipe):
    with Drain(pipe.writer) as drain:
        for number in range(100):
            assert drain.write(f"line {number} ö\ud800\n") == len(f"line {number} ö?\n")
    assert pipe.read_lines(100) == [f"line {number} ö\\ud800" for number in range(100)]
    assert drain.lost == 0


def test_unread_lines_are_counted_and_reported_when_the_reader_resumes(pipe):
    os.write(pipe.writer, b"." * (fcntl.fcntl(pipe.writer, fcntl.F_SETPIPE_SZ, 4096) - 1) + b"\n")
    reported = []
    drain = Drain(pipe.writer, max_waiting_bytes=10_000, on_lost=reported.append)
    for _ in range(2_000):
        drain.write("x" * 99 + "\n")
    assert (drain.lost, reported, drain.finish(0.0)) == (1_900, [], False)
    assert len(pipe.read_lines(101)) == 101
    assert reached(lambda: reported == [1_900], 10)
    drain.write("again\n")
    assert pipe.read_lines(1) == ["again"]
    assert (drain.finish(10), drain.lost, reported) == (True, 1_900, [1_900])


def test_text_that_can_never_fit_is_lost_at_once(pipe):
    drain = Drain(pipe.writer, max_waiting_bytes=10)
    drain.write("one\n" * 5)
    assert drain.lost == 5
    assert drain.finish(0.0)


def test_reader_that_went_away_loses_lines_alone(pipe):
    drain = Drain(pipe.writer)
    os.close(pipe.reader)
    drain.write("nobody\nreads\n")
    assert drain.finish(10)
    assert drain.lost == 2


def test_pipe_that_somebody_made_nonblocking_is_waited_for(pipe):
    os.set_blocking(pipe.writer, False)
    drain = Drain(pipe.writer)
    lines = [f"{number:0>999}" for number in range(200)]
    for line in lines:
        drain.write(line + "\n")
    assert pipe.read_lines(200) == lines
    assert drain.lost == 0


def test_forked_child_writes_its_own_lines_alone(pipe):
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
    assert sorted(lines[1:]) == ["of the child", "of the parent"]


def test_many_threads_lose_nothing(pipe):
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


def test_stream_without_a_file_has_none():
    assert Drain.of(io.StringIO()) is None


def test_children_wait_for_nobody_either(pipe, monkeypatch):
    with Drain(pipe.writer) as drain:
        monkeypatch.setattr(sys, "stderr", drain)
        with caught_stderr():
            child = subprocess.Popen(["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '\\n' >&2; echo end >&2"])
        assert child.wait(60) == 0
        assert pipe.read_lines(200_001)[-1] == "end"


def test_process_ends_in_time_with_its_stderr_blocked():
    """The interpreter flushes its streams at the end, and would wait for a lock that a hanging thread holds."""
    program = """
import sys
from ingest.observe.drain import Drain, caught_stderr
with Drain.of(sys.stderr) as drain:
    sys.stderr = drain
    for _ in range(100):
        print("x" * 10_000, file=sys.stderr)
    print("lost", drain.lost, flush=True)
raise SystemExit(7)
"""
    reader, writer = os.pipe()
    try:
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=writer, text=True)
        assert child.wait(60) == 7
        assert child.stdout is not None
        assert child.stdout.read() == "lost 0\n"
        child.stdout.close()
        assert len(os.read(reader, 1 << 20)) > 32_000
    finally:
        os.close(reader)
        os.close(writer)
