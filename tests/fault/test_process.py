"""
F33, F39, F41, F42: the clock jumps, scrapers hang, nothing reads the log, a decorator hangs, the JVM hangs. The
pipeline continues or reports the reason.
"""

import contextlib
import fcntl
import os
import signal
import socket
import struct
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.support.clock import JumpingClock
from tests.support.ledger.events import chain
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun

HOUR_S = 3_600
HANGING = 8  # connections; the endpoint handles sixteen at a time


class FullPipe:
    """
    A full pipe without a reader.

    Attributes:
        path: path to open, like that of a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.filler = b"." * fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, 4096)
        os.write(self._descriptor, self.filler)

    @property
    def is_full(self) -> bool:
        """Whether the pipe is still full."""
        waiting = struct.unpack("i", fcntl.ioctl(self._descriptor, termios.FIONREAD, b"\0" * 4))[0]
        return bool(waiting == len(self.filler))

    def read(self) -> bytes:
        """Content of the pipe."""
        return os.read(self._descriptor, 1 << 20)

    def close(self) -> None:
        os.close(self._descriptor)


class HangingScrapers:
    """Clients that request /metrics without reading the response, or never complete the request; they reconnect."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(HANGING)]
        self.connections = 0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1) as client:
                self.connections += 1
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" if number % 2 else b"GET /met")
                while not self._stop.wait(0.5):
                    if number % 2 == 0:
                        client.sendall(b"r")
            self._stop.wait(0.1)


@pytest.fixture
def clock(tmp_path: Path) -> JumpingClock:
    return JumpingClock(tmp_path / "clock")


@pytest.fixture
def full_pipe(tmp_path: Path) -> Iterator[FullPipe]:
    pipe = FullPipe(tmp_path / "pipe")
    yield pipe
    pipe.close()


def start_blocked(run: LedgerRun, pipe: FullPipe, **env: str) -> None:
    """Start the service with a full pipe as stderr."""
    plain, run.service.log = run.service.log, pipe.path
    run.begin(env=env)
    run.service.log = plain  # messages of failures must not read the pipe
    run.service.wait_for_state("running", run.pipeline)


def check_busy_port(run: LedgerRun) -> None:
    """The port of the metrics is in use: exit code 4 and the remedy, before anything is read."""
    with socket.create_server(("127.0.0.1", run.service.port)):
        run.begin()
        assert run.service.wait_for_exit(60) == 4
    log = run.service.last_lines()
    assert f'address "127.0.0.1:{run.service.port}" is in use' in log
    assert "listen to another port" in log
    assert run.service.checkpoint(run.pipeline).commits() == []
    run.proven("port in use: exit 4")


def jump(run: LedgerRun, clock: JumpingClock, shift_s: int) -> None:
    """Shift the clock while batches run; wait until driver and JVM have read it and two batches are acknowledged."""
    clock.jump(shift_s)
    run.service.wait_for_batches(2, run.pipeline, timeout_s=60)
    jvm = run.service.jvm()
    assert jvm is not None
    pids = {run.service.pid, jvm.pid}
    run.service.wait_for(lambda: pids <= clock.shifted(shift_s), f"a clock {shift_s} s off", timeout_s=30)
    run.proven(f"clock {shift_s:+} s for driver and JVM")


def assert_times_rise(run: LedgerRun) -> None:
    checkpoint = run.service.checkpoint(run.pipeline)
    times = [checkpoint.time_ms(number) for number in checkpoint.commits()]
    assert times == sorted(set(times))
    assert max(times) > time.time() * 1000 + HOUR_S * 500, "no batch has the shifted time"


@pytest.mark.slow
def test_f39_f41_f42_clock_jumps_with_hanging_scrapers_and_an_unread_log(
    ledger_run: LedgerRuns, clock: JumpingClock, full_pipe: FullPipe
) -> None:
    run = ledger_run("F39 clock, F41 scrapers, F42 log", batch_size=300, rows=400)
    run.produce(600)
    check_busy_port(run)
    start_blocked(run, full_pipe, **clock.environment())
    with run.produce_in_background(400), HangingScrapers(run.service.port) as scrapers:
        run.service.wait_for_batches(1, run.pipeline)
        # so that Spark logs its end to the same stderr
        for worker in run.service.workers()[:1]:
            run.service.kill(worker)
            run.proven(f"worker {worker.pid} killed, to make the JVM write")
        for shift_s in (HOUR_S, -HOUR_S):
            jump(run, clock, shift_s)
            assert run.service.get("/readyz")[0] == 200
        run.proven(f"{scrapers.connections} hanging connections of scrapers")
    assert full_pipe.is_full
    run.proven(f"stderr is a full pipe of {len(full_pipe.filler)} bytes")
    run.finish()
    assert_times_rise(run)
    assert full_pipe.read().startswith(full_pipe.filler)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f39_clock_jumps_between_timed_batches(ledger_run: LedgerRuns, clock: JumpingClock) -> None:
    """The trigger of each batch waits for a time, while the clock jumps by an hour."""
    run = ledger_run("F39 clock, a batch every second", batch_size=300, rows=400, pipeline={"trigger": {"every": "1s"}})
    run.produce(300)
    run.start(env=clock.environment())
    with run.produce_in_background(100):
        for shift_s in (HOUR_S, -HOUR_S, 0):
            jump(run, clock, shift_s)
    run.finish()
    assert_times_rise(run)
    assert "the clock was set back; the query is restarted" in {line.get("message") for line in run.service.lines()}


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_hanging_jvm_is_reported_resumes_and_does_not_delay_a_stop(ledger_run: LedgerRuns) -> None:
    run = ledger_run("F04 SIGSTOP of the JVM", batch_size=500)
    run.produce(2_000)
    run.start()
    with run.produce_in_background(200):
        run.service.wait_for_batches(2, run.pipeline)
        jvm = run.service.jvm()
        assert jvm is not None
        jvm.send_signal(signal.SIGSTOP)
        run.service.wait_for_state("blocked", run.pipeline)
        assert "jvm_unresponsive" in run.service.get("/readyz")[1]
        assert run.service.get("/livez")[0] == 200
        jvm.send_signal(signal.SIGCONT)
        run.service.wait_for_state("running", run.pipeline)
        run.service.wait_for_batches(2, run.pipeline)
        run.proven(f"JVM {jvm.pid} stopped until blocked was reported, then resumed")
        jvm.send_signal(signal.SIGSTOP)
        run.service.wait_for_state("blocked", run.pipeline)
        assert run.service.stop(45) == 0, run.service.last_lines()
        run.proven(f"JVM {jvm.pid} stopped, SIGTERM: exit 0")
    run.service.wait_until_gone()
    run.check_while_dead()
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f33_hanging_decorator_fails_only_its_events(ledger_run: LedgerRuns) -> None:
    hanging = (123, 1_500, 1_501, 2_999)
    places = ", ".join(f"'0:{number}'" for number in hanging)
    decorators = [
        {"value": {"attribute": "filler", "value": "a" * 60 + "!"}},
        {
            "value": {
                "label": "backtracks",
                "attribute": "unused",
                "value": "%{replace_pattern(%{filler}, '(a+)+$', '')}",
                "when": f"%{{pn}} in ({places})",
            }
        },
    ]
    run = ledger_run(
        "F33 a pattern that backtracks",
        batch_size=1_000,
        dead=dict.fromkeys(hanging, "decorator_timeout"),
        pipeline={"decorators": [*decorators, *chain()], "error_budget": {"share": "100%"}},
    )
    run.produce(4_000)
    run.start()
    run.service.wait_for(lambda: bool(run.service.workers()), "a worker")
    workers = {worker.pid for worker in run.service.workers()}
    assert {worker.parent().cmdline()[2] for worker in run.service.workers()} == {"ingest.spark.worker_daemon"}
    run.wait_acknowledged()
    assert {worker.pid for worker in run.service.workers()} >= workers, "a worker was lost"
    assert run.service.metric("attr2hbase_events_dead_lettered_total", error="decorator_timeout") == len(hanging)
    run.proven(f"{len(hanging)} events were interrupted in a search that does not end")
    run.finish()
