"""A query whose JVM is gone, as after a SIGTERM to the whole process group."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from ingest.spark.asking import Asking
from ingest.spark.batch_time import BatchTimes
from ingest.spark.checkpoint import Checkpoint
from ingest.spark.job import Job
from ingest.spark.query import PipelineQuery
from sinks.families import FamilyRegistry


class Broken:
    """Stands for Spark's query: every call fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error


@pytest.fixture(params=[Py4JNetworkError("answer was empty"), ConnectionRefusedError("nobody there")], ids=["p", "c"])
def query(request: pytest.FixtureRequest, tmp_path: Path) -> PipelineQuery:
    job = Job(
        pipeline="p",
        plan=b"",
        batch_times=BatchTimes(tmp_path / "times", lambda: 0),
        stores={},
        families=FamilyRegistry({}, {}, {}, {}),
        incoming={},
        publish=lambda *_: None,
        watch=None,
    )
    made = PipelineQuery("p", Checkpoint(tmp_path), job, Asking())
    made._query = Broken(request.param)
    return made


def test_query_without_its_jvm_has_ended(query: PipelineQuery):
    assert query.ended()
    assert not query.is_reading()
    assert not query.is_waiting()
    assert query.drained()
    assert isinstance(query.failure(), Py4JNetworkError | ConnectionRefusedError)
    query.stop()
