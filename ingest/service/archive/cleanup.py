"""Removes superseded versions of an archived table that neither readers nor SQL use."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.amounts import counted, size
from ingest.api import Duration, Model, option
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.service.archive.archive_job import ArchiveJob
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.option_types import Value
from ingest.service.jobs.place import Place
from sinks.archive.cleanup import MIN_AGE_MS, clean_up, files_to_remove, plan_cleanup


class CleanupOptions(Model):
    """Which versions are removed."""

    dt: Value | None = option("Only the partition of this value, as 20151210.", default=None)
    older_than: Duration = option("How long ago a version must have stopped being current.", default="7d")
    incomplete: bool = option("Also remove versions whose re-run has failed, unchanged for that time.", default=False)
    force: bool = option("Allow less than 24h: a query may lose files.", default=False)

    @model_validator(mode="after")
    def _is_old(self) -> Self:
        if self.older_than * 1000 < MIN_AGE_MS and not self.force:
            raise PydanticCustomError(
                "young",
                "--older-than is less than 24h: a query that started before the switch may still read; add --force if "
                "none does",
            )
        return self


class ArchiveCleanup(ArchiveJob[CleanupOptions]):
    """
    Removes superseded versions. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: which versions.
    """

    kind = "archive-cleanup"
    needs_slots = False
    options_model = CleanupOptions
    command = JobCommand(
        help="""
        Remove complete versions that stopped being current long ago.

        A version stays if it is current, if the metastore of the file names it, if a re-run writes it, or if
        "attr2hbase admin archive keep" keeps it. Names that this product has not written are reported as foreign and
        never removed.

        If the service runs, it removes them beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase admin archive cleanup customer --older-than 7d --dry-run
        """,
        dry_run="Show what would be removed; remove nothing.",
        advances=("versions", "versions"),
        does="removes the versions",
        resumes="run the same command again",
        prints="paths",
    )

    def steps(self, place: Place) -> Steps:
        """
        Remove the versions, one in each slice; the details are the `paths` of the files that were removed.

        Raises:
            NoArchiveVersionError: there is no such partition.
            ConflictError: `metastore_in_use` or `sql_table_differs`; or it was cancelled.
            IngestError: `archive_sql`: Spark refuses a statement.
        """
        from ingest.service.archive.sql import sql_paths

        table, options, at_ms = self.declared(place.configuration), self.options, now_ms()
        located = set(sql_paths(place, table).values())
        with file_errors(table.root):
            partitions = table.partitions(options.dt).values()
            age_ms = round(options.older_than * 1000)
            plan = plan_cleanup(partitions, at_ms, age_ms, located=located, incomplete=options.incomplete)
            result: dict[str, Any] = {"versions": 0, "bytes": 0, "kept": plan.kept, "foreign": [*plan.foreign]}
            total, paths = len(plan.versions), [*files_to_remove(plan)] if place.is_dry_run else []
            removed = (
                (version for _, version in plan.versions) if place.is_dry_run else clean_up(plan, at_ms, paths.append)
            )
            for version in place.paced(iter(removed), activity=self.kind):
                result = result | {"versions": result["versions"] + 1, "bytes": result["bytes"] + version.size_bytes}
                yield Progress(result["versions"], total, result, details={"paths": [*paths]})
                paths.clear()
        yield Progress(total, total, result, details={"paths": []})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """How many versions, what was left, and why."""
        verb = "would be removed" if is_dry_run else "removed"
        kept = (f"kept: {path}: {reason}" for path, reason in sorted(content["kept"].items()))
        return Summary(
            content,
            notes=[*(f"foreign: {path}" for path in content["foreign"]), *kept],
            done=f"{counted(content['versions'], 'version', 'versions')} {verb}, {size(content['bytes'])}",
            would_change=bool(content["versions"]),
        )
