"""Joins the small files of an archive's partition: all rows into few files of a new version."""

from collections.abc import Mapping
from typing import Any

from ingest.amounts import counted
from ingest.durable import file_errors
from ingest.service.archive.archive_job import RESUMES, ArchiveJob, PartitionOptions, switched
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from sinks.archive.errors import NoArchiveVersionError
from sinks.archive.rewrite import Rewrite

_FEWEST_FILES = 2
"""Of a version that a join can write into fewer files."""


class ArchiveJoin(ArchiveJob[PartitionOptions]):
    """
    Joins the files of a partition. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: which partition.
    """

    kind = "archive-join"
    needs_slots = False
    options_model = PartitionOptions
    command = JobCommand(
        help="""
        Write the rows of a partition into few large files, and make this version current.

        The older version stays until a cleanup. Readers see the rows in the old files or in the new ones, never both. A
        partition that is one file already is left as it is.

        If the service runs, it joins the files beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase archive join customer --dt 20151210
        """,
        advances=("rows", "rows"),
        does="joins the files",
        resumes=RESUMES,
    )

    def steps(self, place: Place) -> Steps:
        """
        Write the rows of the partition into few files, and make them current; micro-batches that are not acknowledged
        are left to the writers, which write them to both versions. A partition of at most one file is left as it is.

        Raises:
            NoArchiveVersionError: there is no such partition, or it has no current version.
            ConflictError: another process writes a version, and `exclusive` is set; there is a newer re-run or join; a
                replay of a pipeline runs; a writer does not answer; or it was cancelled.
            ArchiveCorruptError: the pointer or a file is damaged.
        """
        from ingest.service.archive.sql import follow_current
        from ingest.service.archive.writers import copy_current, make_current, writers_of

        table, options = self.declared(place.configuration), self.options
        result: dict[str, Any] = {"partition": options.dt, "rows": 0, "files_read": 0, "files_written": 0}
        with file_errors(table.root):
            partition = table.partition(options.dt)
            current = partition.current()
            if current is None:
                raise NoArchiveVersionError(f'"{partition.folder}" of "{table.root}" has no current version')
            files = len(partition.parts(current))
            if files < _FEWEST_FILES:
                if options.keep:
                    partition.keep(current)
                yield Progress(result=result | {"version": current, "before": current, "files_read": files})
                return
        with (
            writers_of(place.configuration, table) as writers,
            Rewrite(partition, "archive join", exclusive=options.exclusive) as rewrite,
        ):
            for writer in writers:
                yield from writer.start_ms(rewrite, place, result)
            with file_errors(table.root):
                for copied in place.paced(copy_current(rewrite, writers), activity=self.kind):
                    counts = {"rows": copied.rows, "files_read": copied.files, "files_written": copied.written}
                    result = result | counts
                    yield Progress(copied.files, files, result)
            make_current(rewrite, writers, is_kept=options.keep)
        follow_current(place, table, options.dt)
        yield Progress(files, files, result | {"version": rewrite.version_id, "before": rewrite.before})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """How many files became how many."""
        files = counted(content["files_read"], "file")
        what = f"{counted(content['rows'], 'row')} of {files} in {counted(content['files_written'], 'file')}"
        if content["version"] == content["before"]:
            what = f"{files} already; nothing to join"
        return Summary(content, done=f"{what}; {switched(content)}")
