"""A place for jobs of unit tests, which are given their stores."""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, TypeVar

from ingest.catalog import Catalog
from ingest.config.model import Configuration, Pipeline
from ingest.formats.times import moment
from ingest.plan.plan import Plan
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job import Job
from ingest.service.jobs.place import OwnProcess, Place
from ingest.service.replay.options import ReplayOptions
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.reading import Session
from sinks.rewriting.store_calls import Access, StoreCalls

T = TypeVar("T")


class Here(Place):
    """
    This process.

    Args:
        is_dry_run: nothing may be written.
        new_slice: surrounds each slice.
        session: of jobs on Spark.
    """

    def __init__(
        self,
        *,
        is_dry_run: bool = False,
        new_slice: Callable[[], AbstractContextManager[None]] = nullcontext,
        session: Any = None,
    ) -> None:
        self.is_dry_run = is_dry_run
        self.cancellation = Cancellation()
        self._new_slice = new_slice
        self._session = session

    def stores(self, plan: Plan, written: str, read: Collection[str] = ()) -> Mapping[str, StoreCalls]:
        raise AssertionError("the test has passed the stores")

    def driver_stores(self, plan: Plan, opened: ExitStack) -> Any:
        raise AssertionError("the test has passed the stores")

    def borrowed(self, pipeline: Pipeline, *, kind: str) -> Any:
        raise AssertionError("the test has passed the checkpoint")

    def store(
        self, name: str, *, is_written: bool = True, creates: bool = False, outlives_reload: bool = False
    ) -> Access:
        raise AssertionError("the test has passed the store")

    def _opened_session(self, activity: str, reads: Pipeline | None) -> Session:
        raise AssertionError("the test has passed the session")

    def max_tasks(self, session: Session) -> int | None:
        return 8

    def new_slice(self) -> AbstractContextManager[None]:
        return self._new_slice()


def ended(job: Job[Any], place: Place) -> Mapping[str, Any]:
    """The result of a job that has run at a place."""
    *_, last = job.steps(place)
    return last.result or {}


def returned(generator: Generator[Any, None, T]) -> T:
    """What a generator returns at its end."""
    while True:
        try:
            next(generator)
        except StopIteration as stop:
            value: T = stop.value
            return value


def own_process(configuration: Configuration, catalog: Catalog | None = None) -> OwnProcess:
    """The place of a command without a service."""
    return OwnProcess(configuration, catalog or Catalog(), ExitStack())


def borrowed(configuration: Configuration, pipeline: Pipeline, opened: ExitStack) -> Checkpoint:
    """The locked checkpoint of a pipeline that does not run."""
    return opened.enter_context(own_process(configuration).borrowed(pipeline, kind="test"))


def replay_options(from_ms: int, to_ms: int, **more: Any) -> ReplayOptions:
    """The options of a replay of a time range."""
    return ReplayOptions.model_validate({"from": moment(from_ms), "to": moment(to_ms)} | more)
