"""Marks dead letters that are kept on purpose, so that replays leave them."""

from collections.abc import Callable, Collection

from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Mark, ReplayOutcome
from ingest.service.replay_lock import refuse_unfinished_replay, replay_lock
from ingest.service.state_folders import update_replay_file


def keep(
    configuration: Configuration,
    pipeline: Pipeline,
    queue: DeadLetterQueue,
    chosen: Collection[Entry],
    now_ms: Callable[[], int],
) -> int:
    """
    Mark dead letters that are as they were when they were chosen, and return their number.

    Raises:
        ConflictError: a replay of the pipeline runs, or was interrupted: it runs the same dead letters again.
    """
    with replay_lock(configuration, pipeline):
        refuse_unfinished_replay(
            update_replay_file(configuration, pipeline.name),
            pipeline.name,
            "may have to run these dead letters again",
            "run its command again, 'attr2hbase replay' or 'attr2hbase dead-letters replay'; then keep the dead "
            "letters",
        )
        known = {entry.position: entry for entry in chosen}
        found = [entry for entry in queue.entries() if known.get(entry.position) == entry]
        at_ms = now_ms()
        queue.mark({entry.position: Mark(ReplayOutcome.KEPT, at_ms, "", entry.counted) for entry in found})
    return len(found)
