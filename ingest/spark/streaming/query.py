"""One pipeline as a streaming query: its checkpoint, its runner and how it stops."""

import contextlib
import threading
import time
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from ingest.api import IngestError
from ingest.durable import RemotePath, StatePath
from ingest.spark.errors import JVM_GONE, JvmUnresponsiveError, translated
from ingest.spark.streaming.batch_errors import AbandonedError
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.timed_caller import TimedCaller

STOP_WAIT_S = 5.0  # Spark cancels tasks in milliseconds; a JVM that does not answer is not waited for
POLL_S = 0.02
WAITING = (
    "Waiting for data to arrive",
    "Waiting for next trigger",
)  # Spark's status messages when the source has no new data


@dataclass(frozen=True, slots=True)
class Trigger:
    """
    When a query looks for new records.

    Attributes:
        once: read the existing records, in as many batches as necessary, then end.
        every_s: interval between starts of batches; 0 for no pause.
    """

    once: bool = False
    every_s: float = 0.0


class PipelineQuery:
    """
    A started pipeline.

    Called by the thread of the service, which never waits for a JVM that does not answer. Order: start, then `ended`
    until it is true or `stop`; a query that ended may be started again and resumes at its checkpoint.

    Args:
        name: of the pipeline.
        ask: calls the JVM.
        ask_state: reads the checkpoint, whose file system may hang while the JVM answers.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, runner: BatchRunner, ask: TimedCaller, ask_state: TimedCaller
    ) -> None:
        self.name = name
        self._ask = ask
        self._ask_state = ask_state
        self._checkpoint = checkpoint
        self._runner = runner
        self._query: StreamingQuery | None = None
        self._reasons: list[BaseException | None] = []  # of the query that has ended; empty until the JVM has said it
        self._is_endless = False

    def start(self, frame: DataFrame, trigger: Trigger) -> None:
        """
        Start reading; returns at once.

        Raises:
            Exception: Spark's, while an interrupted query has not ended.
        """
        self._runner = self._runner.restarted()
        writer = frame.writeStream.queryName(self.name).foreachBatch(self._runner.on_batch)
        writer = writer.option("checkpointLocation", _location(self._checkpoint.folder))
        if trigger.once:
            writer = writer.trigger(availableNow=True)
        elif trigger.every_s > 0:
            writer = writer.trigger(processingTime=f"{int(trigger.every_s * 1000)} milliseconds")
        self._is_endless = not trigger.once
        self._reasons = []
        self._query = writer.start()

    def ended(self) -> bool:
        """Whether the query has ended, well or not."""
        query = self._query
        if query is None or self._reasons:
            return True
        try:
            return not self._ask(lambda: bool(query.isActive), default=True)
        except JVM_GONE:
            return True

    def failure(self) -> BaseException | None:
        """
        Why the query ended; None if it read all records of a `once` trigger, or was stopped.

        A `JvmUnresponsiveError` if the JVM has not said it yet: a later call returns what it said.
        """
        failure = self._runner.failure
        if failure is not None:
            if isinstance(failure, IngestError):
                return None if isinstance(failure, AbandonedError) else failure
            return translated(failure) or failure
        query = self._query
        if query is None:
            return None
        try:
            error = self._reason(query)
        except JVM_GONE as gone:
            return gone
        if error is None:
            # Spark may fail to report the exception, but an endless query does not end without one
            return RuntimeError("the query ended, and Spark reports no reason") if self._is_endless else None
        return translated(error) or error

    def _reason(self, query: StreamingQuery) -> BaseException | None:
        reasons = self._reasons

        def ask() -> None:
            reasons[:] = [query.exception()]  # also if the answer comes too late for this call

        if not reasons:
            self._ask(ask, default=None)
        unknown = JvmUnresponsiveError("the query ended, and Spark's Java process does not answer")
        return reasons[0] if reasons else unknown

    def failure_of_batch(self) -> BaseException | None:
        """Why the last batch has failed, also before Spark has ended the query; None if it has not."""
        return self.failure() if self._runner.failure is not None or self.ended() else None

    def is_reading(self) -> bool:
        """Whether the query has started to look for records."""
        query = self._query
        if query is None or self.ended():
            return False

        def reads() -> bool:
            status = query.status
            return bool(status["isTriggerActive"] or status["isDataAvailable"] or query.lastProgress is not None)

        try:
            return self._ask(reads, default=False)
        except JVM_GONE:
            return False

    def is_waiting(self) -> bool:
        """Whether the source has no new records, and no batch runs."""
        query = self._query
        if query is None or self.ended():
            return False
        try:
            return self._runner.idle.is_set() and self._ask(
                lambda: bool(query.status["message"] in WAITING), default=False
            )
        except JVM_GONE:
            return False

    def stage_s(self) -> float:
        """Seconds since the current stage of the running batch started; 0 if none runs."""
        return self._runner.stage_s()

    def busy_s(self) -> float:
        """Seconds in which batches ran, since the first start; never decreases."""
        return self._runner.busy_s()

    def is_idle(self) -> bool:
        """Whether no batch runs."""
        return self._runner.idle.is_set()

    def refuse_batches(self) -> None:
        """Let the running batch finish and start no other."""
        self._runner.refuse_batches()

    def accept_batches(self) -> None:
        """Undo `refuse_batches` for the next start; the query has ended or was interrupted."""
        self._runner.accept_batches()

    def wait_drained(self, timeout_s: float) -> bool:
        """Wait until no batch runs and the last one is committed; False after a timeout."""
        deadline = time.monotonic() + timeout_s
        if not self._runner.idle.wait(timeout_s):
            return False
        while not self.drained():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def drained(self) -> bool:
        """Whether no batch runs and the last durable one is in the commit log."""
        if self.ended():
            return True
        if not self._runner.idle.is_set():  # checked first: a batch that ends in between is not committed yet
            return False
        finished = self._runner.finished_batch
        try:
            # on a cluster, a file system that is away answers late, and the service does not wait for it
            newest = self._ask_state(self._checkpoint.newest_commit, default=None)
        except IngestError:
            newest = None
        return finished is None or (newest is not None and newest >= finished)

    def stop(self) -> None:
        """
        End the query now; a running batch stays uncommitted, and runs again after the next start.

        Waits for a limited time; the query may end later.
        """
        self._runner.stop()
        query = self._query
        if query is None:
            return
        # Spark cancels the tasks and then waits for our callback, without end if the JVM is broken
        thread = threading.Thread(target=_stop, args=(query,), name=f"stop-{self.name}", daemon=True)
        thread.start()
        thread.join(STOP_WAIT_S)


def _stop(query: StreamingQuery) -> None:
    # nothing else can be done: a batch that is not acknowledged runs again
    with contextlib.suppress(*JVM_GONE, PySparkException):
        query.stop()


def _location(folder: StatePath) -> str:
    if isinstance(folder, RemotePath):
        return str(folder)
    # not as_uri(): Hadoop does not decode percent signs after file://
    return f"file://{folder.resolve()}"
