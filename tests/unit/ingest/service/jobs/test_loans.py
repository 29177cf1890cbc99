"""The supervisor lends a pipeline to a job, and takes it back."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import ConflictError
from ingest.observe.health import State
from ingest.service import supervisor as module
from ingest.service.jobs.loans import Loans
from ingest.service.member import Member
from tests.support.supervised import Bench
from tests.support.waiting import reached

WAIT_S = 30.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.001)


class Lender:
    """
    A service with one pipeline, which is lent; after the loan another one is built.

    Attributes:
        built: the names and checkpoints of the pipelines that were built after loans.
    """

    def __init__(self, folder: Path) -> None:
        self.new = Bench(lambda _bench: None)
        self.built: list[tuple[str, Any]] = []
        self.loans = Loans(self._build, lambda _name: "unbuilt")  # type: ignore[arg-type] # a fake
        self.old = Bench(lambda _bench: None, loans=self.loans, stop_timeout_s=WAIT_S, state_dir=folder)

    def _build(self, name: str, checkpoint: Any) -> Any:
        self.built.append((name, checkpoint))
        return self.new.pipeline

    def borrowed(self) -> "AbstractContextManager[Any]":
        return self.loans.borrowed("p")

    @contextmanager
    def running(self, state: State = State.RUNNING) -> Iterator[None]:
        """Run the service, once its pipeline has a state."""
        thread = threading.Thread(target=self.old.supervisor.run)
        thread.start()
        try:
            assert reached(lambda: self.old.state is state, WAIT_S)
            yield
        finally:
            self.old.stop.request()
            thread.join(WAIT_S)
            assert not thread.is_alive()


@pytest.fixture
def lender(tmp_path: Path) -> Lender:
    return Lender(tmp_path)


def test_pipeline_is_lent_after_its_batch_and_another_one_is_started(lender: Lender):
    old, new, used = lender.old, lender.new, []
    old.query.is_drained = False

    def use() -> None:
        with lender.borrowed() as checkpoint:
            used.append((checkpoint, old.stops, new.starts))

    with lender.running():
        job = threading.Thread(target=use)
        job.start()
        assert reached(lambda: old.query.refuses, WAIT_S)
        assert (used, old.stops) == ([], 0)
        old.query.is_drained = True
        job.join(WAIT_S)
        assert reached(lambda: new.state is State.RUNNING, WAIT_S)
    assert used == [("its checkpoint", 1, 0)]
    assert lender.built == [("p", "its checkpoint")]
    assert (new.starts, new.state) == (1, State.STOPPED)


def test_pipeline_starts_again_after_a_job_that_fails(lender: Lender):
    with lender.running():
        with pytest.raises(ConflictError), lender.borrowed():
            raise ConflictError("the job was cancelled")
        assert reached(lambda: lender.new.state is State.RUNNING, WAIT_S)
        with lender.borrowed():  # and is lent again
            pass
    assert len(lender.built) == 2


def test_paused_pipeline_is_paused_after_the_loan(lender: Lender):
    lender.old.control.pause("p")
    with lender.running(State.PAUSED):
        with lender.borrowed():
            pass
        assert reached(lambda: lender.new.state is State.PAUSED, WAIT_S)
    assert lender.new.starts == 0


def test_failed_pipeline_is_started_after_the_loan(lender: Lender):
    lender.old.start = lender.old.pipeline.start = failing  # type: ignore[method-assign]
    other = Bench(lambda _bench: None)
    other.pipeline.name = "other"  # type: ignore[misc] # it keeps the service running
    lender.old.supervisor._members.append(Member(other.pipeline))  # type: ignore[arg-type] # a fake
    with lender.running(State.FAILED):
        with lender.borrowed() as checkpoint:
            assert checkpoint == "its checkpoint"
        assert reached(lambda: lender.new.state is State.RUNNING, WAIT_S)
    assert other.state is State.STOPPED


def failing() -> None:
    raise ConflictError("positions are lost")


def test_pipeline_that_could_not_be_built_is_built_after_the_loan(lender: Lender):
    lender.old.pipeline.name = "other"  # type: ignore[misc] # the service has no pipeline p
    with lender.running():
        with lender.borrowed() as checkpoint:
            assert checkpoint == "unbuilt"
        assert reached(lambda: lender.new.state is State.RUNNING, WAIT_S)
    assert lender.built == [("p", "unbuilt")]


def test_stop_ends_the_wait_for_a_pipeline(lender: Lender):
    lender.old.query.is_drained = False
    refused: list[ConflictError] = []

    def wait() -> None:
        with pytest.raises(ConflictError) as caught, lender.borrowed():
            pass
        refused.append(caught.value)

    with lender.running():
        job = threading.Thread(target=wait)
        job.start()
        assert reached(lambda: lender.old.query.refuses, WAIT_S)
        lender.old.stop.request()
        job.join(WAIT_S)
        lender.old.query.is_drained = True
    assert [str(error) for error in refused] == ["the service stops"]
    assert lender.built == []


def test_stopped_service_builds_no_pipeline_after_the_loan(lender: Lender):
    unlocked: list[str] = []
    checkpoint = SimpleNamespace(unlock=lambda: unlocked.append("p"))
    lender.old.pipeline.lend = lambda borrow: borrow(checkpoint)  # type: ignore[method-assign, arg-type, return-value]
    with ExitStack() as loan:
        with lender.running():
            loan.enter_context(lender.borrowed())
        assert unlocked == []
    assert (unlocked, lender.built) == (["p"], [])
