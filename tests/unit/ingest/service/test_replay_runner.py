"""How a replay reports what blocks it."""

from collections.abc import Callable

from ingest.service.replay_runner import ReplayRunner, _Observer


class Job:
    """A job whose first attempt at an action fails."""

    def __init__(self, observer: _Observer) -> None:
        self.observer = observer

    def until_possible(self, action: Callable[[], int]) -> int:
        self.observer.blocked("store_unavailable", "HDFS does not answer")
        return action()


def test_action_that_is_retried_blocks_the_replay_until_it_succeeds():
    reasons: list[str] = []
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._observer = _Observer("p", reasons.append)
    runner._job = Job(runner._observer)  # type: ignore[assignment]
    assert runner.until_possible(lambda: 7) == 7
    assert reasons == ["store_unavailable: HDFS does not answer", ""]
