"""The scheduler of jobs, with jobs that do nothing until the test lets them end."""

import threading
from collections.abc import Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from ingest.api import ConfigError, ConflictError, IngestError, Model, NotFoundError
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.jobs import scheduler as module
from ingest.service.jobs.command import Summary
from ingest.service.jobs.job import Job, Steps
from ingest.service.jobs.job_run import JobContext, JobRun, NoFreeSlotError, Progress
from ingest.service.jobs.place import Place
from ingest.service.jobs.scheduler import Jobs
from tests.support.waiting import reached

WAIT_S = 30.0


class Held(Job[Model]):
    """A job that ends with the outcome that the test sets, or when it is cancelled."""

    kind = "held"

    def __init__(self, subject: str = "p", name: str = "") -> None:
        super().__init__(subject, Model())
        self.name = name
        self.runs: list[JobRun] = []
        self.error: Exception | None = None
        self.refusal: IngestError | None = None
        self.checks = 0
        self._may_end = threading.Event()

    def uses(self, pipelines: Collection[str]) -> bool:
        return self.subject in pipelines

    def is_same(self, other: Job[Any]) -> bool:
        return isinstance(other, Held) and bool(self.name) and self.name == other.name

    def check(self, shared: object) -> None:
        self.checks += 1
        self.checked_with = shared
        if self.refusal is not None:
            raise self.refusal

    def checked(self, configuration: Configuration) -> None:
        """Any configuration will do."""

    def steps(self, place: Place) -> Steps:
        yield Progress()

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        return Summary({})

    def run(self, run: JobRun) -> None:
        self.runs.append(run)
        with run.cancellation.calls(self._may_end.set):
            assert self._may_end.wait(WAIT_S)
        self._may_end.clear()
        if run.cancellation.is_requested:
            raise IngestError("ended early", code="abandoned")
        if self.error is not None:
            raise self.error

    def started(self, number: int = 1) -> JobRun:
        """The newest run, once there are this many."""
        assert reached(lambda: len(self.runs) == number, WAIT_S)
        return self.runs[-1]

    def end(self, error: Exception | None = None) -> None:
        self.error = error
        self._may_end.set()


def shared(tasks: int = 1) -> SimpleNamespace:
    options = SimpleNamespace(service=SimpleNamespace(jobs=SimpleNamespace(tasks=tasks)))
    return SimpleNamespace(configuration=options)


class Bench:
    """A scheduler that is not started."""

    def __init__(self, refusal: str = "") -> None:
        self.metrics = Metrics(process=False)
        self.now_ms = 1_000
        self.seconds = 0.0
        self.jobs = Jobs(
            self.metrics,
            hide=lambda text: text.replace("secret", "***"),
            refusal=refusal,
            wall_ms=lambda: self.now_ms,
            clock=lambda: self.seconds,
        )

    def start(self, slots: int | None = 2, tasks: int = 1) -> None:
        self.jobs.start(JobContext(shared(tasks), None, slots))

    def becomes(self, job_id: str, state: str) -> bool:
        return reached(lambda: self.jobs.status(job_id).state == state, WAIT_S)

    def metric(self, name: str) -> list[str]:
        lines = self.metrics.render()[1].decode().splitlines()
        return sorted(line for line in lines if line.startswith(name))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.jobs.close()


def test_jobs_run_one_after_the_other(bench: Bench):
    first, second = Held(), Held()
    ids = [bench.jobs.submit(job).id for job in (first, second)]
    assert [status.state for status in bench.jobs.statuses()] == ["waiting", "waiting"]
    bench.start()
    assert bench.becomes(ids[0], "running")
    assert bench.jobs.status(ids[1]).state == "waiting"
    assert second.runs == []
    first.end()
    assert bench.becomes(ids[1], "running")
    second.end()
    assert bench.becomes(ids[1], "done")
    assert [status.state for status in bench.jobs.statuses()] == ["done", "done"]


def test_job_that_overtakes_runs_before_those_that_wait(bench: Bench):
    long, sweep, mark, unmark = Held(name="long"), Held(name="sweep"), Held(name="mark"), Held(name="unmark")
    mark.overtakes = unmark.overtakes = True
    running = bench.jobs.submit(long).id
    bench.start()
    assert bench.becomes(running, "running")
    ids = {job.name: bench.jobs.submit(job).id for job in (sweep, mark, unmark)}
    assert [status.id for status in bench.jobs.statuses()] == [running, ids["mark"], ids["unmark"], ids["sweep"]]
    for job in (long, mark, unmark, sweep):
        job.started()
        job.end()
    assert bench.becomes(ids["sweep"], "done")


def test_same_request_is_the_job_that_waits_or_runs(bench: Bench):
    first = Held(name="a")
    waits = bench.jobs.submit(first)
    assert bench.jobs.submit(Held(name="a")) == waits
    bench.start()
    assert bench.becomes(waits.id, "running")
    assert bench.jobs.submit(Held(name="a")).id == waits.id
    first.end()
    assert bench.becomes(waits.id, "done")
    assert bench.jobs.submit(Held(name="a")).id != waits.id


def test_status_has_progress_and_time(bench: Bench):
    job = Held("orders")
    job_id = bench.jobs.submit(job).id
    bench.now_ms = 2_000
    bench.start()
    assert bench.becomes(job_id, "running")
    job.started().report(Progress(1, 4, {"read": 10}, "store_unavailable: secret is away"))
    status = bench.jobs.status(job_id).to_json()
    assert status == {
        "id": job_id,
        "kind": "held",
        "subject": "orders",
        "state": "running",
        "reason": "store_unavailable: *** is away",
        "since_ms": 2_000,
        "done": 1,
        "total": 4,
        "result": {"read": 10},
        "error": None,
    }
    job.end()


def test_metrics_count_by_kind(bench: Bench):
    job, other = Held(), Held()
    job_id = bench.jobs.submit(job).id
    bench.jobs.submit(other)
    bench.start()
    assert bench.becomes(job_id, "running")
    assert bench.metric("attr2hbase_jobs{") == [
        'attr2hbase_jobs{kind="held",state="running"} 1.0',
        'attr2hbase_jobs{kind="held",state="waiting"} 1.0',
    ]
    bench.seconds = 3.0
    job.started().report(Progress(1, 4))
    assert bench.metric("attr2hbase_job_progress_ratio") == ['attr2hbase_job_progress_ratio{kind="held"} 0.25']
    assert bench.metric("attr2hbase_job_seconds_total") == ['attr2hbase_job_seconds_total{kind="held"} 3.0']
    bench.seconds = 5.0
    job.end(RuntimeError("broken"))
    assert bench.becomes(job_id, "failed")
    assert bench.metric("attr2hbase_job_seconds_total") == ['attr2hbase_job_seconds_total{kind="held"} 5.0']
    assert bench.metric("attr2hbase_jobs_ended_total") == [
        'attr2hbase_jobs_ended_total{kind="held",state="failed"} 1.0'
    ]
    other.end()


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConflictError("secret is locked", code="locked", hint="unlock the secret"), "locked", "*** is locked"),
        (RuntimeError("secret"), "job_failed", "RuntimeError: ***"),
    ],
)
def test_failed_job_does_not_keep_the_next_from_running(bench: Bench, error: Exception, code: str, message: str):
    failing, next_one = Held(), Held()
    failed, other = bench.jobs.submit(failing).id, bench.jobs.submit(next_one).id
    failing.end(error)
    bench.start()
    assert bench.becomes(other, "running")
    status = bench.jobs.status(failed)
    assert (status.state, status.reason) == ("failed", message)
    assert (status.error.code, status.error.message) == (code, message)
    assert status.error.exit_code == getattr(error, "exit_code", 1)
    next_one.end()


def test_cancelled_job_ends_and_the_queue_continues(bench: Bench):
    running, waiting, last = Held(), Held(), Held()
    ids = [bench.jobs.submit(job).id for job in (running, waiting, last)]
    bench.start()
    assert bench.becomes(ids[0], "running")
    assert bench.jobs.cancel(ids[1]).state == "cancelled"
    bench.jobs.cancel(ids[0])
    assert bench.becomes(ids[2], "running")
    assert bench.jobs.status(ids[0]).reason == "cancelled while it ran"
    assert waiting.runs == []
    last.end()
    assert bench.becomes(ids[2], "done")
    assert bench.jobs.cancel(ids[2]).state == "done"
    with pytest.raises(NotFoundError, match="no job"):
        bench.jobs.cancel("other")


def test_reload_ends_a_job_of_its_pipelines_which_then_runs_again(bench: Bench):
    job, unrelated = Held("p"), Held("q")
    job_id, other = bench.jobs.submit(job).id, bench.jobs.submit(unrelated).id
    bench.start()
    assert bench.becomes(job_id, "running")
    assert bench.jobs.hold(["other"])
    assert not bench.jobs.hold(["p"])
    assert bench.becomes(other, "running")
    assert bench.jobs.hold(["p"])
    assert (bench.jobs.status(job_id).state, bench.jobs.status(job_id).reason) == (
        "waiting",
        "waits for a reload",
    )
    unrelated.end()
    assert bench.becomes(other, "done")
    assert len(job.runs) == 1
    reloaded = shared()
    bench.jobs.release(reloaded)
    assert bench.becomes(job_id, "running")
    assert job.started(2).context.shared is reloaded
    job.end()
    assert bench.becomes(job_id, "done")


@pytest.mark.parametrize(("slots", "tasks"), [(1, 1), (2, 2), (2, 3)])
def test_job_that_leaves_no_slot_is_refused(bench: Bench, slots: int, tasks: int):
    job = Held()
    job_id = bench.jobs.submit(job).id
    bench.start(slots, tasks)
    assert bench.becomes(job_id, "failed")
    assert bench.jobs.status(job_id).error.code == NoFreeSlotError.code
    assert job.runs == []


@pytest.mark.parametrize("use", [Bench.start, lambda bench: bench.jobs.release(shared())], ids=["start", "reload"])
def test_jobs_that_wait_are_checked_again(bench: Bench, use):
    if use is not Bench.start:
        bench.start()
        bench.jobs.hold(["p", "q"])
    good, bad = Held("q"), Held("p")
    of_good, of_bad = bench.jobs.submit(good), bench.jobs.submit(bad)
    checked = bad.checks
    bad.refusal = ConfigError("no such table")
    use(bench)
    assert (bench.jobs.status(of_bad.id).state, bench.jobs.status(of_bad.id).reason) == ("failed", "no such table")
    assert (good.checks, bad.checks) == (checked + 1, checked + 1)
    good.started()
    good.end()
    assert bench.becomes(of_good.id, "done")
    assert not bad.runs


def test_jobs_of_a_pipeline_are_those_that_use_it(bench: Bench):
    of_p, of_q = Held("p"), Held("q")
    running, waiting = bench.jobs.submit(of_p), bench.jobs.submit(of_q)
    bench.start()
    of_p.started()
    assert [status.id for status in bench.jobs.active_of("p")] == [running.id]
    assert [status.id for status in bench.jobs.active_of("q")] == [waiting.id]
    of_p.end()
    of_q.started()
    assert bench.jobs.active_of("p") == []


def test_bug_of_a_job_is_logged_with_its_traceback(bench: Bench):
    with capture_logs() as lines:
        for error in (KeyError("bug"), IngestError("known", code="known")):
            job = Held()
            status = bench.jobs.submit(job)
            if not lines:
                bench.start()
            job.started()
            job.end(error)
            assert bench.becomes(status.id, "failed")
    ended = [line for line in lines if line["event"] == "job ended"]
    assert [repr(line["exc_info"]) for line in ended] == ["KeyError('bug')", "None"]


@pytest.mark.parametrize(("slots", "tasks"), [(2, 1), (4, 3), (None, 9)])
def test_job_gets_its_number_of_tasks(bench: Bench, slots: int | None, tasks: int):
    job = Held()
    bench.jobs.submit(job)
    bench.start(slots, tasks)
    assert job.started().tasks == tasks
    job.end()


def test_stop_ends_all_jobs(bench: Bench):
    running, waiting = Held(), Held()
    ids = [bench.jobs.submit(job).id for job in (running, waiting)]
    bench.start()
    assert bench.becomes(ids[0], "running")
    bench.jobs.close()
    assert [bench.jobs.status(each).state for each in ids] == ["cancelled", "cancelled"]
    with pytest.raises(ConflictError, match="the service stops"):
        bench.jobs.submit(Held())


def test_service_without_jobs_refuses_them():
    with pytest.raises(ConflictError, match="this run ends") as refused:
        Bench("this run ends").jobs.submit(Held())
    assert refused.value.code == "no_jobs"


def test_queue_and_history_are_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    ids = [bench.jobs.submit(Held()).id for _ in range(2)]
    with pytest.raises(ConflictError, match="2 jobs wait"):
        bench.jobs.submit(Held())
    for job_id in ids:
        bench.jobs.cancel(job_id)
    for _ in range(module.MAX_ENDED):
        bench.jobs.cancel(bench.jobs.submit(Held()).id)
    assert len(bench.jobs.statuses()) == module.MAX_ENDED
    with pytest.raises(NotFoundError):
        bench.jobs.status(ids[0])
