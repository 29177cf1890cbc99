"""How long a call is repeated."""

from sinks.hbase.rpc.attempts import PATIENCE_S, Attempts


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def attempts(clock: Clock, timeout_s: float) -> Attempts:
    return Attempts(timeout_s, clock=clock, sleep=clock.sleep)


def test_pauses_double_up_to_a_second_and_end_with_the_patience() -> None:
    clock = Clock()
    made = attempts(clock, 180.0)
    assert made.deadline_s == 280.0
    while made.pause():
        pass
    assert clock.pauses[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert PATIENCE_S - 1 < sum(clock.pauses) <= PATIENCE_S


def test_timeout_may_be_shorter_than_the_patience() -> None:
    clock = Clock()
    made = attempts(clock, 0.2)
    while made.pause():
        pass
    assert clock.pauses == [0.05, 0.1]
    assert made.is_in_time
    clock.now_s += 1
    assert not made.is_in_time
