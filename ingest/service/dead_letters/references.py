"""Which references to blobs are of dead letters that wait for a replay."""

from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import NamedTuple, Self

from ingest.api import ConflictError
from ingest.config.model import Configuration, Pipeline
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.blobs import batch_time_of, pipeline_of
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.kafka import noted_topics
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.replay_lock import replay_lock
from ingest.service.state_folders import batch_log_folder
from ingest.spark.state import checkpoint_folder, state_of
from ingest.spark.streaming.batch_log import BatchLog
from ingest.spark.streaming.batch_time import stored_times
from ingest.spark.streaming.checkpoint import Checkpoint


class _Queue(NamedTuple):
    """The references of the dead letters in a queue: of those that wait for a replay, and of those that do not."""

    waiting: frozenset[bytes]
    ended: frozenset[bytes]


class DeadLetterReferences:
    """
    Compares references with the dead letters of the pipelines; in a block, which holds the locks of pipelines.

    Nothing is said about a pipeline whose dead letters are elsewhere: it has no checkpoint in the state folder, or it
    has published dead letters into another topic than the file names now.

    A reference does not name the state that it belongs to, and a pipeline of this name may run, or have run, with
    another one. So a reference is of this state only if its dead letter is in the queue, or its batch time is known:
    by the checkpoint, the batch log or the files of dead letters.

    Args:
        configuration: of the pipelines.
        is_repair: lock the pipelines, so that none publishes dead letters meanwhile. A micro-batch that was not
            acknowledged runs again after that, and writes its references again.

    Attributes:
        earlier_topics: name of a pipeline -> other topics that may have its dead letters.
    """

    def __init__(self, configuration: Configuration, *, is_repair: bool = False) -> None:
        self._configuration = configuration
        self._is_repair = is_repair
        self.earlier_topics: dict[str, list[str]] = {}
        self._queues: dict[str, _Queue | None] = {}
        self._times: dict[str, frozenset[int]] = {}
        self._locked: set[str] = set()
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    def is_unneeded(self, reference: bytes) -> bool:
        """
        Whether a reference is of a dead letter that was replayed, deleted or never published, of this state.

        Raises:
            CheckpointError: a batch time of the checkpoint is damaged.
            IntegrityError: a file of the queue, or of the batch log, is damaged.
            SourceUnavailableError: the topic of the dead letters cannot be read.
        """
        return self._does_not_wait(reference) and self._is_known(reference)

    def is_unknown(self, reference: bytes) -> bool:
        """
        Whether a reference is of a dead letter that does not wait here, of another state or of a time long ago.

        Raises:
            IngestError: as `is_unneeded`.
        """
        return self._does_not_wait(reference) and not self._is_known(reference)

    def may_remove(self, reference: bytes) -> bool:
        """Whether the pipeline of a reference cannot publish dead letters until the end of the block."""
        return pipeline_of(reference) in self._locked

    def _does_not_wait(self, reference: bytes) -> bool:
        """Whether a reference is of a pipeline whose dead letters are here, and not of one that waits."""
        name = pipeline_of(reference)
        if name is None or name not in self._configuration.pipelines:
            return False
        if name not in self._queues:
            self._queues[name] = self._read(name)
        queue = self._queues[name]
        return queue is not None and reference not in queue.waiting

    def _is_known(self, reference: bytes) -> bool:
        """Whether a reference, of a pipeline whose dead letters are here, is of this state."""
        name = pipeline_of(reference)
        queue = None if name is None else self._queues[name]
        if name is None or queue is None:
            return False
        if reference in queue.ended:
            return True
        if name not in self._times:
            self._times[name] = self._read_times(name)
        return batch_time_of(reference) in self._times[name]

    def _read_times(self, name: str) -> frozenset[int]:
        """The times of the batches that this state has run, as far as it still knows them."""
        log = BatchLog(batch_log_folder(self._configuration, name))
        return (
            FileDeadLetters(state_of(self._configuration), name).batch_times()
            | stored_times(Checkpoint(checkpoint_folder(self._configuration, name)).times_folder)
            | {batch.time_ms for batch in log.batches()}
        )

    def _lock(self, name: str, pipeline: Pipeline, checkpoint: Checkpoint) -> None:
        """Keep a pipeline and its replays from running until the end of the block, unless one runs."""
        with suppress(ConflictError), ExitStack() as opened:  # its references are only reported
            checkpoint.lock()
            opened.callback(checkpoint.unlock)
            opened.enter_context(replay_lock(self._configuration, pipeline))
            self._locked.add(name)
            self._opened.push(opened.pop_all())

    def _read(self, name: str) -> _Queue | None:
        """The references of the dead letters of a pipeline; None if they are not here."""
        pipeline = self._configuration.pipelines[name]
        checkpoint = Checkpoint(checkpoint_folder(self._configuration, name))
        if not checkpoint.exists:
            return None
        if self._is_repair:
            self._lock(name, pipeline, checkpoint)
        state = state_of(self._configuration)
        settings = pipeline.dead_letters.settings
        present = {settings.topic} if isinstance(settings, DeadLetterTopic) else set()
        if earlier := noted_topics(state, name) - present:
            # they may be on another cluster, of which the file has neither address nor login any more
            self.earlier_topics[name] = sorted(earlier)
            return None
        with closing(dead_letter_queue(self._configuration, pipeline)) as queue:
            entries = queue.entries()
            if present:  # those in files wait, too, if the file has named a topic since
                entries = chain(entries, FileDeadLetters(state, name).entries())
            waiting: set[bytes] = set()
            ended: set[bytes] = set()
            for entry in entries:
                if entry.dead_letter.blob is not None:
                    (waiting if entry.needs_blob else ended).add(entry.dead_letter.blob_reference)
            return _Queue(frozenset(waiting), frozenset(ended))
