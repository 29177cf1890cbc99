"""A place for jobs of unit tests, which are given their stores."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ingest.plan.plan import Plan
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.place import Place
from ingest.spark.streaming.reading import Session
from sinks.rewriting.store_calls import Access, StoreCalls


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

    def store(self, name: str, *, outlives_reload: bool = False) -> Access:
        raise AssertionError("the test has passed the store")

    def session(self, activity: str) -> Session:
        return self._session

    def tasks(self, session: Session) -> int:
        return 8

    def new_slice(self) -> AbstractContextManager[None]:
        return self._new_slice()
