"""Compactions that a table declares, and jobs that work on tables."""

from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, ConflictError, NotFoundError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.config.tables import CompactionOptions, CompactOptions
from ingest.observe.metrics import Metrics
from ingest.service.job_kinds import job_of
from ingest.service.rewriting.compaction import Compaction
from ingest.service.rewriting.compaction_schedule import CompactionSchedule, scheduled
from tests.support.counters import FILE
from tests.support.submitted_jobs import SubmittedJobs

EVERY = "updates: {processor: sum, compact: {every: 10m, window: 30m}}"


def configuration(tmp_path, text: str = FILE) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    return load(str(file), env={}, lookup=Catalog())


def with_compact(tmp_path, options: str = EVERY) -> Configuration:
    return configuration(tmp_path, FILE.replace("updates: {processor: sum}", options))


def test_tables_that_a_pipeline_writes_are_scheduled(tmp_path):
    assert scheduled(configuration(tmp_path)) == {}
    assert scheduled(with_compact(tmp_path)) == {"counters": CompactOptions(every="10m", window="30m")}


def test_options_do_not_change_how_rows_are_merged(tmp_path):
    plain, compacted = configuration(tmp_path), with_compact(tmp_path)
    assert plain.tables["counters"].spec() == compacted.tables["counters"].spec()


def test_submitted_after_each_interval(tmp_path):
    now, jobs = [100.0], SubmittedJobs()
    metrics = Metrics(["hits"])
    schedule = CompactionSchedule(jobs, metrics, clock=lambda: now[0])
    schedule.submit_due()  # the service has not started yet
    jobs.reload(with_compact(tmp_path))
    counts = []
    for now[0] in (100.0, 699.0, 700.0, 701.0, 1_299.0, 1_300.0):
        schedule.submit_due()
        counts.append(len(jobs))
    assert counts == [0, 0, 1, 1, 1, 2]
    assert isinstance(jobs[0], Compaction)
    assert (jobs[0].subject, jobs[0].options) == ("counters", CompactionOptions(window="30m"))
    assert 'attr2hbase_compaction_interval_seconds{table="counters"} 600.0' in metrics.render()[1].decode()


def test_a_reload_changes_the_interval(tmp_path):
    now, jobs = [0.0], SubmittedJobs(with_compact(tmp_path))
    metrics = Metrics(["hits"])
    schedule = CompactionSchedule(jobs, metrics, clock=lambda: now[0])
    schedule.submit_due()
    jobs.reload(with_compact(tmp_path, EVERY.replace("10m", "1m")))
    now[0] = 30.0
    schedule.submit_due()
    now[0] = 90.0
    schedule.submit_due()
    assert len(jobs) == 1
    jobs.reload(configuration(tmp_path))
    now[0] = 10_000.0
    schedule.submit_due()
    assert len(jobs) == 1
    assert "attr2hbase_compaction_interval_seconds{" not in metrics.render()[1].decode()


def test_refused_job_is_submitted_after_the_next_interval(tmp_path):
    now, jobs = [0.0], SubmittedJobs(with_compact(tmp_path))
    schedule = CompactionSchedule(jobs, Metrics(["hits"]), clock=lambda: now[0])
    schedule.submit_due()
    now[0], jobs.error = 600.0, ConflictError("the queue is full")
    schedule.submit_due()
    now[0], jobs.error = 1_200.0, None
    schedule.submit_due()
    assert len(jobs) == 1


def test_thread_ends_with_the_block(tmp_path):
    with CompactionSchedule(SubmittedJobs(with_compact(tmp_path)), Metrics(["hits"])) as schedule:
        thread = schedule._thread
        assert thread.is_alive()
    assert not thread.is_alive()


@pytest.mark.parametrize("options", ["compact: {}", "compact: {every: 0s}", "compact: {every: 10m, window: 0s}"])
def test_wrong_options(tmp_path, options: str):
    with pytest.raises(ConfigError):
        with_compact(tmp_path, "updates: {processor: sum, " + options + "}")


@pytest.mark.parametrize(
    ("kind", "options"), [("compaction", {}), ("rollback", {"from": "1970-01-01", "to": "1970-01-02"})]
)
def test_jobs_of_a_table(tmp_path, kind: str, options: dict[str, str]):
    def job(table: str):
        return job_of(kind, {"table": table, **options})

    shared = SimpleNamespace(configuration=configuration(tmp_path))
    checked = job("counters")
    checked.check(shared)
    assert (checked.uses(["hits"]), checked.uses(["other"])) == (True, False)
    assert checked.needs_slots is False  # of an embedded store
    assert checked.is_same(job("counters"))
    assert not checked.is_same(job("plain"))
    with pytest.raises(ConfigError):
        job("plain").check(shared)
    with pytest.raises(NotFoundError):
        job("none").check(shared)
    assert not checked.is_same(Compaction("counters", CompactionOptions(window="5ms")))
