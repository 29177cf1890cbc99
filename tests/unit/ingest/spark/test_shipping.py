"""Content for the tasks of jobs, with a session that keeps broadcasts in files as Spark does."""

import pickle
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from ingest.api import LifecycleError, StoreUnavailableError
from ingest.spark.shipping import Inline, Shipment, call_shipped, shipped


class Broadcast:
    """A broadcast in a file."""

    def __init__(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self.path = path
        self.error: Exception | None = None

    @property
    def value(self) -> bytes:
        return self.path.read_bytes()

    def destroy(self) -> None:
        if self.error is not None:
            raise self.error
        self.path.unlink()


class Session:
    """Stands for Spark's session and its context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.made: list[Broadcast] = []
        self.error: Exception | None = None

    @property
    def sparkContext(self) -> "Session":  # noqa: N802 - Spark's name
        return self

    def broadcast(self, content: bytes) -> Broadcast:
        if self.error is not None:
            raise self.error
        self.made.append(Broadcast(self._folder / str(len(self.made)), content))
        return self.made[-1]

    def files(self) -> list[str]:
        return sorted(path.name for path in self._folder.iterdir())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def of(session: Session) -> SparkSession:
    return cast("SparkSession", session)


def function(argument: bytes, numbers: Iterable[int]) -> list[object]:
    return [argument, *numbers]


def with_argument(argument: bytes) -> Callable[[Iterable[int]], Any]:
    return partial(function, argument)


def test_small_content_is_inline(session: Session) -> None:
    shipment = Shipment(of(session), b"abc", inline_bytes=3)
    assert isinstance(shipment.content(), Inline)
    assert shipment.content().value == b"abc"
    shipment.close()
    assert session.made == []


def test_large_content_is_one_broadcast_until_the_end(session: Session) -> None:
    shipment = Shipment(of(session), b"abcd", inline_bytes=3)
    assert session.files() == []  # nothing before the first job
    assert [shipment.content().value for _ in range(3)] == [b"abcd"] * 3
    assert session.files() == ["0"]
    shipment.close()
    shipment.close()
    assert session.files() == []
    with pytest.raises(LifecycleError):
        shipment.content()


def test_content_for_tasks_in_this_process_is_inline() -> None:
    assert isinstance(Shipment(None, b"abcd", inline_bytes=3).content(), Inline)


@pytest.mark.parametrize("error", [OSError(28, "No space left"), pickle.PicklingError("OSError: [Errno 28] No space")])
def test_full_disk_is_retried(session: Session, error: Exception) -> None:
    shipment = Shipment(of(session), b"abcd", inline_bytes=3)
    session.error = error
    with pytest.raises(StoreUnavailableError, match="No space"):
        shipment.content()
    session.error = None
    assert shipment.content().value == b"abcd"


def test_session_that_has_ended_does_not_prevent_a_close(session: Session) -> None:
    shipment = Shipment(of(session), b"abcd", inline_bytes=3)
    shipment.content()
    session.made[0].error = Py4JNetworkError("the JVM has ended")
    shipment.close()


def test_small_function_is_not_changed(session: Session) -> None:
    wanted = with_argument(b"a")
    with shipped(of(session), wanted) as found:
        assert found is wanted
    with shipped(None, with_argument(bytes(1_000)), inline_bytes=10) as found:
        assert found([1]) == [bytes(1_000), 1]
    assert session.made == []


def test_large_function_is_a_broadcast_for_one_job(session: Session) -> None:
    with shipped(of(session), with_argument(b"a" * 100), inline_bytes=100) as found:
        assert session.files() == ["0"]
        assert found([1, 2]) == [b"a" * 100, 1, 2]
        assert found.func is call_shipped  # type: ignore[union-attr] - a partial
    assert session.files() == []


def test_broadcast_of_a_job_that_fails_ends_too(session: Session) -> None:
    with pytest.raises(RuntimeError), shipped(of(session), with_argument(b"a" * 100), inline_bytes=100):
        raise RuntimeError
    assert session.files() == []
