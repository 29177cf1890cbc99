"""Units of work: repeated while ranges remain, and given up when a store stays unavailable."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from ingest.api import ConflictError, IngestError, StoreUnavailableError
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.units_of_work import UNAVAILABLE_S, units_of_work
from tests.support.clock import Clock


class Unit(NamedTuple):
    remaining: Sequence[int]
    error: IngestError | None = None


class Engine:
    """Finishes a range in each unit, but for those that are unavailable; a unit takes a minute."""

    def __init__(self, unavailable: Sequence[int] = ()) -> None:
        self.clock = Clock(0.0)
        self.unavailable = unavailable
        self.units = 0

    def run(self, ranges: Sequence[int]) -> Unit:
        self.clock.now += 60.0
        self.units += 1
        error = StoreUnavailableError("no answer")
        return Unit(ranges, error) if self.units in self.unavailable else Unit(ranges[1:])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.service.jobs.units_of_work.PAUSE_S", 0.0)


def test_units_run_until_no_range_remains():
    engine = Engine()
    units = units_of_work([1, 2, 3], engine.run, activity="dump", clock=engine.clock)
    assert [unit.remaining for unit in units] == [[2, 3], [3], []]


def test_no_ranges_need_no_unit():
    engine = Engine()
    assert list(units_of_work([], engine.run, activity="dump", clock=engine.clock)) == []
    assert engine.units == 0


def test_units_have_the_reason_until_the_store_answers():
    engine = Engine(unavailable=(1, 2))
    units = list(units_of_work([1], engine.run, activity="dump", clock=engine.clock))
    assert [unit.error and str(unit.error) for unit in units] == ["no answer", "no answer", None]


def test_unavailable_store_ends_the_job_after_a_time():
    engine = Engine(unavailable=range(1, 100))
    with pytest.raises(StoreUnavailableError):
        list(units_of_work([1], engine.run, activity="dump", clock=engine.clock))
    assert engine.units == UNAVAILABLE_S / 60 + 1


def test_time_starts_anew_when_a_range_has_advanced():
    engine = Engine(unavailable=[number for number in range(1, 31) if number % 10])
    assert len(list(units_of_work([1, 2, 3], engine.run, activity="dump", clock=engine.clock))) == 30


def test_cancelled_job_runs_no_unit():
    engine, cancellation = Engine(), Cancellation()
    cancellation.request()
    with pytest.raises(ConflictError, match="the dump was cancelled") as raised:
        list(units_of_work([1], engine.run, activity="dump", clock=engine.clock, cancellation=cancellation))
    assert (raised.value.code, engine.units) == ("job_cancelled", 0)
