"""The sweep of a blob store: the blobs of a table that nothing refers to are deleted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted
from ingest.api import Model
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.jobs.schedule import DAY_S, Daily, ScheduledJob
from ingest.service.rewriting.blobs_job import BlobsJob
from sinks.blobs.feature import Blobs
from sinks.blobs.metrics import BLOB_SWEEP_INTERVAL, BLOB_SWEEP_LAST, Swept, swept
from sinks.blobs.retention_horizon import RetentionHorizon
from sinks.files.opening import open_root

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics

PAGE_BLOBS = 50
"""Blobs of a slice."""


class BlobSweepOptions(Model):
    """A sweep has no options: those of `blobs` of the table say what it deletes."""


class BlobSweep(BlobsJob[BlobSweepOptions]):
    """
    Sweeps the blob store of a table. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: none.
    """

    kind = "blob-sweep"
    options_model = BlobSweepOptions
    command = JobCommand(
        help="""
        Delete the blobs that nothing has referred to for `sweep_after`, and print their ids.

        Blobs stay while a dump in the root of `dump`, or a change of the feed that has not expired, may have their
        pointers. It also deletes what killed writers have left. It can be interrupted and run again, and run beside
        writers and other sweeps.

        If the service runs, it sweeps beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase admin blob sweep events --dry-run
        """,
        dry_run="Print what would be deleted; write nothing.",
        advances=("blobs", "blobs"),
        does="sweeps the blobs",
        resumes="run the same command again",
        prints="ids",
    )

    @classmethod
    def scheduled(cls, configuration: Configuration) -> list[ScheduledJob]:
        """Of the tables with `sweep_at`."""
        return [
            ScheduledJob(Daily(blobs.sweep_at_s), cls(name, BlobSweepOptions()), (name,))
            for name, table in configuration.tables.items()
            if (blobs := Blobs.options_of(table)) is not None and blobs.sweep_at_s is not None
        ]

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: list[ScheduledJob], now_s: float) -> None:
        """Set the interval of the tables, a day."""
        tables = [each.job.subject for each in scheduled]
        last_s = dict.fromkeys(tables, now_s)  # a new table counts as swept now
        metrics.scheduled(BLOB_SWEEP_INTERVAL, BLOB_SWEEP_LAST, dict.fromkeys(tables, DAY_S), last_s)

    def steps(self, place: Place) -> Steps:
        """
        Sweep the blob store, some blobs at a time; the details are the `ids` that were deleted, and the `named_ids`
        that stay.

        Raises:
            NotFoundError: the file declares no such table, or no blob was stored yet.
            ConflictError: it was cancelled; what is deleted is complete.
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: the blob store belongs to another table.
            BlobsElsewhereError: the table has another blob store.
            StoreError: the store or the root of the dumps is unavailable.
        """
        blobs = self.blobs(place, is_written=not place.is_dry_run)
        ids: list[str] = []
        named_ids: list[dict[str, str]] = []
        sweep = blobs.new_sweep(
            _dumps_of(place.configuration, self.subject),
            is_dry_run=place.is_dry_run,
            on_purge=lambda blob: ids.append(blob.hex()),
            on_named=lambda blob, copy: named_ids.append({"id": blob.hex(), "by": copy.name}),
        )
        named_by = Counter[str]()
        start: bytes | None = b""
        while start is not None:
            place.cancellation.check(self.kind)
            with place.new_slice():
                start = sweep.run(start, PAGE_BLOBS)
            named_by.update(each["by"] for each in named_ids)
            blobs_seen = sweep.counts.blobs
            yield Progress(
                blobs_seen,
                0 if start is not None else blobs_seen,
                asdict(sweep.counts) | {"named_by": dict(named_by)},
                details={"ids": [*ids], "named_ids": [*named_ids]},
            )
            ids.clear()
            named_ids.clear()
        if sweep.counts.purged and not place.is_dry_run:
            blobs.flush_removed()

    def record(self, content: Mapping[str, Any], metrics: "Metrics") -> None:
        """Set the metrics of the table."""
        kept = {name: content[name] for name in ("referenced", "named", "unreferenced", "storing")}
        result = Swept(content["purged"], content["purged_bytes"], kept, now_ms() / 1000)
        metrics.record(*swept(self.subject, result))

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """How many blobs are deleted, and which dumps and feeds keep others."""
        verb = "would be deleted" if is_dry_run else "deleted"
        return Summary(
            content,
            notes=[
                f"{counted(number, 'blob stays', 'blobs stay')}: the {name} may have pointers"
                for name, number in content["named_by"].items()
            ],
            done=f"{content['purged']:,} of {counted(content['blobs'], 'blob')} {verb}",
            would_change=bool(content["purged"]),
        )


def _dumps_of(configuration: Configuration, table: str) -> RetentionHorizon:
    """
    The dumps of a table that may name blobs, in the root that the file declares; a sweep begins with this call.

    Raises:
        ConfigError: the file system of the root is not installed.
        StoreUnavailableError: it does not answer, or the root may not be read.
    """
    roots = () if configuration.dump is None else (open_root(configuration.dump.root),)
    return RetentionHorizon.of_dumps(roots, table)
