"""The pipeline that a job has to itself: the supervisor lends it between two micro-batches, and takes it back."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from ingest.service.jobs.cancellation import JobCancelledError

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.spark.streaming.checkpoint import Checkpoint

P = TypeVar("P")


class Loans(Generic[P]):
    """
    The loan of a pipeline to the running job; there is one at a time, as there is one job.

    The supervisor ends the pipeline after its running micro-batch, and its checkpoint stays locked. When the job has
    ended in any way, the pipeline is built anew, in the thread of the job, and the supervisor starts it: so nothing of
    it is older than what the job has done.

    Thread-safe. `borrowed` is for the thread of the jobs, `lend` for any, the rest for the supervisor's.

    Args:
        build: builds the pipeline of a name on its locked checkpoint, after the loan; None if that fails, which is
            reported.
        unbuilt: returns the checkpoint of a pipeline that the service could not build, locked.
    """

    def __init__(
        self,
        build: Callable[[str, "Checkpoint"], P | None] = lambda _name, _checkpoint: None,
        unbuilt: "Callable[[str], Checkpoint] | None" = None,
    ) -> None:
        self._build = build
        self._unbuilt = unbuilt
        self._changed = threading.Condition()
        self._name = ""
        self._is_wanted = False
        self._is_stopping = False
        self._checkpoint: Checkpoint | None = None
        self._built: P | None = None

    @contextmanager
    def borrowed(self, pipeline: str) -> "Iterator[Checkpoint]":
        """
        A block in which a pipeline does not run; yields its locked checkpoint.

        Args:
            pipeline: its name.

        Raises:
            ConflictError: the service stops; or it could not build the pipeline, and another process runs it.
        """
        with self._changed:
            self._name, self._is_wanted = pipeline, True
            self._changed.wait_for(lambda: self._is_stopping or not self._is_wanted)
            if self._is_wanted:
                raise JobCancelledError("the service stops")
        checkpoint = self._checkpoint
        try:
            if checkpoint is None and self._unbuilt is not None:
                checkpoint = self._unbuilt(pipeline)
            assert checkpoint is not None  # noqa: S101 - for mypy: a service that lends has both functions
            yield checkpoint
        finally:
            self._give_back(checkpoint)

    def _give_back(self, checkpoint: "Checkpoint | None") -> None:
        built = None
        if checkpoint is not None:
            if self._is_stopping:
                checkpoint.unlock()
            else:
                built = self._build(self._name, checkpoint)
        with self._changed:
            self._built, self._checkpoint = built, None
            self._name = self._name if built is not None else ""

    @property
    def name(self) -> str:
        """The pipeline that is wanted or lent, or that was given back and not taken; "" for none."""
        return self._name

    @property
    def wanted(self) -> str:
        """The pipeline that a job waits for; "" for none."""
        return self._name if self._is_wanted else ""

    def lend(self, checkpoint: "Checkpoint | None") -> None:
        """Lend the wanted pipeline, which has ended: its locked checkpoint, or None if it was not built."""
        with self._changed:
            self._checkpoint, self._is_wanted = checkpoint, False
            self._changed.notify_all()

    def take(self) -> P | None:
        """The pipeline that was built after a loan, to be started; None if there is none."""
        with self._changed:
            built, self._built = self._built, None
            if built is not None:
                self._name = ""
            return built

    def stop(self) -> None:
        """Lend no more, and build no pipeline after the loan that ends."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
