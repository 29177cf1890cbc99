"""How a replay reports what blocks it."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pytest

from ingest.api import RecordPlace
from ingest.service.replay import runner as replay_runner
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.runner import ReplayRunner, _Observer


class BatchRunner:
    """A runner of batches whose first attempt at an action fails."""

    def __init__(self, observer: _Observer) -> None:
        self.observer = observer

    def run_batch(
        self,
        frame: object,
        number: int,
        time_ms: int,
        name: str,
        splits: Callable[[], Iterable[RecordPlace]],
        guard: object,
    ) -> None:
        self.splits, self.guard = list(splits()), guard
        self.ran = (frame, number, time_ms, name)

    def until_possible(self, action: Callable[[], int]) -> int:
        self.observer.blocked("store_unavailable", "HDFS does not answer")
        return action()


def test_action_that_is_retried_blocks_the_replay_until_it_succeeds():
    reasons: list[str] = []
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._observer = _Observer("p", reasons.append)
    runner._runner = BatchRunner(runner._observer)  # type: ignore[assignment]
    assert runner.until_possible(lambda: 7) == 7
    assert reasons == ["store_unavailable: HDFS does not answer", ""]


def test_splits_of_a_batch_are_its_ranges(monkeypatch: pytest.MonkeyPatch):
    ranges = {("t", 1): (4, 9), ("t", 0): (0, 2)}
    monkeypatch.setattr(replay_runner, "read_kafka_ranges", lambda *arguments: ("frame", *arguments))
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._session, runner._settings, runner._updates = "session", "settings", None  # type: ignore[assignment]
    runner._quarantine = SimpleNamespace(guard=sorted)  # type: ignore[assignment]
    runner._observer = _Observer("p", lambda _reason: None)
    runner._runner = batch_runner = BatchRunner(runner._observer)  # type: ignore[assignment]
    runner.run(ReplayBatch(BatchKind.WHOLE, 7, 1_000, ranges))
    assert batch_runner.splits == [("t", 1, 4), ("t", 0, 0)]
    frame, number, time_ms, name = batch_runner.ran
    assert (frame, number, time_ms) == (("frame", "session", "settings", ranges), 7, 1_000)
    assert "1000" in name
    assert batch_runner.guard == [("t", 0), ("t", 1)]
