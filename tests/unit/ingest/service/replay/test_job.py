"""A replay as a job, up to where it needs a cluster."""

from types import SimpleNamespace

import pytest

from ingest.api import ConflictError, NotFoundError
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job import JobRun, Progress
from ingest.service.replay import job as module
from ingest.service.replay.job import ReplayJob
from ingest.service.replay.request import ReplayRequest
from ingest.service.replay.state import ReplayTotals

REQUEST = ReplayRequest(from_ms=1_000, to_ms=2_000, fingerprint="f")


def run_with(**pipelines: object) -> tuple[JobRun, list[Progress]]:
    """A run in a service that has these pipelines, and the reports of the job."""
    shared = SimpleNamespace(configuration=SimpleNamespace(pipelines=pipelines, path="p.yaml"), catalog=None)
    reports: list[Progress] = []
    return JobRun(SimpleNamespace(shared=shared), 1, Cancellation(), reports.append), reports


class Replayed:
    """A fake of a replay of two batches, of which the second is blocked for a while."""

    def __init__(self, _configuration: object, pipeline: object, _catalog: object, request: object, _host: object):
        assert request == REQUEST
        self.pipeline = pipeline

    def run(self, *, on_progress, on_blocked, cancellation) -> ReplayTotals:
        assert isinstance(cancellation, Cancellation)
        totals = ReplayTotals()
        for number in (1, 2):
            on_progress(totals, 2)
            on_blocked("store_unavailable: away")
            on_blocked("")
            totals.batches, totals.read = number, 10 * number
        return totals


def test_replay_reports_totals_and_what_blocks_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "RangeReplay", Replayed)
    monkeypatch.setattr(module, "kafka_source_of", lambda _pipeline: None)
    run, reports = run_with(p=SimpleNamespace(fingerprint="f"))
    ReplayJob("p", REQUEST).run(run)
    assert [(each.done, each.total, each.result["read"], each.blocked) for each in reports] == [
        (0, 2, 0, ""),
        (0, 2, 0, "store_unavailable: away"),
        (0, 2, 0, ""),
        (1, 2, 10, ""),
        (1, 2, 10, "store_unavailable: away"),
        (1, 2, 10, ""),
        (2, 2, 20, ""),
    ]


def test_pipeline_of_another_file_is_refused_but_a_reload_may_change_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "RangeReplay", Replayed)
    monkeypatch.setattr(module, "kafka_source_of", lambda _pipeline: None)
    job = ReplayJob("p", REQUEST)
    other = SimpleNamespace(fingerprint="g")
    with pytest.raises(ConflictError, match="another version") as refused:
        job.run(run_with(p=other)[0])
    assert (refused.value.code, "ingest reload p.yaml" in str(refused.value.hint)) == ("other_version", True)
    later = ReplayJob("p", REQUEST.model_copy(update={"fingerprint": "g", "rate": 5.0}))
    assert not job.is_same(later)
    job.run(run_with(p=SimpleNamespace(fingerprint="f"))[0])
    job.run(run_with(p=other)[0])
    # it resumes with the new file: a second one would write the records once more
    assert job.is_same(later)


def test_removed_pipeline_is_an_error():
    with pytest.raises(NotFoundError, match='no pipeline "p"'):
        ReplayJob("p", REQUEST).run(run_with()[0])


def test_same_records_are_the_same_job():
    job = ReplayJob("p", REQUEST)
    assert job.is_same(ReplayJob("p", REQUEST))
    assert job.is_same(ReplayJob("p", REQUEST.model_copy(update={"rate": 5.0})))
    assert not job.is_same(ReplayJob("q", REQUEST))
    assert not job.is_same(ReplayJob("p", REQUEST.model_copy(update={"overwrite": True})))
    assert (job.uses(["p"]), job.uses(["q"])) == (True, False)
