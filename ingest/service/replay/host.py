"""The Spark session and the stores with which a replay runs: of its own process, or of a running service."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext

from ingest.api import ConflictError
from ingest.config.model import Configuration
from ingest.plan.plan import Plan
from ingest.plan.stores import open_or_advise
from ingest.service.jobs.job import JobRun
from ingest.service.stores import driver_stores, refuse_cluster
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.jars import connector_jars
from ingest.spark.session import close_session, has_jars, is_submitted, max_tasks, open_session
from ingest.spark.state import session_options
from ingest.spark.streaming.reading import Session
from sinks.writing.driver_store import DriverStore


class ReplayHost(ABC):
    """Opens what the micro-batches of a replay need; everything is closed with the stack that is passed."""

    @abstractmethod
    def stores(self, plan: Plan, opened: ExitStack) -> Mapping[str, DriverStore]:
        """
        The stores of a plan that only the driver may write or that create families.

        Raises:
            IngestError: as `ingest.service.stores.driver_stores`.
        """

    @abstractmethod
    def session(
        self, pipeline: str, settings: KafkaSourceSettings, stores: Mapping[str, DriverStore], opened: ExitStack
    ) -> Session:
        """
        A session that can read Kafka, for tasks that may write these stores.

        Raises:
            IngestError: there is none.
        """

    @abstractmethod
    def max_tasks(self, session: Session) -> int | None:
        """The maximum number of tasks at a time; None for one for each partition of Kafka."""

    @abstractmethod
    def micro_batch(self) -> AbstractContextManager[None]:
        """Surrounds one micro-batch; may wait at its end."""


class OwnProcess(ReplayHost):
    """A session for the replay alone, with all task slots."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def stores(self, plan: Plan, opened: ExitStack) -> Mapping[str, DriverStore]:
        """Stores of this process; one with a single writer is refused while the service runs."""
        stores = driver_stores(self._configuration, [plan], opened)
        for store in stores.values():
            if store.capabilities.written_by_driver:
                open_or_advise(
                    store,
                    "only one process at a time may write it: stop that process, or wait for its end, and then run "
                    "this command again; if it is a service with this pipeline, it can run the replay: leave out "
                    "--own-process",
                )
        return stores

    def session(
        self, pipeline: str, settings: KafkaSourceSettings, stores: Mapping[str, DriverStore], opened: ExitStack
    ) -> Session:
        """A new session."""
        jars = [] if is_submitted() else connector_jars()
        options = session_options(self._configuration, jars, settings.java_properties())
        session = open_session(f"attr2hbase replay {pipeline}", **options)
        opened.callback(close_session, session)
        refuse_cluster(stores, str(session.sparkContext.master))
        return session

    def max_tasks(self, session: Session) -> int | None:
        """All slots."""
        return max_tasks(session)

    def micro_batch(self) -> AbstractContextManager[None]:
        """Does nothing."""
        return nullcontext()


class RunningService(ReplayHost):
    """The session and the stores of a service, which its pipelines use at the same time."""

    def __init__(self, run: JobRun) -> None:
        self._run = run

    def stores(self, plan: Plan, opened: ExitStack) -> Mapping[str, DriverStore]:
        """The stores that the pipelines write too."""
        return self._run.context.shared.stores.used_by(plan, opened)

    def session(
        self,
        pipeline: str,
        settings: KafkaSourceSettings,  # noqa: ARG002 - the session has the properties of all pipelines
        stores: Mapping[str, DriverStore],
        opened: ExitStack,  # noqa: ARG002 - the session outlives the replay
    ) -> Session:
        """The session of the service."""
        session = self._run.context.session
        if not is_submitted() and not has_jars(session, connector_jars()):
            raise ConflictError(
                f'the service runs without the jars of Kafka, because pipeline "{pipeline}" could not be built',
                code="no_jobs",
                hint="correct the pipeline and restart the service, or add --own-process",
            )
        refuse_cluster(stores, str(session.sparkContext.master))
        return session

    def max_tasks(self, session: Session) -> int | None:  # noqa: ARG002 - a job leaves slots to the pipelines
        """Those of a job."""
        return self._run.tasks

    def micro_batch(self) -> AbstractContextManager[None]:
        """Rests after the micro-batch, so that the pipelines keep their rate."""
        return self._run.new_slice()
