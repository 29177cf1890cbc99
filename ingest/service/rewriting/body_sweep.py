"""The sweep of a body store: the bodies of a table that nothing refers to are deleted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.amounts import counted
from ingest.api import Model
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.results import Swept
from ingest.plan.bodies import bodies_in, dumps_of, require_bodies
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Progress
from ingest.service.jobs.place import Place
from ingest.service.jobs.schedule import DAY_S, Daily, ScheduledJob
from ingest.service.jobs.step_job import Steps
from ingest.service.rewriting.bodies_job import BodiesJob
from sinks.bodies.body_store import BodyStore
from sinks.bodies.retention_horizon import RetentionHorizon
from sinks.bodies.sweep import SweepCounts

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics

PAGE_BODIES = 50
"""Bodies of a slice: the pipelines write to an embedded store between two."""


class BodySweepOptions(Model):
    """A sweep has no options: those of `bodies` of the table say what it deletes."""


class BodySweep(BodiesJob[BodySweepOptions]):
    """
    Sweeps the body store of a table. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: none.
    """

    kind = "sweep"
    options_model = BodySweepOptions
    command = JobCommand(
        help="""
        Delete the bodies that nothing has referred to for `sweep_after`, and print their ids.

        Bodies stay while a dump in the root of `dump`, or a change of the feed that has not expired, may have their
        pointers. It also deletes what killed writers have left. It can be interrupted and run again, and run beside
        writers and other sweeps.

        If the service runs, it sweeps beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: ingest body sweep pipeline.yaml events --dry-run
        """,
        dry_run="Print what would be deleted; write nothing.",
        advances=("bodies", "bodies"),
        does="sweeps the bodies",
        resumes="run the same command again",
        prints="ids",
    )

    @classmethod
    def scheduled(cls, configuration: Configuration) -> list[ScheduledJob]:
        """Of the tables with `sweep_at`."""
        return [
            ScheduledJob(Daily(table.options.bodies.sweep_at_s), cls(name, BodySweepOptions()), (name,))
            for name, table in configuration.tables.items()
            if table.options.bodies is not None and table.options.bodies.sweep_at_s is not None
        ]

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: list[ScheduledJob], now_s: float) -> None:
        """Set the interval of the tables, a day."""
        metrics.sweeps_scheduled({each.job.subject: DAY_S for each in scheduled}, now_s)

    def steps(self, place: Place) -> Steps:
        """
        Sweep the body store, some bodies at a time; the details are the `ids` that were deleted, and the `named_ids`
        that stay.

        Raises:
            NotFoundError: the file declares no such table, or no body was stored yet.
            ConflictError: it was cancelled; what is deleted is complete.
            BodiesDifferError: bodies were stored with other options.
            BodiesOfOtherTableError: the body store belongs to another table.
            BodiesElsewhereError: the table has another body store.
            StoreError: the store or the root of the dumps is unavailable.
        """
        table = self.declared(place.configuration)
        access = place.store(table.store)
        if not place.is_dry_run:
            with access() as store:
                require_bodies(store, table)
                bodies_in(store, table).prepare()
        horizon = dumps_of(place.configuration, self.subject)
        total, named_by = SweepCounts(), Counter[str]()
        start: bytes | None = b""
        while start is not None:
            place.cancellation.check(self.kind)
            with place.new_slice(), access() as store:
                page = _page(bodies_in(store, table), horizon, start, is_dry_run=place.is_dry_run)
            start = page.rest
            total.add(page.counts)
            named_by.update(each["by"] for each in page.named_ids)
            yield Progress(
                total.bodies,
                0 if start is not None else total.bodies,
                asdict(total) | {"named_by": dict(named_by)},
                details={"ids": page.ids, "named_ids": page.named_ids},
            )
        if total.purged and not place.is_dry_run:
            with access() as store:
                bodies_in(store, table).flush_removed()

    def record(self, content: Mapping[str, Any], metrics: "Metrics") -> None:
        """Set the metrics of the table."""
        kept = {name: content[name] for name in ("referenced", "named", "unreferenced", "storing")}
        metrics.bodies_swept(self.subject, Swept(content["purged"], content["purged_bytes"], kept, now_ms() / 1000))

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """How many bodies are deleted, and which dumps and feeds keep others."""
        verb = "would be deleted" if is_dry_run else "deleted"
        return Summary(
            content,
            notes=[
                f"{counted(number, 'body stays', 'bodies stay')}: the {name} may have pointers"
                for name, number in content["named_by"].items()
            ],
            done=f"{content['purged']:,} of {counted(content['bodies'], 'body', 'bodies')} {verb}",
            would_change=bool(content["purged"]),
        )


class _Page(NamedTuple):
    """Some bodies that were looked at, and the first id of the rest; None at the end."""

    counts: SweepCounts
    ids: list[str]
    named_ids: list[dict[str, str]]
    rest: bytes | None


def _page(bodies: BodyStore, horizon: RetentionHorizon, start: bytes, *, is_dry_run: bool) -> _Page:
    ids: list[str] = []
    named_ids: list[dict[str, str]] = []
    sweep = bodies.new_sweep(
        horizon,
        is_dry_run=is_dry_run,
        on_purge=lambda body: ids.append(body.hex()),
        on_named=lambda body, copy: named_ids.append({"id": body.hex(), "by": copy.name}),
    )
    rest = sweep.run(start, PAGE_BODIES)
    return _Page(sweep.counts, ids, named_ids, rest)
