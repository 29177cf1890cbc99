"""The tables with deferred updates of a pipeline: claimed at its start, marked after each micro-batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import ConfigError, ConflictError, Source
from ingest.config.model import Configuration, declared_in
from ingest.durable import StatePath, file_errors
from ingest.observe.logs import logger
from ingest.plan.plan import Plan
from ingest.spark.state import state_of
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.rewriting.owned_tables import OwnedTables
from sinks.updates.marks import TableMark
from sinks.writing.driver_store import DriverStore

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class OwnerOptions:
    """
    Options of a run for tables with deferred updates.

    Attributes:
        take_over: take tables that another pipeline owns.
        recount: let a new checkpoint start elsewhere than at the marks, so that events are counted again.
    """

    take_over: bool = False
    recount: bool = False


class PipelineTables:
    """
    The tables with deferred updates that the sinks of a pipeline name.

    Called by one thread, except for `resume_at`.

    Args:
        fingerprint: of the pipeline's configuration.
        replay: the records of a replay into the tables; the file exists while the replay is not finished.
    """

    def __init__(
        self,
        tables: OwnedTables,
        checkpoint: Checkpoint,
        times: BatchTimes,
        *,
        fingerprint: str,
        replay: StatePath,
        options: OwnerOptions,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        self._times = times
        self._fingerprint = fingerprint
        self._replay = replay
        self._options = options

    def claim(self, source: Source[Any]) -> None:
        """
        Claim the tables, and remove updates that would be counted twice.

        Under a new checkpoint these are the updates above the marks, because the pipeline reads their events again. A
        micro-batch that was not acknowledged writes the same rows again, unless the configuration has changed: then its
        updates are removed too, and it gets a later time, so that the deletes do not hide what it writes next.

        Raises:
            ConfigError: the source cannot start at the marks.
            ConflictError: a replay into the tables is not finished: later micro-batches would move the marks over it.
            IngestError: as `OwnedTables.claim` and `OwnedTables.take_back`.
        """
        if not self._tables:
            return
        with file_errors(self._replay):
            if self._replay.exists():
                raise ConflictError(
                    "a replay into deferred updates of this pipeline was interrupted, and some of its records may "
                    "be written",
                    code="replay_unfinished",
                    hint="run its command again, then start the pipeline",
                )
        self._tables.claim(take_over=self._options.take_over)
        mark = self._tables.newest()
        may_start = self._checkpoint.exists or self._options.recount or source.takes_offset
        if mark is not None and not may_start:
            raise ConfigError(
                f'source "{source.kind}" cannot start where the deferred updates of its tables end',
                hint="restore the checkpoint, write to a new table, or run with --recount to count events again",
            )
        if mark is not None:
            self._times.start_after([str(mark.time_ms)])
        uncommitted = self._checkpoint.uncommitted()
        if uncommitted is None and self._checkpoint.newest_commit() is None:
            self.resume_at()  # the marks agree
            self._tables.take_back_after_marks()  # also after a reset of the offsets, which makes a new checkpoint
        elif uncommitted is not None:
            self._check_uncommitted(uncommitted, mark)

    def _check_uncommitted(self, batch_id: int, newest: TableMark | None) -> None:
        """Let a micro-batch that was not acknowledged start anew if it would not write the same rows again."""
        time_ms = self._times.of(batch_id)
        # a table that was taken over may be complete beyond this time
        is_below = newest is not None and time_ms < newest.time_ms
        if (is_below or self._checkpoint.is_changed(self._fingerprint)) and not self.is_complete(batch_id, time_ms):
            _log.warning("updates of the last batch are removed: it runs anew at a later time", batch=batch_id)
            self._tables.take_back_batch(time_ms)
            self._times.renew(batch_id, 0 if newest is None else newest.time_ms)

    def resume_at(self) -> Mapping[str, object] | None:
        """As `SourceContext.resume_at`."""
        return None if self._options.recount else self._tables.resume_at(is_new=not self._checkpoint.exists)

    def is_complete(self, batch_id: int, batch_time_ms: int) -> bool:
        """Whether the tables have all updates of a micro-batch, so that it is acknowledged without running."""
        newest = self._tables.newest()
        if newest is None or batch_time_ms > newest.time_ms:
            return False  # as nearly always: the offsets are not read
        return self._tables.is_complete(batch_time_ms, self._checkpoint.end_offsets(batch_id))

    def complete(self, batch_id: int, batch_time_ms: int) -> None:
        """
        Move the marks: the last act of a micro-batch before its acknowledgement.

        Raises:
            IngestError: as `OwnedTables.move`; the checkpoint is damaged.
        """
        if self._tables:
            self._tables.move(TableMark(batch_time_ms, self._checkpoint.end_offsets(batch_id)))


def replay_file(configuration: Configuration, pipeline: str) -> StatePath:
    """The file with the records of an unfinished replay into the tables of a pipeline."""
    return state_of(configuration) / "replays" / pipeline / "updates"


def owned_tables(configuration: Configuration, plan: Plan, stores: Mapping[str, DriverStore]) -> OwnedTables:
    """The tables with deferred updates that the sinks of a plan name."""
    tables = {}
    for name, updates in plan.updates.items():
        declared = declared_in(name, configuration.tables.values())
        tables[name] = [declared[table] for table in updates]
    return OwnedTables(plan.pipeline, stores, tables)
