"""The daily sweeps that a file declares."""

from types import SimpleNamespace

import pytest

from ingest.api import ConflictError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.body_sweep import BodySweepDuty
from ingest.service.body_sweep_schedule import BodySweepSchedule, daily_sweeps
from ingest.service.periodic import DAY_S

FILE = """
version: 1
stores: {local: {rocksdb: {path: ./store}}}
tables:
  events: {families: {f: {}}, bodies: {sweep_at: "03:00"}}
  kept: {families: {f: {}}, bodies: {}}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: f:body}}]
"""
THREE = 3 * 3600.0
LAST = 'ingest_body_sweep_last_success_timestamp_seconds{table="events"}'
INTERVAL = 'ingest_body_sweep_interval_seconds{table="events"} 86400.0'


class Submitted(list):
    """A fake of `Duties` that keeps what is submitted."""

    def __init__(self) -> None:
        self.shared: SimpleNamespace | None = None
        self.error: Exception | None = None

    def submit(self, duty: BodySweepDuty) -> None:
        if self.error is not None:
            raise self.error
        self.append(duty.subject)


def configuration(tmp_path, at: str = "03:00") -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(FILE.replace("03:00", at))
    return load(str(file), env={}, lookup=Catalog())


@pytest.fixture
def now() -> list[float]:
    return [10.0 * DAY_S]


@pytest.fixture
def duties(tmp_path) -> Submitted:
    duties = Submitted()
    duties.shared = SimpleNamespace(configuration=configuration(tmp_path))
    return duties


def test_submitted_once_a_day(duties, now):
    metrics = Metrics()
    schedule = BodySweepSchedule(duties, metrics, clock_ms=lambda: round(now[0] * 1000))
    duties.shared, started = None, duties.shared
    schedule.submit_due()  # the service has not started yet
    duties.shared = started
    assert daily_sweeps(started.configuration) == {"events": THREE}
    day = now[0]
    counts = []
    for now[0] in (day, day + THREE - 1, day + THREE, day + THREE + 1, day + DAY_S, day + DAY_S + THREE + 5):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 0, 1, 1, 1, 2]
    assert set(duties) == {"events"}
    text = metrics.render()[1].decode()
    assert (INTERVAL in text, f"{LAST} {day}" in text) == (True, True)


def test_a_reload_changes_the_time(tmp_path, duties, now):
    metrics, day = Metrics(), now[0]
    schedule = BodySweepSchedule(duties, metrics, clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    duties.shared = SimpleNamespace(configuration=configuration(tmp_path, "05:00"))
    counts = []
    for now[0] in (day + THREE, day + 5 * 3600):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 1]


def test_refused_duty_is_submitted_the_next_day(duties, now):
    day = now[0]
    schedule = BodySweepSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    now[0], duties.error = day + THREE, ConflictError("the queue is full")
    schedule.submit_due()
    now[0], duties.error = day + THREE + 60, None
    schedule.submit_due()
    assert not duties
    now[0] = day + DAY_S + THREE
    schedule.submit_due()
    assert len(duties) == 1


def test_clock_that_was_ahead_delays_no_sweep(duties, now):
    schedule = BodySweepSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    counts = []
    for now[0] in (3 * 365.0 * DAY_S, 10.0 * DAY_S, 10.0 * DAY_S + THREE, 11.0 * DAY_S):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 0, 1, 1]
