"""Calls to a process that may not answer."""

import threading

import pytest

from ingest.spark.streaming.timed_caller import TimedCaller
from tests.support.waiting import reached


def test_result_is_returned():
    call = TimedCaller()
    assert [call(lambda number=number: number, default=-1) for number in range(3)] == [0, 1, 2]
    assert call.pending_s == 0


def test_exception_of_a_call_is_raised():
    call = TimedCaller()

    def broken() -> int:
        raise ConnectionRefusedError("connection refused")

    with pytest.raises(ConnectionRefusedError, match="connection refused"):
        call(broken, default=0)
    assert call(lambda: 1, default=0) == 1


def test_no_call_is_made_while_one_is_pending():
    now_s = [100.0]
    call = TimedCaller(timeout_s=0.01, clock=lambda: now_s[0])
    may_return, called = threading.Event(), []
    assert call(lambda: may_return.wait(60), default=None) is None
    now_s[0] += 30
    assert call.pending_s == 30
    assert call(lambda: called.append(1), default="default") == "default"
    assert called == []
    may_return.set()
    assert reached(lambda: call.pending_s == 0, 20)
    # the time limit of this caller is shorter than a busy machine may take to start a thread
    assert reached(lambda: call(lambda: "called", default="default") == "called", 20)
