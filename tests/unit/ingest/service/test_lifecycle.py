"""Signals: the first stops gracefully, the second at once; SIGHUP is counted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.observe.logs import set_up
from ingest.service.lifecycle import HeldHangUps, Stop
from tests.support.waiting import reached

pytestmark = pytest.mark.usefixtures("hangs_up")

WAIT_S = 30.0
"""For the thread that handles signals; only a failing test waits so long."""
ROOT = Path(__file__).resolve().parents[4]

MANY_SIGNALS = """
import os, signal, sys, threading
from ingest.observe.logs import set_up
from ingest.service.lifecycle import Stop

def send():
    for number in range(COUNT):
        os.kill(os.getpid(), signal.SIGTERM)
        if number % 10 == 0:
            hang_up()
    sent.set()

def hang_up():
    before = stop.hang_ups
    os.kill(os.getpid(), signal.SIGHUP)
    while stop.hang_ups == before:  # two that are pending at a time would count once
        handled.wait(0.0001)

COUNT = int(sys.argv[1])
stop, sent, handled = Stop(), threading.Event(), threading.Event()
set_up()
with stop.on_signals():
    sender = threading.Thread(target=send)
    sender.start()
    while not sent.is_set():
        stop.requested.wait(0.0001)
        stop.at_once.wait(0.0001)
    sender.join()
print(stop.requested.is_set(), stop.at_once.is_set(), stop.hang_ups, stop.exit_code)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_first_signal_stops_gracefully_and_second_at_once(number: int, code: int, capsys: pytest.CaptureFixture[str]):
    set_up()
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), number)
        assert stop.requested.wait(WAIT_S)
        assert not stop.at_once.is_set()
        os.kill(os.getpid(), number)
        assert stop.at_once.wait(WAIT_S)
    assert stop.exit_code == code
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["signal"] == signal.Signals(number).name


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_to_driver_and_jvm_counts_once(number: int, code: int):
    stop = Stop()
    with stop.on_signals():
        stop.forwarded(number)
        os.kill(os.getpid(), number)
    assert (stop.requested.is_set(), stop.at_once.is_set()) == (True, False)
    with stop.on_signals():
        stop.forwarded(number)
    assert stop.at_once.is_set()
    assert stop.exit_code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_handlers_are_restored(number: int):
    before = signal.getsignal(number)
    with Stop().on_signals():
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before


def test_sighup_stops_a_command_that_reloads_nothing():
    stop = Stop(reloads=False)
    with stop.on_signals():
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.requested.wait(WAIT_S)
    assert (stop.hang_ups, stop.exit_code) == (0, 0)


def test_forwarded_sighup_is_handled_as_a_direct_one():
    stop = Stop()
    with stop.on_signals():
        stop.forwarded(signal.SIGHUP)
        assert reached(lambda: stop.hang_ups == 1, WAIT_S)
    assert not stop.requested.is_set()


def test_sighup_is_counted_and_does_not_stop():
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
    assert (stop.hang_ups, stop.requested.is_set(), stop.exit_code) == (2, False, 0)


def test_signals_while_the_main_thread_polls_the_events_cannot_block_it():
    """In a process of its own, since a main thread that waits for a lock it holds never ends."""
    count = 2_000
    done = subprocess.run(
        [sys.executable, "-c", MANY_SIGNALS, str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"True True {count // 10} 0\n")
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["signal"] == "SIGTERM"


@pytest.mark.parametrize("reloads", [True, False])
def test_ignored_sighup_stays_ignored(reloads: bool, capsys: pytest.CaptureFixture[str]):
    """As under `nohup`; a stop is still a stop."""
    set_up()
    earlier = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop(reloads=reloads)
    try:
        with stop.on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.requested.wait(WAIT_S)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, earlier)
    assert (stop.hang_ups, stop.at_once.is_set()) == (0, False)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["hint"] for line in lines if "nohup" in line["message"]] == (
        ["'attr2hbase reload' reloads the file"] if reloads else []
    )


def test_hang_up_before_the_handlers_counts():
    stop = Stop()
    earlier = signal.signal(signal.SIGHUP, HeldHangUps())  # as `attr2hbase run` does first
    try:
        os.kill(os.getpid(), signal.SIGHUP)
        # a child has no part of it
        child = subprocess.run(["sh", "-c", "kill -HUP $$"], timeout=60, check=False)
        with stop.on_signals():
            assert reached(lambda: stop.hang_ups == 1, WAIT_S)
    finally:
        signal.signal(signal.SIGHUP, earlier)
    assert child.returncode == -signal.SIGHUP
