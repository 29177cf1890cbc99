"""How much of the retention the unread records of a topic have used."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ingest.kafka.retention import Backlog, backlogs
from ingest.kafka.stored import TopicSettings

NOW_MS = 1_000_000_000
HOUR_MS = 3_600_000
Part = tuple[str, int]


class Admin:
    """A topic; the times of the records of each partition rise, and the last `uncommitted` are in a transaction."""

    def __init__(self, *times_ms: Sequence[int], earliest: int = 0, uncommitted: int = 0) -> None:
        self._times_ms = {("t", number): each for number, each in enumerate(times_ms)}
        self._earliest = earliest
        self._uncommitted = uncommitted
        self.requests = 0

    def earliest(self, topics: Sequence[str]) -> dict[Part, int]:
        assert topics == ["t"]
        return dict.fromkeys(self._times_ms, self._earliest)

    def ends(self, topics: Sequence[str]) -> dict[Part, int]:
        return {part: end - self._uncommitted for part, end in self.high_watermarks(topics).items()}

    def high_watermarks(self, topics: Sequence[str]) -> dict[Part, int]:
        assert topics == ["t"]
        return {part: self._earliest + len(times_ms) for part, times_ms in self._times_ms.items()}

    def first_since(self, times_ms: Mapping[Part, int]) -> dict[Part, int]:
        self.requests += 1
        found = {part: bisect_left(self._times_ms[part], time_ms) for part, time_ms in times_ms.items()}
        return {part: self._earliest + at for part, at in found.items() if at < len(self._times_ms[part])}


def limits(*, ms: int = HOUR_MS, size: int = -1, policy: str = "delete") -> TopicSettings:
    return TopicSettings(1_000, ms, size, policy)


def aged(*percent: float) -> list[int]:
    """Times of records that have used these percentages of an hour."""
    return [round(NOW_MS - each / 100 * HOUR_MS) for each in percent]


def used(admin: Any, limits: TopicSettings, *positions: int) -> list[float]:
    found = backlogs(admin, "t", limits, {("t", number): each for number, each in enumerate(positions)}, NOW_MS)
    return [found["t", number].used for number in range(len(positions))]


@pytest.mark.parametrize("percent", [0, 1, 2, 37, 49, 50, 64, 89, 90, 99, 100])
def test_first_unread_record_decides(percent: int) -> None:
    admin = Admin(aged(100, 99.9, percent + 0.5, 0.1))
    assert used(admin, limits(), 2) == [percent / 100]
    (backlog,) = backlogs(admin, "t", limits(), {("t", 0): 2}, NOW_MS).values()  # type: ignore[arg-type]
    assert backlog.remaining_s == pytest.approx(3600 - 36 * percent)


def test_partitions_are_measured_together() -> None:
    admin = Admin(aged(80.5, 10), aged(30.5), aged(99), aged(250), [NOW_MS + 5])
    assert used(admin, limits(), 0, 0, 1, 0, 0) == [0.8, 0.3, 0.0, 1.0, 0.0]
    assert admin.requests <= 14


def test_healthy_pipeline_costs_one_request() -> None:
    admin = Admin(aged(90, 0.2), aged(70, 0.1))
    assert used(admin, limits(), 1, 1) == [0.0, 0.0]
    assert admin.requests == 1


def test_pipeline_that_has_read_everything_costs_none() -> None:
    admin = Admin(aged(90, 80))
    assert (used(admin, limits(), 2), admin.requests) == ([0.0], 0)


def test_deleted_records_have_used_all_of_it() -> None:
    found = backlogs(Admin(aged(50), earliest=7), "t", limits(), {("t", 0): 3}, NOW_MS)  # type: ignore[arg-type]
    assert found == {("t", 0): Backlog(position=3, earliest=7, end=8, used=1.0, remaining_s=0.0)}


def test_records_behind_an_open_transaction_count_as_unread() -> None:
    """Kafka deletes them by age, too; a pipeline cannot read them before the transaction ends."""
    admin = Admin(aged(95.5, 94, 93), uncommitted=3)
    found = backlogs(admin, "t", limits(), {("t", 0): 0}, NOW_MS)  # type: ignore[arg-type]
    assert found == {("t", 0): Backlog(position=0, earliest=0, end=3, used=0.95, remaining_s=pytest.approx(180))}


def test_partition_without_a_position_is_left_out() -> None:
    found = backlogs(Admin(aged(50), aged(50)), "t", limits(), {("t", 1): 0, ("gone", 0): 1}, NOW_MS)  # type: ignore[arg-type]
    assert found.keys() == {("t", 1)}


@pytest.mark.parametrize("settings", [limits(ms=-1), limits(policy="compact"), limits(policy="compact", size=10)])
def test_records_that_are_never_deleted_use_nothing(settings: TopicSettings) -> None:
    assert used(Admin(aged(500), earliest=3), settings, 3) == [0.0]


def test_retention_longer_than_the_clock_is_possible() -> None:
    assert used(Admin([5]), limits(ms=2**63 - 1), 0) == [0.0]


class TestSize:
    def test_unread_part_of_a_topic_that_is_cut_by_size(self) -> None:
        admin = Admin([NOW_MS] * 10, earliest=100)
        found = backlogs(admin, "t", limits(ms=-1, size=1_000), {("t", 0): 104}, NOW_MS)  # type: ignore[arg-type]
        assert found == {("t", 0): Backlog(position=104, earliest=100, end=110, used=0.6, is_by_size=True)}

    def test_topic_that_has_deleted_nothing_is_not_full(self) -> None:
        assert used(Admin([NOW_MS] * 10), limits(ms=-1, size=1_000), 4) == [0.0]

    def test_first_record_younger_than_the_time_shows_that_size_cuts(self) -> None:
        admin = Admin(aged(40.5, 30, 20, 10), earliest=100)
        assert used(admin, limits(size=1_000), 101) == [0.75]

    def test_topic_that_is_cut_by_time_is_not_cut_by_size(self) -> None:
        admin = Admin(aged(101, 20.5, 10), earliest=100)
        assert used(admin, limits(size=1_000), 101) == [0.2]
