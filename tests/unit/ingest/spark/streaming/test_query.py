"""A query whose JVM is gone, as after a SIGTERM to the whole process group."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from ingest.api import Disposition, IngestError
from ingest.dead_letters.budget import ErrorBudget
from ingest.spark.streaming.batch_observer import BatchObserver
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.query import PipelineQuery, Trigger
from ingest.spark.streaming.timed_caller import TimedCaller


class Broken:
    """Stands for Spark's query: every call fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error


class Frame:
    """Stands for a DataFrame and the writer that starts a query of it."""

    def __init__(self, query: object) -> None:
        self._query = query

    def __getattr__(self, name: str) -> "Callable[..., Frame]":
        return lambda *_args, **_options: self

    @property
    def writeStream(self) -> "Frame":  # noqa: N802 - Spark's name
        return self

    def foreachBatch(self, on_batch: "Callable[[Frame, int], None]") -> "Frame":  # noqa: N802 - Spark's name
        self.on_batch = on_batch
        return self

    @property
    def _jdf(self) -> "Frame":
        return self

    def getSimpleName(self) -> str:  # noqa: N802 - Java's name
        return "LogicalRDD"

    def getNumPartitions(self) -> int:  # noqa: N802 - Spark's name
        return 0

    def collect(self) -> list[Any]:
        return []

    def start(self) -> object:
        return self._query


class Ended:
    """Stands for a query that has ended, and Spark tells no reason."""

    isActive = False  # noqa: N815 - Spark's name

    def exception(self) -> None:
        return None


@pytest.fixture(
    params=[Py4JNetworkError("answer was empty"), ConnectionRefusedError("connection refused")], ids=["p", "c"]
)
def query(request: pytest.FixtureRequest, tmp_path: Path) -> PipelineQuery:
    made = query_in(tmp_path)
    made.start(Frame(Broken(request.param)), Trigger())
    return made


def test_query_without_its_jvm_has_ended(query: PipelineQuery):
    assert query.ended()
    assert not query.is_reading()
    assert not query.is_waiting()
    assert query.drained()
    assert isinstance(query.failure(), Py4JNetworkError | ConnectionRefusedError)
    query.stop()


@pytest.mark.parametrize(("once", "reason"), [(True, None), (False, "Spark reports no reason")])
def test_endless_query_that_ends_without_a_reason_has_failed(tmp_path: Path, once: bool, reason: str | None):
    query = query_in(tmp_path)
    query.start(Frame(Ended()), Trigger(once=once))
    failure = query.failure()
    assert failure is None if reason is None else reason in str(failure)


class Racing(Checkpoint):
    """A checkpoint whose batch ends just after `newest_commit` was read."""

    def __init__(self, folder: Path, end_batch: Callable[[], None]) -> None:
        super().__init__(folder)
        self.end_batch = end_batch

    def newest_commit(self) -> int | None:
        newest = super().newest_commit()
        self.end_batch()
        return newest


def test_batch_that_ends_during_the_check_is_not_drained(tmp_path: Path):
    is_publishing, may_end = threading.Event(), threading.Event()

    def publish(*_: object) -> None:
        is_publishing.set()
        assert may_end.wait(10)

    def end_batch() -> None:
        may_end.set()
        batch.join(10)

    query = query_in(tmp_path, Racing(tmp_path, end_batch), publish)
    frame = Frame(SimpleNamespace(isActive=True, exception=lambda: None))
    query.start(frame, Trigger())
    batch = threading.Thread(target=frame.on_batch, args=(frame, 7))
    batch.start()
    try:
        assert is_publishing.wait(10)
        assert not query.drained()
    finally:
        end_batch()
    assert query.is_idle()
    assert not query.drained()


class Away(Checkpoint):
    """A checkpoint on a file system that hangs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers = threading.Event()

    def newest_commit(self) -> int | None:
        self.answers.wait(30)
        return None


def test_state_that_hangs_is_no_jvm_that_hangs(tmp_path: Path):
    ask, ask_state = TimedCaller(), TimedCaller(timeout_s=0.01)
    checkpoint = Away(tmp_path)
    query = PipelineQuery("p", checkpoint, query_in(tmp_path)._runner, ask, ask_state)
    query.start(Frame(SimpleNamespace(isActive=True, exception=lambda: None)), Trigger())
    query._runner.finished_batch = 7
    try:
        assert not query.drained()
        assert (ask.pending_s, ask_state.pending_s > 0, query.ended()) == (0.0, True, False)
    finally:
        checkpoint.answers.set()


def test_reason_that_a_busy_jvm_does_not_give_is_no_bug(tmp_path: Path):
    answers = threading.Event()

    def reason() -> None:
        answers.wait(30)

    ask = TimedCaller(timeout_s=0.01)
    query = PipelineQuery("p", Checkpoint(tmp_path), query_in(tmp_path)._runner, ask, TimedCaller())
    query.start(Frame(SimpleNamespace(isActive=False, exception=reason)), Trigger())
    try:
        failure = query.failure()
    finally:
        answers.set()
    assert isinstance(failure, IngestError)
    assert (failure.code, failure.disposition) == ("jvm_unresponsive", Disposition.RETRY)


def test_reason_that_a_busy_jvm_gives_late_is_the_one_that_counts(tmp_path: Path):
    """Each later call may be too late as well."""
    answers, asked = threading.Event(), []

    def reason() -> Exception:
        asked.append(1)
        answers.wait(30)
        return PySparkException("Python worker failed to connect back.")

    ask = TimedCaller(timeout_s=0.01)
    query = PipelineQuery("p", Checkpoint(tmp_path), query_in(tmp_path)._runner, ask, TimedCaller())
    query.start(Frame(SimpleNamespace(isActive=False, exception=reason)), Trigger(once=True))
    assert isinstance(query.failure(), IngestError)
    answers.set()
    while not query.ended():
        pass
    failure = query.failure()
    assert isinstance(failure, IngestError)
    assert (failure.code, len(asked)) == ("worker_late", 1)


class Silent(BatchObserver):
    """Ignores the progress."""


def query_in(
    folder: Path, checkpoint: Checkpoint | None = None, publish: Callable[..., None] = lambda *_: None
) -> PipelineQuery:
    runner = BatchRunner(
        pipeline="p",
        plan=b"",
        batch_times=BatchTimes(folder / "times", lambda: 0),
        committers={},
        error_budget=ErrorBudget(share=1, min_events=0, window_s=0),
        publish=publish,
        observer=Silent(),
        check_owner=lambda: None,
    )
    return PipelineQuery("p", checkpoint or Checkpoint(folder), runner, TimedCaller(), TimedCaller())
