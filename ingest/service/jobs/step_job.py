"""A job that is one class: its options, its command, its steps at any place, and its schedule."""

from abc import abstractmethod
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from ingest.api import ConflictError, Model
from ingest.config.model import Configuration
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import MAX_DETAILS, Job, JobRun, Progress
from ingest.service.jobs.place import InService, Place
from ingest.service.jobs.schedule import ScheduledJob

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics
    from ingest.service.shared import Shared

O = TypeVar("O", bound=Model)  # noqa: E741 - the options
Steps: TypeAlias = Generator[Progress, None, None]
"""Does the work; yields the progress after each step, at last with the complete result."""


class StepJob(Job, Generic[O]):
    """
    A job whose work is steps, at any place.

    Attributes:
        options_model: class of its options: of the command, of the HTTP request and of a schedule.
        command: its command.
        runs_pipelines: whether it runs its pipelines: those of the service must be those that the request means.
        meant: name of a pipeline -> its fingerprint in the file of the sender; none to take any.

    Args:
        subject: name of the table that it works on; of a dump, its root.
        options: what is done.
    """

    options_model: ClassVar[type[Model]]
    command: ClassVar[JobCommand]
    runs_pipelines: ClassVar[bool] = False
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
    def scheduled(cls, configuration: Configuration) -> list[ScheduledJob]:  # noqa: ARG003 - of the contract
        """The jobs of this kind that a configuration declares; none by default."""
        return []

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: list[ScheduledJob], now_s: float) -> None:
        """Set the metrics of the jobs that a configuration declares; called as `on_change` of `Schedule`."""

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether one of these pipelines is among those that `checked` has found."""
        return not self._pipelines.isdisjoint(pipelines)

    def is_same(self, other: Job) -> bool:
        """Whether the other one does the same with the same subject."""
        if not isinstance(other, StepJob) or type(other) is not type(self):
            return False
        return (self.subject, self.options) == (other.subject, other.options)

    @property
    def is_of_this_process(self) -> bool:
        """Whether the process of the command does it beside a service, as what reads stdin; after `checked`."""
        return False

    def fingerprints(self, configuration: Configuration) -> dict[str, str]:
        """`meant` for the request of a job that `checked` has accepted."""
        names = self._pipelines if self.runs_pipelines else ()
        return {name: configuration.pipelines[name].fingerprint for name in sorted(names)}

    def check(self, shared: "Shared") -> None:
        """Refuse what `checked` refuses, and another version of a pipeline than the request means."""
        self.checked(shared.configuration)
        for name, fingerprint in self.fingerprints(shared.configuration).items():
            if self.meant.get(name, fingerprint) != fingerprint:
                raise ConflictError(
                    f'the service runs another version of pipeline "{name}" than the file has',
                    code="other_version",
                    hint=f"run 'attr2hbase reload {shared.configuration.path}', then the command with that file; or "
                    f"add "
                    "--own-process",
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
        """Carry the steps out in the running service."""
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
