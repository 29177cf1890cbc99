"""Replays as jobs of a service that holds the store, and lends them its pipeline."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import ConflictError, NotFoundError, StoreUnavailableError
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.service.building import checkpoint_of
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job_run import JobContext, JobRun, Progress
from ingest.service.jobs.loans import Loans
from ingest.service.replay import dead_letter_replay
from ingest.service.replay.dead_letters_job import DeadLettersReplay, DeadLettersReplayOptions
from ingest.service.replay.job import Replay
from ingest.service.state_folders import update_replay_file
from ingest.service.stores import SharedStores
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.owning.owned_tables import OwnedTables
from tests.support.place import own_process, replay_options
from tests.support.update_pipeline import BATCH_MS, CATALOG, Pipeline
from tests.support.waiting import reached

WAIT_S = 30.0


class Lender:
    """
    A service with the pipeline, whose store it has open; a thread lends the pipeline as the supervisor does.

    Attributes:
        built: for each loan that has ended, whether the checkpoint was locked.
    """

    def __init__(self, pipeline: Pipeline, opened: ExitStack) -> None:
        configuration = pipeline.load()
        plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
        stores = SharedStores(configuration, [plan])
        stores.used_by(plan, opened)["s"].open()
        self.built: list[bool] = []
        self.loans: Loans[None] = Loans(self._build, self._locked)
        self.shared: Any = SimpleNamespace(
            configuration=configuration,
            catalog=CATALOG,
            stores=stores,
            metrics=Metrics(["p"], process=False),
            health=Health(["p"]),
        )
        threading.Thread(target=self._lend, daemon=True).start()

    def _lend(self) -> None:
        if reached(lambda: bool(self.loans.wanted), WAIT_S):
            self.loans.lend(None)

    def _locked(self, name: str) -> Checkpoint:
        checkpoint = checkpoint_of(self.shared, self.shared.configuration.pipelines[name])
        checkpoint.lock()
        return checkpoint

    def _build(self, _name: str, checkpoint: Checkpoint) -> None:
        checkpoint.check_locked()
        self.built.append(self.shared.health.snapshot()[0].state is State.PAUSED)
        checkpoint.unlock()

    def run(self) -> list[Progress]:
        """Replay all dead letters; returns the reports."""
        reports: list[Progress] = []
        context = JobContext(self.shared, None, 1, loans=self.loans)  # type: ignore[arg-type] # it needs no session
        job = DeadLettersReplay("p", DeadLettersReplayOptions())
        job.run(JobRun(context, 0, Cancellation(), reports.append))
        return reports


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """With a dead letter of the sink into deferred updates."""
    monkeypatch.setattr(dead_letter_replay.DeadLetterReplay, "_compare_clocks", lambda _replay: None)
    made = Pipeline(tmp_path)
    configuration = made.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([made.dead_letter("counts").to_json()], 0, BATCH_MS)
    return made


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_service_replays_dead_letters_into_deferred_updates_while_the_pipeline_does_not_run(
    pipeline: Pipeline, opened: ExitStack
):
    lender = Lender(pipeline, opened)
    reports = lender.run()
    assert reports[-1].result is not None
    assert (reports[-1].result["replayed"], reports[-1].result["failed_again"]) == (1, {})
    assert lender.built == [True]
    assert not update_replay_file(lender.shared.configuration, "p").exists()
    opened.close()
    assert [value for _, value in pipeline.updates()] == [b"2"]


def test_replay_that_fails_in_a_service_is_taken_back_so_that_the_pipeline_can_start(
    pipeline: Pipeline, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
):
    def away(_tables: OwnedTables, _committed: object) -> None:
        raise StoreUnavailableError("the store is away")

    lender = Lender(pipeline, opened)
    with monkeypatch.context() as patched:
        patched.setattr(OwnedTables, "move", away)
        patched.setattr(dead_letter_replay.UpdateReplay, "_is_counted", lambda _replay, _stored: False)
        with pytest.raises(Exception, match="the store is away"):
            lender.run()
    assert lender.built == [True]
    assert not update_replay_file(lender.shared.configuration, "p").exists()
    opened.close()
    assert pipeline.updates() == []


def test_store_of_a_service_is_refused_with_the_way_out(pipeline: Pipeline, opened: ExitStack) -> None:
    configuration = pipeline.load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    with (
        owned_store(configuration.stores["s"], CATALOG),
        pytest.raises(ConflictError, match="is held by process") as caught,
    ):
        own_process(configuration, CATALOG).driver_stores(plan, opened)
    is_said = "without --own-process it does this itself" in str(caught.value.hint)
    assert (caught.value.code, is_said) == ("locked", True)


def test_same_records_are_the_same_job() -> None:
    job = Replay("p", replay_options(1_000, 2_000))
    assert job.is_same(Replay("p", replay_options(1_000, 2_000)))
    assert job.is_same(Replay("p", replay_options(1_000, 2_000, rate=5)))
    assert not job.is_same(Replay("q", replay_options(1_000, 2_000)))
    assert not job.is_same(Replay("p", replay_options(1_000, 2_000, overwrite=True)))
    assert (job.uses(["p"]), job.uses(["q"])) == (True, False)


def test_job_of_a_pipeline_that_there_is_not_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(NotFoundError, match='no pipeline "q"; there is "p"'):
        Replay("q", replay_options(1_000, 2_000)).checked(pipeline.load())
