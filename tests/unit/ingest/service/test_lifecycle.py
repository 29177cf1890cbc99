"""Signals: the first asks, the second insists."""

import os
import signal

import pytest

from ingest.service.lifecycle import Stop


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_first_signal_asks_and_second_insists(number: int, code: int):
    stop = Stop()
    with stop.on_signals():
        os.kill(os.getpid(), number)
        assert (stop.asked.is_set(), stop.at_once.is_set()) == (True, False)
        os.kill(os.getpid(), number)
        assert stop.at_once.is_set()
    assert stop.exit_code == code


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with Stop().on_signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
