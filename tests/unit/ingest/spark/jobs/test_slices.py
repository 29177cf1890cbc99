"""Slices as Spark jobs: which ranges a task gets, and which errors end the work."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException

from ingest.api import ConfigError, StoreUnavailableError
from ingest.spark.jobs.slices import retryable_error, run_slice
from ingest.spark.jobs.task_errors import TaskError, plain_error
from tests.support.jobs import Session


def ranges_of_task(ranges: Sequence[int]) -> dict[str, Any]:
    return {"ranges": [*ranges], "error": None}


def test_ranges_are_dealt_to_the_tasks_in_turn():
    session = Session()
    results, error = run_slice(session, 2, [0, 1, 2, 3, 4], ranges_of_task, activity="test")
    assert ([each["ranges"] for each in results], error, session.tasks) == ([[0, 2, 4], [1, 3]], None, [2])


def test_no_task_is_without_a_range():
    session = Session()
    results, _ = run_slice(session, 8, [0, 1], ranges_of_task, activity="test")
    assert ([each["ranges"] for each in results], session.tasks) == ([[0], [1]], [2])


def test_failed_job_can_be_repeated():
    results, error = run_slice(
        Session(PySparkException("a worker was killed")), 2, [0], ranges_of_task, activity="test"
    )
    assert results == ()
    assert error is not None
    assert error.code == "spark_job_failed"


def test_tasks_that_outlive_a_failed_job_have_ended_when_it_is_repeated():
    """Two compactions of one row would write merged rows that overlap, and the lease is the same for both."""
    session = Session(PySparkException("a worker was killed"), active=[2, 1])
    run_slice(session, 2, [0, 1], ranges_of_task, activity="test")
    assert session.active == []


def test_no_job_is_repeated_without_the_jvm():
    session = Session(PySparkException("Connection refused"), is_stopped=True)
    with pytest.raises(TaskError, match="has ended") as raised:
        run_slice(session, 2, [0], ranges_of_task, activity="test")
    assert raised.value.code == "jvm_lost"
    assert raised.value.hint is not None


def test_error_of_an_unavailable_store_is_returned():
    away = {"error": plain_error(StoreUnavailableError("no answer"))}
    assert retryable_error([{"error": None}]) is None
    error = retryable_error([away, {"error": None}])
    assert error is not None
    assert (error.code, error.message) == ("store_unavailable", "no answer")


def test_other_error_of_a_task_is_raised():
    results = [{"error": plain_error(StoreUnavailableError("no answer"))}, {"error": plain_error(ConfigError("wrong"))}]
    with pytest.raises(TaskError, match="wrong"):
        retryable_error(results)
