"""
Micro-batches that have begun and whose plans are lost, as after a power cut or a restore.

Their records are planned again, in micro-batches with other offsets. At the old times these would not hide what was
written before, and updates would be counted twice. So what can be withdrawn is withdrawn, as for a changed
configuration, and later micro-batches get later times.
"""

from collections.abc import Callable

from ingest.observe.logs import logger
from ingest.service.tables import PipelineTables
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint

_log = logger(__name__)


def withdraw_lost_batches(
    checkpoint: Checkpoint, times: BatchTimes, tables: PipelineTables, withdraw: Callable[[int, int], object]
) -> None:
    """
    Withdraw the micro-batches that have begun and whose plans are lost. Killed at any point, it can run again.

    Args:
        checkpoint: locked.
        times: of the checkpoint.
        tables: claimed.
        withdraw: removes the dead letters of a micro-batch, given its number and its time.

    Raises:
        ConflictError: readers of a feed have updates of such a micro-batch already.
        IngestError: as `PipelineTables.withdraw` and `BatchTimes.forget`.
    """
    lost = checkpoint.unplanned()
    for batch_id in lost:
        time_ms = times.of(batch_id)
        _log.warning(
            "the plan of a batch that had begun is lost, as after a power cut; its records run again, at a later time",
            folder=str(checkpoint.folder),
            batch=batch_id,
        )
        withdraw(batch_id, time_ms)
        tables.withdraw(batch_id, time_ms)
    times.forget(lost)
