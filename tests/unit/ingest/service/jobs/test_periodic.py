"""Calls with the same time between them."""

import threading

from ingest.service.jobs.periodic import Periodic

FOREVER_S = 60.0


def test_called_until_the_block_ends():
    calls, called_twice = [], threading.Event()

    def call() -> None:
        calls.append(threading.current_thread().name)
        if len(calls) >= 2:
            called_twice.set()

    with Periodic("checks", 0.001, call):
        assert called_twice.wait(10)
    count = len(calls)
    assert {*calls} == {"checks"}
    assert not any(thread.name == "checks" for thread in threading.enumerate())
    assert len(calls) == count


def test_exception_does_not_end_the_calls():
    called_twice = threading.Event()
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        if len(calls) == 2:
            called_twice.set()
        raise OSError("once more")

    with Periodic("checks", 0.001, call):
        assert called_twice.wait(10)


def test_first_call_is_after_an_interval():
    calls: list[int] = []
    with Periodic("checks", FOREVER_S, lambda: calls.append(1)):
        pass
    assert calls == []


def test_end_of_the_block_does_not_wait_for_a_call_that_hangs():
    running, released = threading.Event(), threading.Event()

    def call() -> None:
        running.set()
        released.wait(10)

    with Periodic("checks", 0.001, call, join_s=0.01):
        assert running.wait(10)
    assert not released.is_set()
    released.set()
