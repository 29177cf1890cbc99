"""The loop over the attempts at a micro-batch: which calls the committers get."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ingest.api import Batch, Committer, IngestError, SinkResult, TaskSpec
from ingest.pipeline.loop import LoopHost, MicroBatch, StoppedError, run_until_durable
from ingest.receipt import Receipt, TaskStatus

BATCH = MicroBatch("1000", 1_000, "1")


class RefusedError(IngestError):
    """Stops the pipeline."""


class RecordingCommitter(Committer):
    """Records its calls; one of them may fail."""

    def __init__(self, fails_in: str = "") -> None:
        self.calls: list[str] = []
        self._fails_in = fails_in

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        self._call("prepare")
        return b""

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        self._call("commit")

    def abort(self, batch: Batch) -> None:
        self._call("abort")

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self._fails_in:
            raise RefusedError(name)


class Host(LoopHost):
    """Runs no tasks: their statuses are given, one for each attempt."""

    def __init__(self, *statuses: TaskStatus) -> None:
        self._statuses = iter(statuses)

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        results = {name: SinkResult() for name in spec.prepared}
        return [Receipt(next(self._statuses), results=results)]

    def until_possible(self, action: Callable[[], Any]) -> Any:
        return action()

    def blocked(self, code: str, message: str, attempts: int) -> None:
        """Do not wait."""


def run(host: Host, **committers: RecordingCommitter) -> None:
    run_until_durable(BATCH, committers, host)


def test_blocked_attempt_is_aborted_and_the_next_one_committed():
    first, second = RecordingCommitter(), RecordingCommitter()
    run(Host(TaskStatus.BLOCKED, TaskStatus.DURABLE), first=first, second=second)
    assert first.calls == second.calls == ["prepare", "abort", "prepare", "commit"]


def test_task_blocked_by_an_overloaded_store_counts_as_a_busy_answer():
    """Also if its sink counts none, or the call ended after its time-out."""

    class Overloaded(Host):
        def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
            receipts = super().run_tasks(spec, on_one_slot=on_one_slot)
            if receipts[0].status is TaskStatus.BLOCKED:
                receipts[0].code = "store_busy"
            return receipts

    attempts: list[int] = []
    host = Overloaded(TaskStatus.BLOCKED, TaskStatus.DURABLE)
    run_until_durable(BATCH, {}, host, on_attempt=lambda counts: attempts.append(counts.busy))
    assert attempts == [1, 0]


def test_attempt_that_stops_is_aborted():
    first, second = RecordingCommitter(), RecordingCommitter()
    with pytest.raises(StoppedError):
        run(Host(TaskStatus.STOP), first=first, second=second)
    assert first.calls == second.calls == ["prepare", "abort"]


def test_failed_commit_leaves_the_destinations_as_they_are():
    """What is committed is valid, and the batch runs again; an abort could remove what the failed commit wrote."""
    first, second, third = RecordingCommitter(), RecordingCommitter("commit"), RecordingCommitter()
    with pytest.raises(RefusedError):
        run(Host(TaskStatus.DURABLE), first=first, second=second, third=third)
    assert first.calls == second.calls == ["prepare", "commit"]
    assert third.calls == ["prepare"]


def test_failed_prepare_aborts_nothing():
    first, second = RecordingCommitter(), RecordingCommitter("prepare")
    with pytest.raises(RefusedError):
        run(Host(), first=first, second=second)
    assert first.calls == second.calls == ["prepare"]
