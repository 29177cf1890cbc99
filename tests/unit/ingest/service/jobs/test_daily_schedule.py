"""When the jobs of each day are submitted."""

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.api import ConflictError
from ingest.service.jobs.daily_schedule import DAY_S, DailyJob, DailySchedule
from ingest.service.rewriting.body_sweep_job import BodySweepJob
from tests.support.submitted_jobs import SubmittedJobs

TWO, FIVE = 2 * 3600, 5 * 3600


def daily(at_s: int, subject: str = "t", *tables: str) -> DailyJob:
    return DailyJob(at_s, tables or (subject,), BodySweepJob(subject))


class Schedule:
    """A schedule at times that the test sets; its configuration is the list of what it declares."""

    def __init__(self, *declared: DailyJob) -> None:
        self.jobs = SubmittedJobs(list(declared))
        self.changes: list[tuple[list[str], float]] = []
        self._now_s = 0.0
        self.schedule = DailySchedule(
            "days", self.jobs, self._declared, self._changed, clock_ms=lambda: round(self._now_s * 1000)
        )

    def counts_at(self, *times_s: float) -> Sequence[int]:
        """How many jobs were submitted until each of these moments."""
        counts = []
        for self._now_s in times_s:
            self.schedule.submit_due()
            counts.append(len(self.jobs))
        return counts

    @staticmethod
    def _declared(configuration: Any) -> list[DailyJob]:
        return list(configuration)

    def _changed(self, declared: list[DailyJob], now_s: float) -> None:
        self.changes.append(([each.job.subject for each in declared], now_s))


@pytest.fixture
def schedule() -> Schedule:
    return Schedule(daily(TWO))


def test_submitted_once_a_day(schedule):
    day = 10 * DAY_S
    times_s = (day, day + TWO - 1, day + TWO, day + TWO + 1, day + DAY_S, day + DAY_S + TWO + 5)
    assert schedule.counts_at(*times_s) == [0, 0, 1, 1, 1, 2]


def test_each_at_its_time():
    schedule = Schedule(daily(FIVE, "later"), daily(TWO, "sooner"))
    assert schedule.counts_at(0, TWO, FIVE) == [0, 1, 2]
    assert [job.subject for job in schedule.jobs] == ["sooner", "later"]


def test_nothing_is_submitted_before_the_start():
    schedule = Schedule()
    schedule.jobs.shared = None
    assert schedule.counts_at(TWO - 1, TWO) == [0, 0]
    assert schedule.changes == []


def test_time_in_the_past_is_not_made_up_for(schedule):
    assert schedule.counts_at(TWO, DAY_S + TWO) == [0, 1]


def test_reload_changes_the_time(schedule):
    schedule.counts_at(0)
    schedule.jobs.reload([daily(FIVE)])
    assert schedule.counts_at(TWO + 1, FIVE) == [0, 1]


def test_reload_keeps_a_time_that_is_due(schedule):
    schedule.counts_at(TWO - 1)
    schedule.jobs.reload([daily(TWO, "t", "t", "another"), daily(FIVE, "new")])
    assert schedule.counts_at(TWO + 1) == [1]


def test_change_is_reported_once(schedule):
    schedule.counts_at(0, 1)
    schedule.jobs.reload([daily(TWO, "t", "t", "another")])
    schedule.counts_at(2, 3)
    schedule.jobs.reload([])
    schedule.counts_at(4, 5)
    assert schedule.changes == [(["t"], 0), (["t"], 2), ([], 4)]


def test_refused_job_is_submitted_the_next_day(schedule):
    schedule.counts_at(0)
    schedule.jobs.error = ConflictError("the queue is full")
    assert schedule.counts_at(TWO) == [0]
    schedule.jobs.error = None
    assert schedule.counts_at(TWO + 60, DAY_S + TWO) == [0, 1]


def test_clock_that_was_ahead_delays_nothing(schedule):
    ahead, day = 3 * 365 * DAY_S, 10 * DAY_S
    assert schedule.counts_at(ahead, day, day + TWO, day + TWO + 1, day + DAY_S + TWO) == [0, 0, 1, 1, 2]


def test_first_moment_of_the_day():
    schedule = Schedule(daily(0))
    assert schedule.counts_at(0, DAY_S - 1, DAY_S) == [0, 0, 1]
