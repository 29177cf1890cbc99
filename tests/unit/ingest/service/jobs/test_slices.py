"""Slices: repeated while ranges remain, and given up when a store stays unavailable."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from ingest.api import ConflictError, IngestError, StoreUnavailableError
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.slices import UNAVAILABLE_S, slices
from tests.support.clock import Clock


class Slice(NamedTuple):
    remaining: Sequence[int]
    error: IngestError | None = None


class Engine:
    """Finishes a range in each slice, but for those that are unavailable; a slice takes a minute."""

    def __init__(self, unavailable: Sequence[int] = ()) -> None:
        self.clock = Clock(0.0)
        self.unavailable = unavailable
        self.count = 0

    def run(self, ranges: Sequence[int]) -> Slice:
        self.clock.now += 60.0
        self.count += 1
        error = StoreUnavailableError("no answer")
        return Slice(ranges, error) if self.count in self.unavailable else Slice(ranges[1:])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)


def test_slices_run_until_no_range_remains():
    engine = Engine()
    found = slices([1, 2, 3], engine.run, activity="dump", clock=engine.clock)
    assert [each.remaining for each in found] == [[2, 3], [3], []]


def test_no_ranges_need_no_slice():
    engine = Engine()
    assert list(slices([], engine.run, activity="dump", clock=engine.clock)) == []
    assert engine.count == 0


def test_slices_have_the_reason_until_the_store_answers():
    engine = Engine(unavailable=(1, 2))
    found = list(slices([1], engine.run, activity="dump", clock=engine.clock))
    assert [each.error and str(each.error) for each in found] == ["no answer", "no answer", None]


def test_unavailable_store_ends_the_job_after_a_time():
    engine = Engine(unavailable=range(1, 100))
    with pytest.raises(StoreUnavailableError):
        list(slices([1], engine.run, activity="dump", clock=engine.clock))
    assert engine.count == UNAVAILABLE_S / 60 + 1


def test_time_starts_anew_when_a_range_has_advanced():
    engine = Engine(unavailable=[number for number in range(1, 31) if number % 10])
    assert len(list(slices([1, 2, 3], engine.run, activity="dump", clock=engine.clock))) == 30


def test_cancelled_job_runs_no_slice():
    engine, cancellation = Engine(), Cancellation()
    cancellation.request()
    with pytest.raises(ConflictError, match="the dump was cancelled") as raised:
        list(slices([1], engine.run, activity="dump", clock=engine.clock, cancellation=cancellation))
    assert (raised.value.code, engine.count) == ("job_cancelled", 0)
