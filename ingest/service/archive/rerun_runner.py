"""Runs the records of an archive's re-run: the pipeline with the sink of the re-run alone."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from ingest.api import RecordPlace
from ingest.api.errors import ErrorBudgetSpentError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import dead_letters_of
from ingest.observe.logs import logger
from ingest.plan.assemble import plan_of, sink_committers
from ingest.plan.codec import packed
from ingest.plan.plan import Plan
from ingest.receipt import Counts
from ingest.service.archived_tables import ArchiveSink
from ingest.service.dead_letters.queues import error_budget
from ingest.service.jobs.place import Place
from ingest.service.kafka.positions import splits_of
from ingest.service.kafka.quarantine import Quarantine
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.plan import ReplayBatch
from ingest.service.schemas import schema_committers
from ingest.spark.cancelled_tasks import CancelledTasks
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.reading import read_kafka_ranges
from sinks.archive.rerun_sink import RerunSettings, RerunSink
from sinks.archive.rewrite import Rewrite

_MOST_FAILED = 1_000_000
"""Of records, whose places and reasons this process has in memory."""
_log = logger(__name__)


class RerunRunner:
    """
    The pipeline of a re-run, on the Spark session of its place.

    Args:
        place: where it runs.
        sink: whose partition is written again.
        value: of the partition.
        rerun: the version that it writes.
        opened: ends the use of the committers.
        check_owner: as in `BatchRunner`, for the lock of the replays.

    Attributes:
        counts: of all records so far.
        failed: the records with an event that failed -> the message of the first one.

    Raises:
        IngestError: there is no session.
    """

    def __init__(
        self,
        place: Place,
        sink: ArchiveSink,
        value: str,
        rerun: Rewrite,
        opened: ExitStack,
        *,
        check_owner: Callable[[], None],
    ) -> None:
        pipeline, configuration = sink.pipeline, place.configuration
        self.counts = Counts()
        self.failed: dict[RecordPlace, str] = {}
        self._name = pipeline.name
        self._on_blocked = place.on_blocked
        self._source = kafka_source_of(pipeline)
        plan = rerun_plan(configuration, place.catalog, sink, value, rerun.version_id)
        committers = schema_committers(configuration, plan)
        committers |= sink_committers(plan, check_owner, pipeline.source.settings)
        for committer in committers.values():
            committer.recover()
            opened.callback(committer.close)
        self._session = place.session(f"archive rerun {pipeline.name}", pipeline)
        self._quarantine = Quarantine(pipeline, self._source, self._session)
        cancelled = CancelledTasks(self._session)
        opened.callback(cancelled.wait)  # a reload may build the pipeline as soon as the re-run has ended
        self._runner = BatchRunner(
            pipeline=pipeline.name,
            task_name=f"{pipeline.name}+rerun",  # no pipeline has such a name
            plan=packed(plan),
            session=self._session,
            batch_times=None,
            committers=committers,
            error_budget=error_budget(pipeline),
            publish=self._note_failed,
            observer=self,
            check_owner=check_owner,
            max_tasks=place.max_tasks(self._session),
            watched=cancelled.watched,
            hide=configuration.masks.hide,
        )
        opened.callback(self._runner.close)
        opened.enter_context(place.cancellation.calls(self._runner.stop))

    def run(self, batch: ReplayBatch) -> None:
        """
        Run records until their rows are in the version.

        Raises:
            IngestError: their rows cannot be written, or too many records fail; the version may have a part of the
                rows.
        """
        frame = read_kafka_ranges(self._session, self._source, batch.ranges)
        splits, guard = partial(splits_of, batch.ranges), self._quarantine.guard(batch.ranges)
        self._runner.run_batch(frame, batch.number, batch.time_ms, batch.name, splits, guard)

    def running(self) -> None:
        """Tell that nothing blocks the re-run any more."""
        self._on_blocked("")

    def blocked(self, code: str, message: str) -> None:
        """Log and tell what blocks the re-run."""
        self._on_blocked(message)
        _log.error("re-run is blocked", pipeline=self._name, code=code, reason=message)

    def attempted(self, counts: Counts) -> None:
        """Nothing: only durable batches count."""

    def durable(self, version_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:  # noqa: ARG002
        """Add the counts of a batch."""
        self.counts.add(counts)

    def _note_failed(self, dead_letters: Sequence[bytes], _batch_id: int, _time_ms: int) -> None:
        for letter in dead_letters_of(dead_letters):
            self.failed.setdefault(letter.record.place, f"{letter.component}: {letter.code}: {letter.message}")
        if len(self.failed) > _MOST_FAILED:
            raise ErrorBudgetSpentError(
                f"more than {_MOST_FAILED:,} records fail in the re-run",
                hint="correct the pipeline, then start the re-run again",
            )


def rerun_plan(configuration: Configuration, catalog: Catalog, sink: ArchiveSink, value: str, version_id: int) -> Plan:
    """
    The plan of a pipeline whose only sink writes one partition of an archive into a version.

    Args:
        configuration: that has the pipeline.
        catalog: of its components.
        sink: whose partition is written again.
        value: of the partition.
        version_id: of the version.
    """
    plan = plan_of(configuration, sink.pipeline, catalog)
    (component,) = (each for each in plan.sinks if each.name == sink.name)
    settings = sink.component.settings
    options = {name: getattr(settings, name) for name in type(settings).model_fields}
    component = replace(
        component,
        path=f"{RerunSink.__module__}:{RerunSink.__qualname__}",
        settings=RerunSettings.model_construct(**options, value=value, version_id=version_id),
    )
    return replace(
        plan,
        sinks=(component,),
        stores={},
        features={},
        is_replay=True,
        publishes_dead_letters=False,  # the pipeline has published the dead letters of records that failed before
    )
