"""
Micro-batches that have begun and have no plan, or have a plan and have not begun.

A plan is lost by a power cut or a restore. The records of such a micro-batch are planned again, in micro-batches with
other offsets. At the old times these would not hide what was written before, and updates would be counted twice. So
what can be withdrawn is withdrawn, as for a changed configuration, and later micro-batches get later times.
"""

from collections.abc import Callable

from ingest.durable import file_errors, sync_folder
from ingest.observe.logs import logger
from ingest.service.tables import PipelineTables
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.spark_files import checksum_file

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


def forget_unbegun(checkpoint: Checkpoint) -> None:
    """
    Remove the plan of a micro-batch that has not begun: Spark plans one more when a query ends between two of them.

    Without its plan, a micro-batch can be put after the newest one that has begun. Killed at any point, it can run
    again.

    Args:
        checkpoint: locked. Its query has ended, and this process had started it: else a micro-batch may have no time
            because the time is lost.

    Raises:
        ConflictError: another process has taken the checkpoint.
        StoreUnavailableError: it cannot be written now.
    """
    batch_id = checkpoint.without_time()
    if batch_id is None or checkpoint.newest_commit() is None:
        return
    checkpoint.check_locked()
    plan = checkpoint.folder / "offsets" / str(batch_id)
    with file_errors(plan):
        # first, since Spark replaces no checksum; a plan need not have one
        checksum_file(plan).unlink(missing_ok=True)
        plan.unlink(missing_ok=True)
        sync_folder(plan.parent)
