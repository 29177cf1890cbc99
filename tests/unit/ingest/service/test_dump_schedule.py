"""The daily dump that a file declares."""

from types import SimpleNamespace

import pytest

from ingest.api import ConflictError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.dump_duty import DumpDuty
from ingest.service.dump_request import DumpRequest
from ingest.service.dump_schedule import DumpSchedule, daily_dump
from ingest.service.periodic import DAY_S, next_time_s
from tests.support.stashes import FILE, TABLE, dumped, written

AT = f'{{root: dumps, tables: ["{TABLE}"], at: "02:00", keep: 3d}}'
TWO = 2 * 3600
LAST = 'ingest_stash_last_success_timestamp_seconds{table="answer:testclient1"}'


def configuration(tmp_path, stash: str = AT) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(f"{FILE}stash: {stash}\n" if stash else FILE)
    return load(str(file), env={}, lookup=Catalog())


class Submitted(list):
    """A fake of `Duties` that keeps what is submitted."""

    def __init__(self, found: Configuration | None) -> None:
        self.shared = None if found is None else SimpleNamespace(configuration=found)
        self.error: Exception | None = None

    def submit(self, duty: DumpDuty) -> None:
        if self.error is not None:
            raise self.error
        self.append(duty.request)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_submitted_once_a_day(tmp_path):
    now, duties = [0.0], Submitted(None)
    schedule = DumpSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()  # the service has not started yet
    duties.shared = SimpleNamespace(configuration=configuration(tmp_path))
    counts = []
    for now[0] in (10 * DAY_S + 1, 10 * DAY_S + TWO - 1, 10 * DAY_S + TWO, 11 * DAY_S, 11 * DAY_S + TWO + 5):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 0, 1, 1, 2]
    assert duties[0] == DumpRequest(root="dumps", tables=(TABLE,), keep_s=3.0 * DAY_S)


@pytest.mark.parametrize("stash", ["", "{root: dumps}"])
def test_nothing_is_scheduled_without_a_time(tmp_path, stash):
    found = configuration(tmp_path, stash)
    assert daily_dump(found) is None
    duties, metrics = Submitted(found), Metrics()
    DumpSchedule(duties, metrics, clock_ms=lambda: 1).submit_due()
    assert not duties
    assert "ingest_stash_interval_seconds{" not in metrics.render()[1].decode()


def test_metrics_have_the_end_of_the_last_dump(tmp_path):
    dumped(written(tmp_path), tables=(TABLE,))
    metrics = Metrics()
    duties = Submitted(configuration(tmp_path))
    DumpSchedule(duties, metrics, clock_ms=lambda: 2_000_000_000_000).submit_due()
    text = metrics.render()[1].decode()
    assert 'ingest_stash_interval_seconds{table="answer:testclient1"} 86400.0' in text
    last_s = float(text.partition(LAST)[2].split()[0])
    assert 1_424_736_000 <= last_s < 1_500_000_000


def test_metrics_without_a_dump(tmp_path):
    metrics = Metrics()
    DumpSchedule(Submitted(configuration(tmp_path)), metrics, clock_ms=lambda: 7_000).submit_due()
    assert f"{LAST} 7.0" in metrics.render()[1].decode()


def test_a_reload_changes_the_time(tmp_path):
    now, duties = [0.0], Submitted(configuration(tmp_path))
    schedule = DumpSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    duties.shared = SimpleNamespace(configuration=configuration(tmp_path, AT.replace("02:00", "05:00")))
    now[0] = TWO + 1.0
    schedule.submit_due()
    assert not duties
    now[0] = 5 * 3600.0
    schedule.submit_due()
    assert len(duties) == 1


def test_refused_duty_is_submitted_the_next_day(tmp_path):
    now, duties = [0.0], Submitted(configuration(tmp_path))
    schedule = DumpSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    now[0], duties.error = TWO, ConflictError("the queue is full")
    schedule.submit_due()
    now[0], duties.error = TWO + 60.0, None
    schedule.submit_due()
    assert not duties
    now[0] = DAY_S + TWO
    schedule.submit_due()
    assert len(duties) == 1


def test_clock_that_was_ahead_delays_no_dump(tmp_path):
    now, duties = [3 * 365.0 * DAY_S], Submitted(configuration(tmp_path))
    schedule = DumpSchedule(duties, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    counts = []
    for now[0] in (3 * 365.0 * DAY_S, 10.0 * DAY_S, 10.0 * DAY_S + TWO, 10.0 * DAY_S + TWO + 1, 11.0 * DAY_S + TWO):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(("at_s", "now_s", "expected"), [(0, 0.0, 86_400), (5, 0.0, 5), (5, 5.0, 86_405)])
def test_next_time(at_s, now_s, expected):
    assert next_time_s(at_s, now_s) == expected


def test_thread_ends_with_the_block(tmp_path):
    with DumpSchedule(Submitted(configuration(tmp_path)), Metrics()) as schedule:
        thread = schedule._thread
        assert thread.is_alive()
    assert not thread.is_alive()
