"""Builds a pipeline: locks and checks what it needs."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial

from ingest import failpoint
from ingest.api import Disposition, IngestError, NoTableError, NotFoundError
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.observe.health import State
from ingest.observe.logs import logger, traceback_of
from ingest.pipeline.rate_limiter import records_per_batch
from ingest.plan.plan import Plan
from ingest.receipt import SOURCE
from ingest.service.committers import committers_of
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.kafka.batches import batch_recorder
from ingest.service.kafka.query_guard import QueryGuard
from ingest.service.pipeline import LivePipeline
from ingest.service.shared import Shared
from ingest.service.sources import identity_of, open_source, restart_of
from ingest.service.state_folders import batch_times_folder, update_replay_file
from ingest.service.tables import PipelineTables, owned_tables
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_errors import code_of
from ingest.spark.streaming.batch_time import BatchTimes, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.writing.driver_store import DriverStore

_log = logger(__name__)


def build_pipeline(
    shared: Shared, plan: Plan, start_from: str | None = None, checkpoint: Checkpoint | None = None
) -> LivePipeline:
    """
    Lock and check the resources of a pipeline. An unavailable store or dead-letter queue is retried by the running
    pipeline, unless the service runs once. So is a missing table.

    Args:
        shared: resources of all pipelines.
        plan: of the pipeline.
        start_from: `run --start-from`, for a pipeline without a checkpoint; None for the source's own `start`.
        checkpoint: of the pipeline, if it is locked already; it is unlocked also if the pipeline cannot start.

    Raises:
        ConfigError: its source does not support `start_from`.
        CatalogError: a plugin cannot be created with its settings.
        IngestError: this pipeline cannot start: its checkpoint is damaged or in use, a store is locked or damaged, the
            dead-letter topic is missing. Nothing stays open.
    """
    pipeline = shared.configuration.pipelines[plan.pipeline]
    recovery = failpoint.point("recovery")
    shared.health.change(plan.pipeline, State.STARTING)
    shared.activity.limited(plan.pipeline, pipeline.max_rate)
    shared.activity.built(plan.pipeline, {SOURCE: pipeline.source.kind, **plan.kinds})
    with ExitStack() as locked, ExitStack() as opened, ExitStack() as until_built:
        if checkpoint is None:
            checkpoint = checkpoint_of(shared, pipeline)
            checkpoint.lock()
        locked.callback(checkpoint.unlock)
        _verify(checkpoint, pipeline)
        if not shared.once:
            shared.retention.watch(pipeline, checkpoint)
        times = _batch_times(shared.configuration, pipeline, checkpoint)
        recovery()
        every_s = 0.0 if shared.once else pipeline.trigger_every_s
        stores = shared.stores.used_by(plan, opened)
        owned = owned_tables(shared.configuration, plan, stores)
        tables = PipelineTables(
            owned,
            checkpoint,
            times,
            fingerprint=pipeline.fingerprint,
            replay=update_replay_file(shared.configuration, pipeline.name),
            options=shared.owner,
        )
        source = open_source(
            shared.catalog,
            pipeline,
            checkpoint,
            times,
            start_from,
            shared.metrics,
            max_records=records_per_batch(pipeline.max_rate, every_s),
            resume_at=tables.resume_at,
        )
        until_built.callback(source.close)
        for name, store in stores.items():
            connect(store.open, f'store "{name}"', once=shared.once)
            if shared.once:  # a service waits until they exist
                _refuse_missing_tables(plan, name, store)
        committers = committers_of(
            shared.configuration,
            plan,
            stores,
            owned,
            shared.metrics.counted,
            check_owner=checkpoint.check_locked,
            is_behind=partial(shared.activity.is_behind, pipeline.name),
            begun_ms=newest_time(checkpoint.times_folder) or -1,
        )
        for committer in committers.values():
            opened.callback(committer.close)
        dead_letters = dead_letter_queue(shared.configuration, pipeline)
        opened.callback(dead_letters.close)
        connect(dead_letters.prepare, f'dead-letter queue of pipeline "{pipeline.name}"', once=shared.once)
        recovery()
        jars = source.jars()  # before the pipeline owns what is open, since they may be missing
        made = LivePipeline(
            shared,
            plan,
            checkpoint=checkpoint,
            times=times,
            source=source,
            committers=committers,
            dead_letters=dead_letters,
            record=batch_recorder(shared.configuration, pipeline, checkpoint, opened),
            tables=tables,
            guard=QueryGuard(checkpoint, adds_to_rows=tables.add_to_rows),
            every_s=every_s,
            jars=jars,
            locked=locked.pop_all(),
            opened=opened.pop_all(),
        )
        until_built.pop_all()  # from now on the pipeline closes its source
        return made


def _refuse_missing_tables(plan: Plan, name: str, store: DriverStore) -> None:
    """
    Check that a store has the tables that sinks name, unless the first write creates them.

    Raises:
        NotFoundError: it does not have all of them.
        StoreUnavailableError: it cannot be reached.
    """
    if store.capabilities.creates_tables:
        return
    named = {table for sink in plan.mapped_to(name) if (table := sink.settings.fixed_table) is not None}
    with store.held() as opened:
        missing = [table for table in sorted(named) if opened.families(table) is None]
    if missing:
        tables = f"table {missing[0]} does" if len(missing) == 1 else f"tables {', '.join(missing)} do"
        raise NotFoundError(f'{tables} not exist in store "{name}"', hint=NoTableError.hint)


def builder(shared: Shared, plan: Plan, start_from: str | None, checkpoint: Checkpoint) -> Callable[[], LivePipeline]:
    """Builds a pipeline on its locked checkpoint; a failed call unlocks it, and the next one locks it again."""
    is_locked = True

    def build() -> LivePipeline:
        nonlocal is_locked
        if not is_locked:
            checkpoint.lock()
        is_locked = False
        return build_pipeline(shared, plan, start_from, checkpoint)

    return build


def connect(action: Callable[[], object], what: str, *, once: bool) -> None:
    """
    Connect to a resource at the start; an error that allows a retry is only logged, because the pipeline retries.

    Args:
        action: connects.
        what: the resource, for the log.
        once: also raise errors that allow a retry, because a user waits for the run.

    Raises:
        IngestError: as `action`.
    """
    try:
        action()
    except IngestError as error:
        if once or error.disposition is not Disposition.RETRY:
            raise
        _log.warning("not available yet", what=what, reason=str(error))


def report_unbuilt(shared: Shared, pipeline: str, error: Exception) -> None:
    """Publish that a pipeline cannot be built: in health, status, metrics and log."""
    shared.metrics.lag_unknown(pipeline)
    shared.health.change(pipeline, State.FAILED, str(error))
    shared.activity.failed(pipeline, code_of(error), str(error))
    _log.error("pipeline failed", pipeline=pipeline, reason=str(error), exc_info=traceback_of(error))


def check_source(shared: Shared, pipeline: Pipeline) -> None:
    """
    Check that a pipeline would accept its checkpoint, which may be in use.

    Raises:
        ConflictError: it belongs to another source.
        IngestError: the source cannot be opened.
    """
    checkpoint = checkpoint_of(shared, pipeline)
    if checkpoint.is_claimed():
        times = _batch_times(shared.configuration, pipeline, checkpoint)
        with closing(open_source(shared.catalog, pipeline, checkpoint, times, None, shared.metrics)) as source:
            checkpoint.check_identity(identity_of(source))


def checkpoint_of(shared: Shared, pipeline: Pipeline) -> Checkpoint:
    """
    The checkpoint of a pipeline, not locked.

    Raises:
        CatalogError: its source cannot be imported.
    """
    source = shared.catalog.load("sources", pipeline.source.kind)
    folder = checkpoint_folder(shared.configuration, pipeline.name)
    return Checkpoint(folder, restart_of(source), source.changed_identity)


def _verify(checkpoint: Checkpoint, pipeline: Pipeline) -> None:
    """Check a locked checkpoint, and log what a start does with its last batch."""
    checkpoint.verify()
    uncommitted = checkpoint.uncommitted()
    is_changed = checkpoint.is_changed(pipeline.fingerprint)
    if uncommitted is not None and is_changed:
        _log.warning(
            "the last batch was not acknowledged and runs again with the new configuration",
            pipeline=pipeline.name,
            batch=uncommitted,
        )
    elif uncommitted is not None:
        _log.warning("the last batch was not acknowledged and runs again", pipeline=pipeline.name, batch=uncommitted)
    elif is_changed:
        _log.info("the configuration has changed since the last run", pipeline=pipeline.name)


def _batch_times(configuration: Configuration, pipeline: Pipeline, checkpoint: Checkpoint) -> BatchTimes:
    newest = None if pipeline.source.settings.keeps_batch_times else batch_times_folder(configuration, pipeline.name)
    return BatchTimes(checkpoint.times_folder, now_ms, newest)
