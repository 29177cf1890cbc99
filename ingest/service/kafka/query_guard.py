"""Decides which micro-batches of a query are examined for record batches that the memory of Spark cannot hold."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ingest.api import TopicPartition
from ingest.clock import now_ms
from ingest.durable import file_errors, write_durably
from ingest.durable.record import Record, UnreadableRecordError
from ingest.kafka.large_batches import Examination, LargeBatch
from ingest.observe.logs import logger
from ingest.service.kafka.positions import offset_ranges
from ingest.service.kafka.quarantine import Quarantine, Ranges
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.guard import Guarded

ALERT_MS = 3_600_000
"""After a finding every micro-batch is examined for this time: the producer may send more of it."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class _Findings(Record, kind="record of large record batches", format=2):
    """
    The file `quarantine` of a checkpoint.

    Attributes:
        at_ms: time of the newest finding.
        batches: those that the pipeline has not read past; partition and offsets as in `LargeBatch`.
        left_out: number of the newest micro-batch that leaves records out and adds to rows, and a time: at later batch
            times it has left them out in all its attempts.
    """

    at_ms: int = 0
    batches: tuple[LargeBatch, ...] = ()
    left_out: tuple[int, int] = (-1, 0)

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The record of an earlier build, without `left_out`."""
        return {**content, "left_out": (-1, 0)}

    def is_near(self, ranges: Ranges) -> bool:
        """Whether ranges of offsets may reach one of the batches; all of these are ahead of the ranges."""
        return any(_part(batch) in ranges for batch in self.batches)

    def ahead_of(self, ranges: Ranges) -> "_Findings":
        """These without the batches before ranges of offsets."""
        ahead = (each for each in self.batches if _part(each) not in ranges or each.last >= ranges[_part(each)][0])
        return replace(self, batches=tuple(ahead))

    def with_found(self, found: Examination, at_ms: int) -> "_Findings":
        """These and what was found."""
        return replace(self, at_ms=at_ms, batches=tuple(sorted({*self.batches, *found.large})))


class QueryGuard:
    """
    The guard of a query that reads Kafka; see `ingest.spark.streaming.guard.Guard`.

    To examine a micro-batch means to read it twice. So one is examined only if it may be the cause of a death: it had
    begun before this start of the query, its Spark job has failed, or something was found within the last hour, or the
    file `quarantine` of the checkpoint names a record batch ahead.

    A micro-batch that leaves records out may have begun with them. If its events add to rows, updates of these records
    would stay beside their dead letters. So it ends, and the next start of the pipeline withdraws what it has written
    and gives it another time, as if the configuration had changed.

    Args:
        checkpoint: of the query, locked.
        adds_to_rows: whether events of the pipeline add to rows.
        clock_ms: the wall clock.
    """

    def __init__(
        self, checkpoint: Checkpoint, *, adds_to_rows: bool = False, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._checkpoint = checkpoint
        self._adds_to_rows = adds_to_rows
        self._clock_ms = clock_ms
        self._file = checkpoint.folder / "quarantine"
        self._quarantine: Quarantine | None = None
        self._begun: int | None = None
        self._guarded: int | None = None
        self._findings = _Findings()

    def start(self, quarantine: Quarantine) -> None:
        """
        Begin a start of the query.

        Raises:
            CheckpointError: the file is damaged.
            StoreUnavailableError: the checkpoint cannot be read now.
        """
        self._findings = self._stored()
        self._begun = self._checkpoint.uncommitted()
        self._guarded = None
        self._quarantine = quarantine

    def __call__(self, batch_id: int, batch_time_ms: int, has_failed: bool) -> Guarded | None:  # noqa: FBT001 - as `Guard`
        """What to run in place of a micro-batch; None to run it as it is."""
        quarantine = self._quarantine
        if quarantine is None:
            return None
        is_alert = self._clock_ms() - self._findings.at_ms < ALERT_MS
        is_suspect = has_failed or is_alert or batch_id == self._begun
        if not is_suspect and not self._findings.batches:
            return None  # most micro-batches: their offsets are not read
        ranges = offset_ranges(self._checkpoint, batch_id)
        self._findings = self._findings.ahead_of(ranges)
        if not is_suspect and not self._findings.is_near(ranges):
            return None
        found = self._examine(quarantine, ranges)
        guarded = quarantine.guarded(ranges, batch_time_ms, found)
        self._guarded = None if guarded is None else batch_id
        if guarded is None or not (self._adds_to_rows and guarded.counts.records):
            return guarded
        has_begun = has_failed or batch_id == self._begun
        return guarded._replace(must_renew=not self._leaves_out_from_start(batch_id, batch_time_ms, has_begun))

    def explains_death(self) -> int | None:
        """
        The micro-batch that ended Spark's JVM, if it has a record batch that its memory cannot hold; None if not.

        The findings are durable when it returns, so a start of the query goes around them. Calls no JVM.

        Raises:
            IngestError: the checkpoint or the topics cannot be read now.
        """
        batch_id = self._checkpoint.uncommitted() if isinstance(self._checkpoint.folder, Path) else None
        if self._quarantine is None or batch_id is None or batch_id == self._guarded:
            return None
        found = self._examine(self._quarantine, offset_ranges(self._checkpoint, batch_id))
        return batch_id if found.large or found.is_heavy else None

    def _leaves_out_from_start(self, batch_id: int, batch_time_ms: int, has_begun: bool) -> bool:  # noqa: FBT001
        """Whether a micro-batch leaves the same records out in all its attempts; if not, the next start renews it."""
        number, time_ms = self._findings.left_out
        if batch_id == number and batch_time_ms > time_ms:
            return True
        left_out = batch_id, batch_time_ms if has_begun else batch_time_ms - 1
        self._store(replace(self._findings, left_out=left_out))
        if has_begun:
            self._checkpoint.note_configuration("")
        return not has_begun

    def _examine(self, quarantine: Quarantine, ranges: Ranges) -> Examination:
        found = quarantine.examine(ranges)
        if found.large or found.is_heavy:
            self._store(self._findings.ahead_of(ranges).with_found(found, self._clock_ms()))
        return found

    def _store(self, findings: _Findings) -> None:
        self._checkpoint.check_locked()
        with file_errors(self._file):
            write_durably(self._file, findings.to_bytes())
        self._findings = findings

    def _stored(self) -> _Findings:
        with file_errors(self._file):
            if not self._file.exists():
                return _Findings()
            content = self._file.read_bytes()
        try:
            return _Findings.of(content, self._file)
        except UnreadableRecordError as error:
            raise self._checkpoint.damaged(self._file, error.message) from error


def _part(batch: LargeBatch) -> TopicPartition:
    return batch.topic, batch.partition
