"""When the jobs of a configuration are submitted."""

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.api import ConflictError
from ingest.service.jobs.schedule import DAY_S, Daily, Every, Schedule, ScheduledJob
from ingest.service.rewriting.blob_sweep import BlobSweep, BlobSweepOptions
from tests.support.submitted_jobs import SubmittedJobs

TWO, FIVE = 2 * 3600, 5 * 3600


def scheduled(when: Daily | Every, subject: str = "t", *tables: str) -> ScheduledJob:
    return ScheduledJob(when, BlobSweep(subject, BlobSweepOptions()), tables or (subject,))


def daily(at_s: int, subject: str = "t", *tables: str) -> ScheduledJob:
    return scheduled(Daily(at_s), subject, *tables)


class AtTimes:
    """A schedule at times that the test sets; its configuration is the list of what it declares."""

    def __init__(self, *declared: ScheduledJob) -> None:
        self.jobs = SubmittedJobs(list(declared))
        self.changes: list[tuple[list[str], float]] = []
        self._now_s = 0.0
        self.schedule = Schedule(
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
    def _declared(configuration: Any) -> list[ScheduledJob]:
        return list(configuration)

    def _changed(self, declared: list[ScheduledJob], now_s: float) -> None:
        self.changes.append(([each.job.subject for each in declared], now_s))


@pytest.fixture
def schedule() -> AtTimes:
    return AtTimes(daily(TWO))


def test_submitted_once_a_day(schedule):
    day = 10 * DAY_S
    times_s = (day, day + TWO - 1, day + TWO, day + TWO + 1, day + DAY_S, day + DAY_S + TWO + 5)
    assert schedule.counts_at(*times_s) == [0, 0, 1, 1, 1, 2]


def test_each_at_its_time():
    schedule = AtTimes(daily(FIVE, "later"), daily(TWO, "sooner"))
    assert schedule.counts_at(0, TWO, FIVE) == [0, 1, 2]
    assert [job.subject for job in schedule.jobs] == ["sooner", "later"]


def test_nothing_is_submitted_before_the_start():
    schedule = AtTimes()
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


def test_refused_job_is_submitted_at_its_next_time(schedule):
    schedule.counts_at(0)
    schedule.jobs.error = ConflictError("the queue is full")
    assert schedule.counts_at(TWO) == [0]
    schedule.jobs.error = None
    assert schedule.counts_at(TWO + 60, DAY_S + TWO) == [0, 1]


def test_clock_that_was_ahead_delays_nothing(schedule):
    ahead, day = 3 * 365 * DAY_S, 10 * DAY_S
    assert schedule.counts_at(ahead, day, day + TWO, day + TWO + 1, day + DAY_S + TWO) == [0, 0, 1, 1, 2]


def test_first_moment_of_the_day():
    schedule = AtTimes(daily(0))
    assert schedule.counts_at(0, DAY_S - 1, DAY_S) == [0, 0, 1]


def test_submitted_after_each_interval():
    schedule = AtTimes(scheduled(Every(600.0)))
    assert schedule.counts_at(100, 699, 700, 701, 1_299, 1_300) == [0, 0, 1, 1, 1, 2]


def test_reload_changes_the_interval():
    schedule = AtTimes(scheduled(Every(600.0)))
    schedule.counts_at(0)
    schedule.jobs.reload([scheduled(Every(60.0))])
    assert schedule.counts_at(30, 89, 90) == [0, 0, 1]
    schedule.jobs.reload([])
    assert schedule.counts_at(10_000) == [1]


def test_clock_that_was_ahead_delays_no_interval():
    schedule = AtTimes(scheduled(Every(600.0)))
    assert schedule.counts_at(50_000, 100, 699, 700) == [0, 0, 0, 1]


def test_thread_ends_with_the_block():
    with AtTimes().schedule as schedule:
        thread = schedule._thread
        assert thread.is_alive()
    assert not thread.is_alive()
