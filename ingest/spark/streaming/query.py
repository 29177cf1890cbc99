"""One pipeline as a streaming query: its checkpoint, its job and its way to stop."""

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from ingest.api import IngestError
from ingest.spark.errors import translated
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.job import AbandonedError, Job
from ingest.spark.streaming.timed_caller import JVM_GONE, TimedCaller

STOP_WAIT_S = 5.0  # Spark cancels tasks in milliseconds; a JVM that does not answer is left behind
POLL_S = 0.02
WAITING = ("Waiting for data to arrive", "Waiting for next trigger")  # Spark's words once the source was asked


@dataclass(frozen=True, slots=True)
class Trigger:
    """
    When a query looks for new records.

    Attributes:
        once: read what is there now, in as many batches as it takes, then end.
        every_s: pause between starts of batches; 0 goes on at once.
    """

    once: bool = False
    every_s: float = 0.0


class PipelineQuery:
    """
    A started pipeline.

    Called by the thread of the service, which never waits for a JVM that does not answer. Order: start, then `ended`
    until it is true or `stop`; a query that ended may be started again and goes on at its checkpoint.
    """

    def __init__(self, name: str, checkpoint: Checkpoint, job: Job, ask: TimedCaller) -> None:
        self.name = name
        self._ask = ask
        self._checkpoint = checkpoint
        self._job = job
        self._query: StreamingQuery | None = None
        self._is_endless = False

    def start(self, frame: DataFrame, trigger: Trigger) -> None:
        """
        Start reading; returns at once.

        Raises:
            Exception: Spark's, as long as a query that was interrupted has not come to its end.
        """
        self._job = self._job.again()
        writer = frame.writeStream.queryName(self.name).foreachBatch(self._job.on_batch)
        writer = writer.option("checkpointLocation", _location(self._checkpoint.folder))
        if trigger.once:
            writer = writer.trigger(availableNow=True)
        elif trigger.every_s > 0:
            writer = writer.trigger(processingTime=f"{int(trigger.every_s * 1000)} milliseconds")
        self._is_endless = not trigger.once
        self._query = writer.start()

    def ended(self) -> bool:
        """Whether the query has ended, well or not."""
        query = self._query
        if query is None:
            return True
        try:
            return not self._ask(lambda: bool(query.isActive), otherwise=True)
        except JVM_GONE:
            return True

    def failure(self) -> BaseException | None:
        """Why the query ended; None when it read all there was, or was stopped."""
        failure = self._job.failure
        if failure is not None:
            if isinstance(failure, IngestError):
                return None if isinstance(failure, AbandonedError) else failure
            return translated(failure) or failure
        query = self._query
        if query is None:
            return None
        silence: BaseException | None = TimeoutError("Spark's Java process does not answer")
        try:
            error = self._ask(query.exception, otherwise=silence)
        except JVM_GONE as gone:
            return gone
        if error is None:
            # Spark's own way to an exception may fail, and a query that reads for ever does not end by itself
            return RuntimeError("the query ended, and Spark does not say why") if self._is_endless else None
        return translated(error) or error

    def is_reading(self) -> bool:
        """Whether the query has come so far that it looks for records."""
        query = self._query
        if query is None or self.ended():
            return False

        def reads() -> bool:
            status = query.status
            return bool(status["isTriggerActive"] or status["isDataAvailable"] or query.lastProgress is not None)

        try:
            return self._ask(reads, otherwise=False)
        except JVM_GONE:
            return False

    def is_waiting(self) -> bool:
        """Whether the source has answered that there is nothing new, and no batch runs."""
        query = self._query
        if query is None or self.ended():
            return False
        try:
            return self._job.idle.is_set() and self._ask(
                lambda: bool(query.status["message"] in WAITING), otherwise=False
            )
        except JVM_GONE:
            return False

    def step_s(self) -> float:
        """For how many seconds a step of the running batch has been at work."""
        return self._job.step_s()

    def is_idle(self) -> bool:
        """Whether no batch runs."""
        return self._job.idle.is_set()

    def interrupt(self) -> None:
        """
        End a query that does nothing, to start it again; a batch that has just begun is cut off and runs again.

        Spark may take longer than this waits.
        """
        self._job.stop()
        self._stop_spark()

    def refuse_batches(self) -> None:
        """Let the running batch finish and start no other."""
        self._job.refuse_batches()

    def wait_drained(self, timeout_s: float) -> bool:
        """Wait until no batch runs and the last one is committed; False when that takes longer."""
        deadline = time.monotonic() + timeout_s
        if not self._job.idle.wait(timeout_s):
            return False
        while not self.drained():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def drained(self) -> bool:
        """Whether no batch runs and the last one that became durable is in the commit log."""
        if self.ended():
            return True
        if not self._job.idle.is_set():  # asked first: a batch that ends in between has its commit still to come
            return False
        finished = self._job.finished_batch
        newest = self._checkpoint.newest_commit()
        return finished is None or (newest is not None and newest >= finished)

    def stop(self) -> None:
        """End the query now; a running batch stays uncommitted."""
        self._job.stop()
        self._stop_spark()

    def _stop_spark(self) -> None:
        query = self._query
        if query is None:
            return
        # Spark cancels the tasks at once and then waits for our callback, which a broken JVM would make endless
        thread = threading.Thread(target=_stop, args=(query,), name=f"stop-{self.name}", daemon=True)
        thread.start()
        thread.join(STOP_WAIT_S)


def _stop(query: StreamingQuery) -> None:
    # nobody could do more about it: what is not acknowledged runs again
    with contextlib.suppress(*JVM_GONE, PySparkException):
        query.stop()


def _location(folder: Path) -> str:
    # not as_uri(): Hadoop takes the text after file:// as it is, per cent signs too
    return f"file://{folder.resolve()}"
