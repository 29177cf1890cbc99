"""Which references to bodies are of dead letters that wait for a replay."""

from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import Self

from ingest.api import ConflictError
from ingest.config.model import Configuration, Pipeline
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.bodies import pipeline_of
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.kafka import noted_topics
from ingest.service.dead_letters import dead_letter_queue
from ingest.service.pipeline import checkpoint_folder
from ingest.service.replay_lock import replay_lock
from ingest.spark.state import state_of
from ingest.spark.streaming.checkpoint import Checkpoint


class LetterReferences:
    """
    Compares references with the dead letters of the pipelines; in a block, which holds the locks of pipelines.

    Nothing is said about a pipeline whose dead letters are elsewhere: it has no checkpoint in the state folder, or it
    has published dead letters into another topic than the file names now.

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
        self._waiting: dict[str, frozenset[bytes] | None] = {}
        self._locked: set[str] = set()
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    def is_unneeded(self, reference: bytes) -> bool:
        """
        Whether a reference is of a dead letter that was replayed, deleted or never published.

        Raises:
            IntegrityError: a file of the queue is damaged.
            SourceUnavailableError: the topic of the dead letters cannot be read.
        """
        name = pipeline_of(reference)
        if name is None or name not in self._configuration.pipelines:
            return False
        if name not in self._waiting:
            self._waiting[name] = self._read(name)
        waiting = self._waiting[name]
        return waiting is not None and reference not in waiting

    def may_remove(self, reference: bytes) -> bool:
        """Whether the pipeline of a reference cannot publish dead letters until the end of the block."""
        return pipeline_of(reference) in self._locked

    def _lock(self, name: str, pipeline: Pipeline, checkpoint: Checkpoint) -> None:
        """Keep a pipeline and its replays from running until the end of the block, unless one runs."""
        with suppress(ConflictError), ExitStack() as opened:  # its references are only reported
            checkpoint.lock()
            opened.callback(checkpoint.unlock)
            opened.enter_context(replay_lock(self._configuration, pipeline))
            self._locked.add(name)
            self._opened.push(opened.pop_all())

    def _read(self, name: str) -> frozenset[bytes] | None:
        """The references of the dead letters that wait for a replay; None if they are not here."""
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
            return frozenset(entry.dead_letter.body_reference for entry in entries if entry.needs_body)
