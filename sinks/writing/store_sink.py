"""The task sink of all sinks of a pipeline that write to one store."""

from pathlib import Path

from ingest.api import SinkResult, TaskSink, TaskSpec, WriteCounts
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.mutator import BufferedMutator
from sinks.writing.staging import StagingWriter


class StoreSink(TaskSink):
    """
    Writes to the store or, if only the driver may write it, to a staged file.

    Args:
        mutator: shared with the writers of the sinks.
        staging: the target of the mutator's senders, for a store that only the driver may write; else None.
    """

    def __init__(self, mutator: BufferedMutator, staging: StagingWriter | None = None) -> None:
        self._mutator = mutator
        self._staging = staging

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start a flush cycle of the mutator, and a staged file."""
        known = Prepared.unpacked(prepared)
        if self._staging is not None:
            path = Path(known.folder) / f"{spec.task_id}.puts"
            self._staging.begin(str(path), known.families, known.formats)
        self._mutator.begin(spec, known, counts)

    def split_start(self, rank: int) -> None:
        """Start a split, whose updates are written under its rank."""
        self._mutator.split_start(rank)

    def split_end(self) -> None:
        """End a split: write its updates, and close a staged file that is large enough."""
        self._mutator.split_end()

    def flush(self) -> SinkResult:
        """Flush the mutator; the batch runs again if families are needed or rows were refused."""
        self._mutator.flush()
        staged = None if self._staging is None else self._staging.finish()
        needed, refused = self._mutator.families.needed, self._mutator.refused
        result = StoreResult(staged, needed, refused)
        return SinkResult(result.packed(), run_again=bool(needed or refused))

    def probe(self) -> bytes:
        """The chunk that the store failed to write."""
        return self._mutator.probe()

    def close(self) -> None:
        """Close the connections."""
        self._mutator.close()
