"""Waiting for a condition takes little CPU."""

import time

from tests.support.waiting import PAUSES, reached

CHECK_S, TIMEOUT_S = 0.004, 0.3


def test_costly_condition_is_checked_less_often() -> None:
    checks = 0

    def costs() -> bool:
        nonlocal checks
        checks += 1
        end = time.thread_time() + CHECK_S
        while time.thread_time() < end:
            pass
        return False

    assert not reached(costs, TIMEOUT_S)
    assert checks <= TIMEOUT_S / (PAUSES * CHECK_S) + 2


def test_condition_that_is_true_is_checked_once_whatever_the_limit() -> None:
    assert reached([True].pop, 0)
