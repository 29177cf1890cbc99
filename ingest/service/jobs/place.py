"""Where a job runs: in a process of its own, or in the running service, beside its pipelines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from ingest.api import Store
from ingest.catalog import Catalog
from ingest.config.model import Configuration, Pipeline
from ingest.observe.health import State
from ingest.plan.assemble import plan_of, store_component
from ingest.plan.plan import Plan
from ingest.plan.reading import reading_plan
from ingest.plan.stores import open_or_advise, owned_store, reading_store, reading_store_if_exists, unopened_store
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job_run import JobRun, NoJobsError
from ingest.service.jobs.slices import SliceResult, slices
from sinks.rewriting.store_calls import Access, StoreCalls, each_call, one_at_a_time

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.spark.streaming.checkpoint import Checkpoint
    from ingest.spark.streaming.reading import Session
    from sinks.writing.driver_store import DriverStore

_R = TypeVar("_R")
_U = TypeVar("_U", bound=SliceResult)
_T = TypeVar("_T")
_END = object()


class Place(ABC):
    """
    What a job uses to run. All that it opens stays open until the job has ended.

    Attributes:
        configuration: names the tables, stores and pipelines.
        catalog: of the configuration.
        is_dry_run: nothing may be written.
        is_service: whether it is the running service.
        cancellation: requested when the job must end.
        on_blocked: called by a step that retries, with the reason, and with "" when it goes on.
    """

    configuration: Configuration
    catalog: Catalog
    is_dry_run: bool
    is_service: bool = False
    cancellation: Cancellation
    on_blocked: Callable[[str], None] = staticmethod(lambda _reason: None)
    _session: "Session | None" = None

    def plan_of(self, pipeline: Pipeline) -> Plan:
        """The plan of a pipeline of the configuration."""
        return plan_of(self.configuration, pipeline, self.catalog)

    @abstractmethod
    def stores(self, plan: Plan, written: str, read: Collection[str] = ()) -> Mapping[str, StoreCalls]:
        """
        Stores of a plan, by name.

        Args:
            plan: of a pipeline.
            written: the store that the job writes; a dry run only reads it.
            read: others, which it reads; one that does not exist yet is left out.

        Raises:
            ConflictError: another process has locked a store that only one process may write.
            StoreError: a store is unavailable.
        """

    @abstractmethod
    def driver_stores(self, plan: Plan, opened: ExitStack) -> "Mapping[str, DriverStore]":
        """
        The stores of a plan that the driver writes, as `ingest.service.stores.driver_stores`, until `opened` closes.

        Raises:
            ConflictError: another process has locked a store that only one process may write.
            StoreError: such a store is unavailable.
        """

    @abstractmethod
    def store(
        self, name: str, *, is_written: bool = True, creates: bool = False, outlives_reload: bool = False
    ) -> Access:
        """
        A store of the job, also if no pipeline writes it.

        Args:
            name: of the store.
            is_written: whether the job writes it; a dry run only reads it.
            creates: create an embedded store that does not exist.
            outlives_reload: a reload does not end the job, so it cannot change the options of the store.

        Raises:
            NotFoundError: an embedded store does not exist.
            ConflictError: another process has locked a store that only one process may write.
            StoreError: the store is unavailable.
        """

    def unopened_store(self, name: str) -> Store[Any]:
        """
        A store that the job writes, and opens and closes itself, also again after it was unavailable.

        Args:
            name: of the store.
        """
        return unopened_store(self.configuration.stores[name], self.catalog)

    @abstractmethod
    def borrowed(self, pipeline: Pipeline, *, kind: str) -> "AbstractContextManager[Checkpoint]":
        """
        A block in which a pipeline does not run; yields its checkpoint, which this process has locked.

        Args:
            pipeline: of the configuration.
            kind: of the job.

        Raises:
            ConflictError: another process runs the pipeline; or the job was cancelled.
        """

    def session(self, activity: str, reads: Pipeline | None = None) -> "Session":
        """
        The Spark session of the job, whose Spark jobs end if it is cancelled.

        Args:
            activity: of the job, for Spark's UI, as in "compaction of counts".
            reads: the pipeline whose topics it reads, if it reads Kafka; at the first call.

        Raises:
            ConflictError: the session of the service cannot read Kafka.
        """
        if self._session is None:
            self._session = self._opened_session(activity, reads)
        return self._session

    @abstractmethod
    def _opened_session(self, activity: str, reads: Pipeline | None) -> "Session":
        """The session, at its first use."""

    @abstractmethod
    def max_tasks(self, session: "Session") -> int | None:
        """The maximum number of tasks of the job that run at a time; None if a cluster limits them."""

    def tasks(self, session: "Session") -> int:
        """The number of tasks of the job that run at a time."""
        return self.max_tasks(session) or session.sparkContext.defaultParallelism

    @abstractmethod
    def new_slice(self) -> AbstractContextManager[None]:
        """Surrounds a part of the work that takes at most a minute; in a service the job rests after it."""

    @contextmanager
    def resting(self, activity: str) -> Iterator[Callable[[], None]]:
        """
        Surrounds work in slices; yields the function that the work calls between two of them.

        Args:
            activity: for messages, as in "bootstrap".

        Raises:
            ConflictError: by that function: the job was cancelled.
        """
        with ExitStack() as worked:

            def rest() -> None:
                worked.close()
                self.cancellation.check(activity)
                worked.enter_context(self.new_slice())

            worked.enter_context(self.new_slice())
            yield rest

    def slices(self, ranges: Sequence[_R], run: Callable[[Sequence[_R]], _U], *, activity: str) -> Iterator[_U]:
        """
        Run slices until no range remains, as `ingest.service.jobs.slices`; yields the result of each.

        Args:
            ranges: of the job.
            run: runs one slice on the ranges that remain.
            activity: for messages, as in "compaction".
        """
        return slices(ranges, run, activity=activity, new_slice=self.new_slice, cancellation=self.cancellation)

    def paced(self, made: Iterator[_T], *, activity: str) -> Iterator[_T]:
        """
        The items of an iterator, each made within a slice.

        Args:
            made: the iterator.
            activity: for messages, as in "archive-join".

        Raises:
            ConflictError: the job was cancelled between two items.
        """
        while True:
            self.cancellation.check(activity)
            with self.new_slice():
                item = next(made, _END)
            if item is _END:
                return
            yield item  # type: ignore[misc] # it is no end


class OwnProcess(Place):
    """
    A process for the job alone: it opens stores of its own, and a Spark session with all task slots when one is needed.

    Args:
        configuration: names the tables, stores and pipelines.
        catalog: of the configuration.
        opened: closes what the job has opened.
        is_dry_run: stores are opened for reading.
    """

    def __init__(
        self, configuration: Configuration, catalog: Catalog, opened: ExitStack, *, is_dry_run: bool = False
    ) -> None:
        self.configuration = configuration
        self.catalog = catalog
        self.is_dry_run = is_dry_run
        self.cancellation = Cancellation()
        self._opened = opened

    def stores(self, plan: Plan, written: str, read: Collection[str] = ()) -> Mapping[str, StoreCalls]:  # noqa: ARG002
        """Stores of this process; one with a single writer is refused while a service runs."""
        components = self.configuration.stores
        open_store = reading_store if self.is_dry_run else owned_store
        found = {written: self._opened.enter_context(open_store(components[written], self.catalog))}
        for name in {*read} - {written}:
            store, exists = self._opened.enter_context(reading_store_if_exists(components[name], self.catalog))
            if exists:
                found[name] = store
        return {name: StoreCalls(one_at_a_time(store)) for name, store in found.items()}

    def driver_stores(self, plan: Plan, opened: ExitStack) -> "Mapping[str, DriverStore]":
        """Stores of this process; one with a single writer is refused while a service runs."""
        from ingest.service.stores import driver_stores

        stores = driver_stores(self.configuration, [plan], opened)
        for store in stores.values():
            if store.capabilities.written_by_driver:
                open_or_advise(
                    store,
                    "only one process at a time may write it: stop that process, or wait for its end, and then run "
                    "this command again; if it is a service, 'attr2hbase reload' gives it this file, and without "
                    "--own-process it does this itself",
                )
        return stores

    def store(
        self,
        name: str,
        *,
        is_written: bool = True,
        creates: bool = False,
        outlives_reload: bool = False,  # noqa: ARG002 - nothing is reloaded
    ) -> Access:
        """A store of this process."""
        component = self.configuration.stores[name]
        if self.is_dry_run or not is_written:
            return one_at_a_time(self._opened.enter_context(reading_store(component, self.catalog)))
        if component.settings.own_folder is not None and not creates:
            with reading_store(component, self.catalog):
                pass  # to open it for writing would create it
        return one_at_a_time(self._opened.enter_context(owned_store(component, self.catalog)))

    @contextmanager
    def borrowed(self, pipeline: Pipeline, *, kind: str) -> "Iterator[Checkpoint]":  # noqa: ARG002 - nothing waits
        """Refused while a service runs the pipeline."""
        from ingest.spark.state import checkpoint_folder
        from ingest.spark.streaming.checkpoint import Checkpoint

        checkpoint = Checkpoint(checkpoint_folder(self.configuration, pipeline.name))
        checkpoint.lock()
        try:
            yield checkpoint
        finally:
            checkpoint.unlock()

    def _opened_session(self, activity: str, reads: Pipeline | None) -> "Session":
        """A new session."""
        from ingest.spark.jars import connector_jars
        from ingest.spark.session import close_session, is_submitted, open_session
        from ingest.spark.state import session_options

        jars = [] if reads is None or is_submitted() else connector_jars()
        properties = {} if reads is None else reads.source.settings.java_properties()
        session = open_session(f"attr2hbase {activity}", **session_options(self.configuration, jars, properties))
        self._opened.callback(close_session, session)
        return session

    def max_tasks(self, session: "Session") -> int | None:
        """All slots."""
        from ingest.spark.session import max_tasks

        return max_tasks(session)

    def new_slice(self) -> AbstractContextManager[None]:
        """No rest: no pipeline waits."""
        return nullcontext()


class InService(Place):
    """
    The running service: the stores that its pipelines write too, and its Spark session.

    Args:
        run: of the job.
        opened: ends the use of what the job has opened.
    """

    is_dry_run = False
    is_service = True

    def __init__(self, run: JobRun, opened: ExitStack) -> None:
        self.configuration = run.context.shared.configuration
        self.catalog = run.context.shared.catalog
        self.cancellation = run.cancellation
        self._run = run
        self._opened = opened

    def stores(
        self,
        plan: Plan,
        written: str,  # noqa: ARG002 - all are open for writing
        read: Collection[str] = (),  # noqa: ARG002
    ) -> Mapping[str, StoreCalls]:
        """The stores of the service."""
        stores = self._run.context.shared.stores.used_by(plan, self._opened)
        return {name: StoreCalls(store.held) for name, store in stores.items()}

    def driver_stores(self, plan: Plan, opened: ExitStack) -> "Mapping[str, DriverStore]":
        """The stores that the pipelines write too."""
        return self._run.context.shared.stores.used_by(plan, opened)

    def store(
        self,
        name: str,
        *,
        is_written: bool = True,  # noqa: ARG002 - all are open for writing
        creates: bool = False,  # noqa: ARG002
        outlives_reload: bool = False,
    ) -> Access:
        """The store of the service, if only one process may write it."""
        component = self.configuration.stores[name]
        if component.settings.own_folder is None:
            return one_at_a_time(self._opened.enter_context(owned_store(component, self.catalog)))
        located = store_component(self.configuration, name, self.catalog)
        plan = reading_plan([located], {}, self.catalog.files, self.configuration.masks)
        stores = self._run.context.shared.stores.used_by(plan, self._opened, outlives_reload=outlives_reload)
        return stores[name].held

    def unopened_store(self, name: str) -> Store[Any]:
        """The store of the service, if only one process may write it."""
        if self.configuration.stores[name].settings.own_folder is None:
            return super().unopened_store(name)
        return each_call(self.store(name))

    @contextmanager
    def borrowed(self, pipeline: Pipeline, *, kind: str) -> "Iterator[Checkpoint]":
        """The service ends the pipeline after its running micro-batch, and starts it after the block."""
        shared = self._run.context.shared
        with ExitStack() as kept:
            shared.stores.used_by(self.plan_of(pipeline), kept)  # they stay open, and locked, until it runs again
            with self._run.context.loans.borrowed(pipeline.name) as checkpoint:
                shared.health.change(pipeline.name, State.PAUSED, f"the job {kind} has it to itself")
                self.cancellation.check(kind)
                yield checkpoint

    def _opened_session(self, activity: str, reads: Pipeline | None) -> "Session":
        """The session of the service."""
        from ingest.spark.jars import connector_jars
        from ingest.spark.session import JobGroup, has_jars, is_submitted

        session = self._run.context.session
        if reads is not None and not is_submitted() and not has_jars(session, connector_jars()):
            raise NoJobsError(
                f'the service runs without the jars of Kafka, because pipeline "{reads.name}" could not be built',
                hint="correct the pipeline and restart the service, or add --own-process",
            )
        jobs = self._opened.enter_context(JobGroup(session, activity))
        self._opened.enter_context(self._run.cancellation.calls(jobs.cancel))
        return session

    def max_tasks(self, session: "Session") -> int | None:  # noqa: ARG002 - a job leaves slots to the pipelines
        """As `service: jobs: tasks` says."""
        return self._run.tasks

    def new_slice(self) -> AbstractContextManager[None]:
        """With a rest, so that the pipelines keep their rate."""
        return self._run.new_slice()
