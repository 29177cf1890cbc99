"""Signals: the first stops gracefully, the second at once; SIGHUP is counted."""

import os
import signal

import pytest

from ingest.service.lifecycle import Stop


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_first_signal_stops_gracefully_and_second_at_once(number: int, code: int):
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), number)
        assert (stop.requested.is_set(), stop.at_once.is_set()) == (True, False)
        os.kill(os.getpid(), number)
        assert stop.at_once.is_set()
    assert stop.exit_code == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_to_driver_and_jvm_counts_once(number: int, code: int):
    stop = Stop()
    with stop.on_signals():
        stop.forwarded(number)
        os.kill(os.getpid(), number)
        assert (stop.requested.is_set(), stop.at_once.is_set()) == (True, False)
        stop.forwarded(number)
        assert stop.at_once.is_set()
    assert stop.exit_code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_handlers_are_restored(number: int):
    before = signal.getsignal(number)
    with Stop().on_signals():
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before


def test_forwarded_sighup_is_handled_as_a_direct_one():
    received: list[int] = []
    earlier = signal.signal(signal.SIGHUP, lambda number, _frame: received.append(number))
    try:
        Stop().forwarded(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, earlier)
    assert received == [signal.SIGHUP]


def test_sighup_is_counted_and_does_not_stop():
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
    assert (stop.hang_ups, stop.requested.is_set(), stop.exit_code) == (2, False, 0)
