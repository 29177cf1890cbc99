"""Deletes dead letters of a pipeline, beside its service; of those with large values, the blobs are released."""

from collections.abc import Callable, Collection, Iterable

from ingest.catalog import Catalog
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.queue import DeadLetterQueue, Entry, with_unneeded_blobs
from ingest.service.dead_letters.blobs import OpenDeadLetterBlobs
from ingest.service.replay_lock import replay_lock
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.checkpoint import Checkpoint


def acknowledged(configuration: Configuration, pipeline: Pipeline, entries: Iterable[Entry]) -> list[Entry]:
    """
    Those that are not of a micro-batch that runs again, which would publish others in their place.

    Args:
        configuration: has the checkpoints.
        pipeline: of the dead letters.
        entries: read before the call: what is published meanwhile is not among them.
    """
    running_ms = Checkpoint(checkpoint_folder(configuration, pipeline.name)).uncommitted_ms()
    return [entry for entry in entries if running_ms is None or entry.dead_letter.batch_time_ms != running_ms]


def purge(
    configuration: Configuration,
    catalog: Catalog,
    pipeline: Pipeline,
    queue: DeadLetterQueue,
    chosen: Collection[Entry],
    is_selected: Callable[[Entry], bool],
) -> int:
    """
    Delete dead letters that are as they were when they were chosen, and return their number.

    Raises:
        ConflictError: a replay of the pipeline runs, or another process writes the store of their blobs.
        StoreError: the store of their blobs is unavailable.
    """
    with replay_lock(configuration, pipeline), OpenDeadLetterBlobs(configuration, catalog) as blobs:
        # again under the lock: a replay may have replaced or marked some since
        known = {entry.position: entry.dead_letter for entry in chosen}
        again = filter(is_selected, queue.entries())
        found = [entry for entry in again if known.get(entry.position) == entry.dead_letter]
        letters = [entry.dead_letter for entry in found]
        blobs.check(letters)
        queue.remove(entry.position for entry in found)
        blobs.release(with_unneeded_blobs(letters, queue.entries()))
    return len(found)
