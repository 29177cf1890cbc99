"""Signals while a JVM starts, or has ended; tests/fault/test_signals.py has those of a running one."""

import signal
import socket
import subprocess
import sys

import pytest
from pyspark import SparkContext

from ingest.api import IngestError
from ingest.spark.signals import forward_signals, interrupt_held, stop_signals_ignored_by_children


def test_jvm_that_has_ended_is_reported(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        unused = probe.getsockname()[1]
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", str(unused))
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "any")
    for name in ("_gateway", "_jvm"):  # PySpark keeps the JVM of an earlier test in this process, and would use it
        monkeypatch.setattr(SparkContext, name, None)
    with pytest.raises(IngestError, match="cannot set signal handlers") as error:
        forward_signals(lambda _number: None)
    assert error.value.code == "jvm_lost"


@pytest.mark.usefixtures("interruptible")
def test_interrupt_waits_until_the_end_of_the_block():
    reached = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the block shows when the signal arrives
        with interrupt_held():
            signal.raise_signal(signal.SIGINT)
            reached = True
        pytest.fail("not interrupted")
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_second_interrupt_does_not_wait():
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupt_held():  # noqa: PT012 - the block shows when the signals arrive
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert not reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def handlers_of_child() -> list[str]:
    """The handlers of SIGTERM, SIGHUP and SIGUSR1 in a program that is started as PySpark starts Java."""
    program = "from signal import *; print(*(getsignal(each).name for each in (SIGTERM, SIGHUP, SIGUSR1)))"
    command = [sys.executable, "-c", program]
    started = subprocess.run(command, preexec_fn=lambda: None, stdout=subprocess.PIPE, check=True)
    return started.stdout.decode().split()


@pytest.mark.usefixtures("hangs_up")
def test_program_that_is_started_in_the_block_ignores_stop_signals():
    here = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    with stop_signals_ignored_by_children():
        assert handlers_of_child() == ["SIG_IGN", "SIG_IGN", "SIG_DFL"]
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == here
    assert handlers_of_child() == ["SIG_DFL", "SIG_DFL", "SIG_DFL"]
