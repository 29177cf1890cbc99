"""A background job of a service, as one class: its options, its command, its steps at any place, and its schedule."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from ingest.api import ConflictError, Model
from ingest.config.model import Configuration
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job_run import MAX_DETAILS, JobRun, Progress
from ingest.service.jobs.place import InService, Place

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics
    from ingest.service.jobs.schedule import ScheduledJob
    from ingest.service.shared import Shared

O = TypeVar("O", bound=Model)  # noqa: E741 - the options
Steps: TypeAlias = Generator[Progress, None, None]
"""Does the work; yields the progress after each step, at last with the complete result."""


class OtherVersionError(ConflictError):
    """The service runs a pipeline as an older version of the file describes it."""

    code = "other_version"
    remedy = "Reload the service, or undo the change of the file."


class Job(ABC, Generic[O]):
    """
    A background job, whose work is steps at any place: in the running service, when no other job runs, or in a process
    of its own.

    Its Spark jobs run one at a time, each with at most `Place.tasks` partitions, as from `DataFrame.coalesce`: Spark
    runs one task for each partition, so this bounds the task slots that the job takes. They run in blocks of
    `Place.new_slice`, each of which takes at most a minute.

    Attributes:
        kind: name of the kind of job, in the status and in metrics.
        options_model: class of its options: of the command, of the HTTP request and of a schedule.
        command: its command.
        runs_pipelines: whether it runs its pipelines: those of the service must be those that the request means.
        needs_slots: whether it runs on Spark; else it runs also if there is no task slot for a job.
        overtakes: whether it runs before the jobs that wait: a user waits for it, and it changes little.
        meant: name of a pipeline -> its fingerprint in the file of the sender; none to take any.

    Args:
        subject: name of the pipeline or table that it works on; of a dump, its root.
        options: what is done.
    """

    kind: ClassVar[str]
    options_model: ClassVar[type[Model]]
    command: ClassVar[JobCommand]
    runs_pipelines: ClassVar[bool] = False
    needs_slots: bool = True
    overtakes: bool = False
    meant: Mapping[str, str] = MappingProxyType({})

    def __init__(self, subject: str, options: O) -> None:
        self.subject = subject
        self.options = options
        self._pipelines: frozenset[str] = frozenset()

    @classmethod
    def subject_of(cls, given: str | None, configuration: Configuration) -> str:  # noqa: ARG003 - of the contract
        """
        The subject that the argument of a command names.

        Raises:
            ConfigError: it is missing.
        """
        return given or ""

    @classmethod
    def scheduled(cls, configuration: Configuration) -> "list[ScheduledJob]":  # noqa: ARG003 - of the contract
        """The jobs of this kind that a configuration declares; none by default."""
        return []

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: "list[ScheduledJob]", now_s: float) -> None:
        """Set the metrics of the jobs that a configuration declares; called as `on_change` of `Schedule`."""

    def uses(self, pipelines: Collection[str]) -> bool:
        """
        Whether it uses the configuration of one of these pipelines, as `checked` has found.

        It then does not run while that changes.
        """
        return not self._pipelines.isdisjoint(pipelines)

    def is_same(self, other: "Job[Any]") -> bool:
        """Whether the other job, if it waits or runs, makes this one unnecessary: it does the same."""
        return type(other) is type(self) and (self.subject, self.options) == (other.subject, other.options)

    @property
    def is_of_this_process(self) -> bool:
        """Whether the process of the command does it beside a service, as what reads stdin; after `checked`."""
        return False

    def fingerprints(self, configuration: Configuration) -> dict[str, str]:
        """`meant` for the request of a job that `checked` has accepted."""
        names = self._pipelines if self.runs_pipelines else ()
        return {name: configuration.pipelines[name].fingerprint for name in sorted(names)}

    def check(self, shared: "Shared") -> None:
        """
        Refuse a job that this service can never run; from memory, before it is added to the queue.

        Raises:
            ConfigError: as `checked`.
            ConflictError: the request means another version of a pipeline than the service runs.
        """
        self.checked(shared.configuration)
        for name, fingerprint in self.fingerprints(shared.configuration).items():
            if self.meant.get(name, fingerprint) != fingerprint:
                raise OtherVersionError(
                    f'the service runs another version of pipeline "{name}" than the file has',
                    hint=f"run 'attr2hbase reload {shared.configuration.path}', then the command with that file",
                )

    @abstractmethod
    def checked(self, configuration: Configuration) -> None:
        """
        Refuse a job that can never run with a configuration; `uses` answers for its pipelines from now on.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it is no table for this kind of job.
        """

    def run(self, run: JobRun) -> None:
        """
        Carry the steps out in the running service; called again, in another run, if a reload has ended the first one.

        Raises:
            IngestError: as `steps`.
        """
        self.meant = {}  # a later run goes on with the pipelines of a reload, as the same command again would
        progress, kept = Progress(), dict[str, list[Any]]()
        with ExitStack() as opened:
            place = InService(run, opened)
            place.on_blocked = lambda reason: run.report(replace(progress, blocked=reason))
            steps = opened.enter_context(closing(self.steps(place)))
            for progress in steps:
                run.report(progress)
                for name, found in progress.details.items():
                    known = kept.setdefault(name, [])
                    known += found[: MAX_DETAILS - len(known)]
        if kept:
            run.report(replace(progress, result={**(progress.result or {}), **kept}))
        self.record(progress.result or {}, run.context.shared.metrics)

    @abstractmethod
    def steps(self, place: Place) -> Steps:
        """
        Do the work at a place.

        Raises:
            IngestError: it cannot be done, or was cancelled.
        """

    def begun(self, content: Mapping[str, Any]) -> Sequence[str]:  # noqa: ARG002 - of the contract
        """Notes for the user, as soon as there is a result."""
        return ()

    def record(self, content: Mapping[str, Any], metrics: "Metrics") -> None:
        """Set the metrics of the service from the complete result."""

    @abstractmethod
    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """The complete result for a user."""
