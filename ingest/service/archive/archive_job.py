"""The base of jobs that work on an archived table."""

from collections.abc import Mapping
from typing import Any

from ingest.api import Model, option
from ingest.config.model import Configuration
from ingest.service.archived_tables import ArchivedTable, archived_table
from ingest.service.jobs.job import Job, O
from ingest.service.jobs.option_types import Value

RESUMES = "the older version stays current, unless the new one is already; run the same command again"
"""The hint of a command that writes a version."""


class PartitionOptions(Model):
    """Which partition is written into a new version."""

    dt: Value = option("Value of the partition, as 20151210.")
    keep: bool = option("No cleanup removes the new version.", default=False)
    exclusive: bool = option("Refuse to run if another process writes a version of the partition.", default=False)


class ArchiveJob(Job[O]):
    """Works on an archived table."""

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table that no sink archives."""
        self.declared(configuration)

    def declared(self, configuration: Configuration) -> ArchivedTable:
        """
        The table; `uses` answers for the pipelines that write it.

        Raises:
            NotFoundError: no sink writes it.
            ConfigError: its sinks disagree about where or how.
        """
        table = archived_table(configuration, self.subject)
        self._pipelines = frozenset(sink.pipeline.name for sink in table.sinks)
        return table


def switched(content: Mapping[str, Any]) -> str:
    """What a command says of the version that it has written."""
    return f"version {content['version']} is current"
