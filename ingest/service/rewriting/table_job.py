"""The base of jobs that work on one table with deferred updates."""

from collections.abc import Collection
from typing import Generic, TypeVar

from ingest.config.model import Pipeline, Table
from ingest.service.jobs.job import Job
from ingest.service.rewriting.compaction import table_with_updates
from ingest.service.shared import Shared

R = TypeVar("R")


class TableJob(Job, Generic[R]):
    """
    Works on a table through the stores of the running service.

    Args:
        table: its name.
        request: which updates.
    """

    def __init__(self, table: str, request: R) -> None:
        self.subject = table
        self.request = request
        self._pipeline = ""

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether the pipeline that writes the table is one of them."""
        return self._pipeline in pipelines

    def is_same(self, other: Job) -> bool:
        """Whether the other one does the same with the same updates."""
        if not isinstance(other, TableJob) or type(other) is not type(self):
            return False
        return (self.subject, self.request) == (other.subject, other.request)

    def check(self, shared: Shared) -> None:
        """Refuse a table without deferred updates."""
        self.declared(shared)

    def declared(self, shared: Shared) -> tuple[Table, Pipeline]:
        """
        The table as the file of the service declares it now, and the pipeline that writes it.

        Raises:
            NotFoundError: the file declares no such table any more.
            ConfigError: it has no deferred updates, or no pipeline writes it.
        """
        table, pipeline = table_with_updates(shared.configuration, self.subject)
        self._pipeline = pipeline.name
        return table, pipeline
