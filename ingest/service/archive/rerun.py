"""Writes a partition of an archive again: records of the topics through the pipeline as it is now."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ingest.amounts import counted, counts_of
from ingest.api import ConfigError, option
from ingest.config.model import Configuration
from ingest.service.archive.archive_job import RESUMES, ArchiveJob, PartitionOptions, switched
from ingest.service.archived_tables import ArchivedTable, check_value
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.option_types import Moment
from ingest.service.jobs.place import Place


class RerunOptions(PartitionOptions):
    """Which records are written again, and how."""

    from_: Moment | None = Field(
        None, alias="from", description="Timestamp of the first records; by default all that the topics have."
    )
    to: Moment | None = option("Only records before this timestamp.", default=None)
    force: bool = option(
        "Allow columns with other types than in the other partitions: readers fail until all are written again.",
        default=False,
    )


class ArchiveRerun(ArchiveJob[RerunOptions]):
    """
    Writes one partition again. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: which partition, and of which records.
    """

    kind = "archive-rerun"
    options_model = RerunOptions
    runs_pipelines = True
    command = JobCommand(
        help="""
        Write a partition again: read the topics, run the pipeline as it is now, and make the new version current.

        The older version stays until a cleanup. The service may run: it writes to both versions meanwhile, so each
        event is in the new one once. Readers see old rows or new ones, never both. Late events are accepted.

        Rows of the current version whose records are not read again are copied, for instance if the topics no longer
        have them. If events of rows fail now, the command ends with an error, and the current version stays.

        If the service runs, it writes the partition beside its pipelines, if they are as in the file; interrupting the
        command (Ctrl-C) cancels it.

        Example: attr2hbase archive rerun customer --dt 20151210
        """,
        advances=("records", "records"),
        does="writes the partition",
        resumes=RESUMES,
    )

    def declared(self, configuration: Configuration) -> ArchivedTable:
        """
        The table, which one sink writes from Kafka.

        Raises:
            NotFoundError: no sink writes it.
            ConfigError: several sinks write the table, the source is not Kafka, or the value names no partition.
        """
        from ingest.service.offsets import kafka_source_of

        table = super().declared(configuration)
        if len(table.sinks) > 1:
            raise ConfigError(
                f'{len(table.sinks)} sinks write the table "{table.name}"',
                hint="a re-run reads the source of one: give each sink a table of its own",
            )
        check_value(table.rule, self.options.dt)
        kafka_source_of(table.sinks[0].pipeline)
        return table

    def steps(self, place: Place) -> Steps:
        """Write the partition; see `rerun_steps`."""
        from ingest.service.archive.rerun_steps import rerun_steps

        return rerun_steps(place, self.declared(place.configuration), self.options)

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """The counts, and the records that have neither a row nor a dead letter."""
        plain, lost = dict(content), content["failed_without_dead_letter"]
        first = plain.pop("first_without_dead_letter")
        what = f"{counted(lost, 'failed record')} without a row and without a dead letter, first {first}"
        notes = [what] if lost else []
        if not content["rows"] and not content["copied"]:
            notes.append(f"no event is of the partition {content['partition']}")
        names = {"rows written": "rows", "rows replaced": "replaced", "rows copied": "copied"}
        table = {f"#{what}": f"{content[name]:,}" for what, name in ({"records read": "records"} | names).items()}
        lines = [f"{what}: {counts_of(content[what])}" for what in ("dropped", "failed") if content[what]]
        return Summary(plain, table=[table], notes=notes, lines=lines, done=switched(content))
