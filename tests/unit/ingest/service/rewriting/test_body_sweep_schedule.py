"""The daily sweeps that a file declares."""

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.jobs.daily_schedule import DAY_S
from ingest.service.rewriting.body_sweep_schedule import BodySweepSchedule, daily_sweeps
from tests.support.submitted_jobs import SubmittedJobs

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
LAST = 'attr2hbase_body_sweep_last_success_timestamp_seconds{table="events"}'
INTERVAL = 'attr2hbase_body_sweep_interval_seconds{table="events"} 86400.0'


def configuration(tmp_path) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(FILE)
    return load(str(file), env={}, lookup=Catalog())


def test_submitted_at_its_time(tmp_path):
    day = 10.0 * DAY_S
    now, metrics, jobs = [day], Metrics(), SubmittedJobs(configuration(tmp_path))
    schedule = BodySweepSchedule(jobs, metrics, clock_ms=lambda: round(now[0] * 1000))
    schedule.submit_due()
    now[0] = day + THREE
    schedule.submit_due()
    (job,) = jobs
    assert (job.kind, job.subject) == ("sweep", "events")
    text = metrics.render()[1].decode()
    assert (INTERVAL in text, f"{LAST} {day}" in text) == (True, True)


def test_tables_with_a_time_are_swept(tmp_path):
    assert [(each.at_s, each.tables) for each in daily_sweeps(configuration(tmp_path))] == [(THREE, ("events",))]
