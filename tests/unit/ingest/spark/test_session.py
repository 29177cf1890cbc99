"""The end of a Spark session, its jars, and groups of jobs."""

import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from ingest.spark import session as session_module
from ingest.spark.session import JobGroup, close_session, forget_java, has_jars, task_memory_bytes
from tests.support.waiting import reached


class Gone:
    """A session whose JVM has ended before this process."""

    def __init__(self) -> None:
        self.sparkContext = self
        self._gateway = None
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1
        raise Py4JNetworkError("Answer from Java side is empty")


def test_closing_a_session_without_its_jvm_raises_nothing():
    """Pytest fails a test if one of its threads raises."""
    session = Gone()
    close_session(cast("SparkSession", session))
    assert session.stops == 1


def test_jars_of_a_session_are_those_that_it_was_opened_with():
    conf = {"spark.jars": "/jars/a.jar,/jars/b.jar"}
    session = cast("SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf)))
    assert has_jars(session, [Path("/jars/b.jar")])
    assert not has_jars(session, [Path("/jars/b.jar"), Path("/jars/c.jar")])
    conf.clear()
    assert not has_jars(session, [Path("/jars/b.jar")])
    assert has_jars(session, [])


class DeadGateway:
    """Py4J's connection to a JVM that has ended."""

    def __init__(self) -> None:
        self.shutdowns = 0

    def shutdown(self) -> None:
        self.shutdowns += 1
        raise Py4JNetworkError("connection refused")


def started(monkeypatch: pytest.MonkeyPatch, gateway: object) -> None:
    """Let PySpark have this gateway, until the end of the test."""
    for owner, names in (
        (SparkContext, ("_gateway", "_jvm", "_active_spark_context")),
        (SparkSession, ("_instantiatedSession", "_activeSession")),
    ):
        for name in names:
            monkeypatch.setattr(owner, name, gateway)


@pytest.mark.parametrize("gateway", [DeadGateway(), None])
def test_next_session_starts_a_jvm_of_its_own(monkeypatch: pytest.MonkeyPatch, gateway: DeadGateway | None):
    started(monkeypatch, gateway)
    forget_java()
    assert (SparkContext._gateway, SparkContext._jvm, SparkContext._active_spark_context) == (None, None, None)
    assert (SparkSession._instantiatedSession, SparkSession._activeSession) == (None, None)
    assert gateway is None or gateway.shutdowns == 1


@pytest.mark.parametrize(("program", "ended_by"), [(["cat"], 0), (["sleep", "60"], -signal.SIGKILL)])
def test_jvm_that_still_runs_ends(monkeypatch: pytest.MonkeyPatch, program: list[str], ended_by: int):
    with subprocess.Popen(program, stdin=subprocess.PIPE) as process:
        started(monkeypatch, SimpleNamespace(shutdown=lambda: None, proc=process))
        monkeypatch.setattr(session_module, "STOP_S", 5.0 if ended_by == 0 else 0.01)
        forget_java()
        assert process.returncode == ended_by


def test_memory_of_tasks_is_that_of_the_driver_or_of_an_executor():
    runtime = SimpleNamespace(getRuntime=lambda: SimpleNamespace(maxMemory=lambda: 7_000))
    java = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(Runtime=runtime)))
    scala = SimpleNamespace(sc=lambda: SimpleNamespace(executorMemory=lambda: 512))  # in MiB
    context = SimpleNamespace(master="local[2]", _jvm=java, _jsc=scala)
    assert task_memory_bytes(cast("SparkSession", SimpleNamespace(sparkContext=context))) == 7_000
    context.master = "yarn"
    assert task_memory_bytes(cast("SparkSession", SimpleNamespace(sparkContext=context))) == 512 << 20


class Context:
    """A fake of a Spark context that notes the groups of jobs."""

    def __init__(self) -> None:
        self.group: str | None = None
        self.cancelled: list[str] = []

    def setJobGroup(self, group: str, description: str, *, interruptOnCancel: bool) -> None:  # noqa: N802, N803 - Spark's names
        assert (description, interruptOnCancel) == ("replay p", True)
        self.group = group

    def setLocalProperty(self, name: str, value: None) -> None:  # noqa: N802 - Spark's name
        if name == "spark.jobGroup.id":
            self.group = value

    @property
    def _jsc(self) -> SimpleNamespace:
        jvm = SimpleNamespace(cancelJobGroupAndFutureJobs=self.cancelled.append)
        return SimpleNamespace(sc=lambda: jvm)


def test_jobs_of_a_block_are_cancelled_together():
    context = Context()
    session = cast("SparkSession", SimpleNamespace(sparkContext=context))
    first, second = JobGroup(session, "replay p"), JobGroup(session, "replay p")
    with first:
        group = context.group
    assert context.group is None
    with second:
        assert context.group != group
        second.cancel()
        assert reached(lambda: bool(context.cancelled), 30.0)
        assert context.cancelled == [context.group]
