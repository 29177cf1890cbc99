"""Which offsets a replay of a time range reads, and how fast."""

from types import SimpleNamespace

import pytest

from ingest.service import range_replay
from ingest.service.cancellation import Cancellation
from ingest.service.replay_state import RangeRequest
from ingest.spark.streaming.batch_log import LoggedBatch

P0, P1, P2 = ("t", 0), ("t", 1), ("t", 2)


class Admin:
    """A topic of three partitions; partition 2 has no record of the range's end or later, 1 none of its start."""

    def ends(self, _topics: object) -> dict[tuple[str, int], int]:
        return {P0: 100, P1: 50, P2: 30}

    def offsets_since(self, _topics: object, time_ms: int) -> dict[tuple[str, int], int]:
        return {1_000: {P0: 10, P2: 5}, 2_000: {P0: 101}}[time_ms]


def test_range_is_from_the_first_record_not_older_to_the_last_stable_one():
    found = range_replay._between(Admin(), ["t"], RangeRequest(1_000, 2_000))
    assert found == {P0: (10, 100), P2: (5, 30)}


def test_only_durable_records_are_selected():
    batches = [LoggedBatch(0, 1_000, {P0: (0, 60)}), LoggedBatch(1, 1_002, {P0: (60, 70)})]
    ends = range_replay._durable_ends(batches, {P0: 60, P1: 20})
    assert ends == {P0: 70, P1: 20}
    selected = {P0: (10, 100), P1: (0, 15), P2: (5, 30)}
    assert range_replay._up_to(selected, ends) == {P0: (10, 70), P1: (0, 15)}


def test_without_a_checkpoint_all_records_are_selected():
    assert range_replay._up_to({P0: (10, 100)}, {}) == {P0: (10, 100)}


class Waits(Cancellation):
    """Notes the waits, and lets the clock pass."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = 50.0
        self.seconds: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        self.clock += seconds
        return False


@pytest.mark.parametrize(("rate", "waited"), [(None, []), (100.0, [0.5, 2.0])])
def test_rate_is_an_average(monkeypatch: pytest.MonkeyPatch, rate: float | None, waited: list[float]):
    waits = Waits()
    monkeypatch.setattr(range_replay, "time", SimpleNamespace(monotonic=lambda: waits.clock))
    pace = range_replay._Pace(rate, waits)
    waits.clock += 0.5
    pace.wait(100)  # after half a second
    pace.wait(200)
    assert waits.seconds == waited
