"""The base of jobs that work on one table with deferred updates."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Generic, TypeVar

from ingest.api import ConfigError, Model
from ingest.config.model import Configuration, Pipeline, Table
from ingest.observe.metrics import Metrics
from ingest.plan.tables import declared_table
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Job, JobRun, Progress
from ingest.service.jobs.place import InService, Place
from ingest.service.shared import Shared

O = TypeVar("O", bound=Model)  # noqa: E741 - the options


class TableJob(Job, Generic[O]):
    """
    Works on a table with deferred updates.

    Attributes:
        options_model: class of its options: of the command, of the HTTP request and of a schedule.
        command: its command.

    Args:
        table: its name.
        options: which updates.
    """

    options_model: ClassVar[type[Model]]
    command: ClassVar[JobCommand]

    def __init__(self, table: str, options: O) -> None:
        self.subject = table
        self.options = options
        self._pipeline = ""

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether the pipeline that writes the table is one of them."""
        return self._pipeline in pipelines

    def is_same(self, other: Job) -> bool:
        """Whether the other one does the same with the same updates."""
        if not isinstance(other, TableJob) or type(other) is not type(self):
            return False
        return (self.subject, self.options) == (other.subject, other.options)

    def check(self, shared: Shared) -> None:
        """Refuse a table without deferred updates."""
        self.checked(shared.configuration)

    def checked(self, configuration: Configuration) -> None:
        """
        Refuse a job that can never run with a configuration.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it has no deferred updates, or no pipeline writes it.
        """
        self.declared(configuration)

    def run(self, run: JobRun) -> None:
        """Carry the steps out in the running service."""
        progress = Progress()
        with ExitStack() as opened:
            for progress in self.steps(InService(run, opened)):
                run.report(progress)
        self.record(progress.result or {}, run.context.shared.metrics)

    @abstractmethod
    def steps(self, place: Place) -> Iterator[Progress]:
        """
        Do the work at a place; yields the progress after each step, at last with the complete result.

        Raises:
            IngestError: it cannot be done, or was cancelled.
        """

    def record(self, content: Mapping[str, Any], metrics: Metrics) -> None:
        """Set the metrics of the service from the complete result."""

    @abstractmethod
    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """The complete result for a user."""

    def declared(self, configuration: Configuration) -> tuple[Table, Pipeline]:
        """
        The table as the configuration declares it, and the pipeline that writes it.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it has no deferred updates, or no pipeline writes it.
        """
        table, pipeline = table_with_updates(configuration, self.subject)
        self._pipeline = pipeline.name
        return table, pipeline


def table_with_updates(configuration: Configuration, name: str) -> tuple[Table, Pipeline]:
    """
    A table with deferred updates of a configuration, and the pipeline that writes it.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: it has no deferred updates, or no pipeline of the file writes it.
    """
    elsewhere = (
        f"use the file of the pipeline that writes it; there it is declared as 'tables: {{{name}: {{updates: …}}}}'"
    )
    table = declared_table(configuration, name, if_none=elsewhere)
    if table.updates is None:
        raise ConfigError(
            f'the file declares no deferred updates for table "{name}", so there is nothing to compact or to roll back',
            hint="'ingest table plan' shows whether the table has some",
        )
    for pipeline in configuration.pipelines.values():
        if table in configuration.updated_by(pipeline):
            return table, pipeline
    raise ConfigError(f'no pipeline of the file writes table "{name}"', hint="use the file of its pipeline")
