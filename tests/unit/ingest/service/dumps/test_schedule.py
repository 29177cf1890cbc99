"""The daily dump that a file declares."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.dumps.job import DumpJob
from ingest.service.dumps.request import DumpRequest
from ingest.service.dumps.schedule import DumpSchedule, daily_dumps
from ingest.service.jobs.schedule import DAY_S
from tests.support.dump_runs import FILE, TABLE, dumped, written
from tests.support.submitted_jobs import SubmittedJobs

AT = f'{{root: dumps, tables: ["{TABLE}"], at: "02:00", keep: 3d}}'
TWO = 2 * 3600
LAST = 'attr2hbase_dump_last_success_timestamp_seconds{table="answer:testclient1"}'


def configuration(tmp_path, dump: str = AT) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(f"{FILE}dump: {dump}\n" if dump else FILE)
    return load(str(file), env={}, lookup=Catalog())


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_submitted_at_its_time(tmp_path):
    now, jobs = [0.0], SubmittedJobs(configuration(tmp_path))
    schedule = DumpSchedule(jobs, Metrics(), clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    now[0] = TWO
    schedule.submit_due()
    (job,) = jobs
    assert isinstance(job, DumpJob)
    assert job.request == DumpRequest(root="dumps", tables=(TABLE,), keep_s=3.0 * DAY_S)


@pytest.mark.parametrize("dump", ["", "{root: dumps}"])
def test_nothing_is_scheduled_without_a_time(tmp_path, dump):
    found = configuration(tmp_path, dump)
    assert daily_dumps(found) == []
    jobs, metrics = SubmittedJobs(found), Metrics()
    DumpSchedule(jobs, metrics, clock_ms=lambda: 1).submit_due()
    assert not jobs
    assert "attr2hbase_dump_interval_seconds{" not in metrics.render()[1].decode()


def test_metrics_have_the_end_of_the_last_dump(tmp_path):
    dumped(written(tmp_path), tables=(TABLE,))
    metrics = Metrics()
    jobs = SubmittedJobs(configuration(tmp_path))
    DumpSchedule(jobs, metrics, clock_ms=lambda: 2_000_000_000_000).submit_due()
    text = metrics.render()[1].decode()
    assert 'attr2hbase_dump_interval_seconds{table="answer:testclient1"} 86400.0' in text
    last_s = float(text.partition(LAST)[2].split()[0])
    assert 1_424_736_000 <= last_s < 1_500_000_000


def test_metrics_without_a_dump(tmp_path):
    metrics = Metrics()
    DumpSchedule(SubmittedJobs(configuration(tmp_path)), metrics, clock_ms=lambda: 7_000).submit_due()
    assert f"{LAST} 7.0" in metrics.render()[1].decode()


def test_thread_ends_with_the_block(tmp_path):
    with DumpSchedule(SubmittedJobs(configuration(tmp_path)), Metrics()) as schedule:
        thread = schedule._thread
        assert thread.is_alive()
    assert not thread.is_alive()
