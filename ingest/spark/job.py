"""
One streaming query: foreachBatch -> tasks -> receipts -> dead letters -> ack.

The law: nothing is acknowledged before it is durable. A micro-batch is acknowledged in one place, by `Job.on_batch`
returning; Spark then writes `commits/N`. Whatever happens before that, the batch runs again with the same records and
the same time.
"""

import copy
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ingest import failpoint
from ingest.api import Disposition, IngestError
from ingest.dead_letters.letters import check_size
from ingest.receipt import Counts, Receipt, RefusedRows, Verdict, gather_refused, receipts_of
from ingest.spark.batch_time import BatchTimes
from ingest.spark.errors import translated
from ingest.spark.rows import RECEIPT_SCHEMA
from ingest.spark.worker import process
from ingest.task import Assignment
from sinks.delivery import deliver
from sinks.driver_store import DriverStore
from sinks.families import FamilyRegistry

T = TypeVar("T")

PATIENCE_S = 10.0  # a chunk in flight for longer means blocked; an operator is told within 15 s of an outage
MAX_PATIENCE_S = 180.0  # a store that is slow and not dead gets through: the patience doubles with each attempt
MAX_DOUBLINGS = 10  # past the longest patience already; a number of attempts has no end, a float has
BACK_OFF_S = (0.5, 1.0, 2.0, 5.0)  # between attempts of a blocked batch; the last one repeats
JOB_RETRIES = 3  # of a Spark job that failed for no reason of ours, such as a killed worker


class AbandonedError(IngestError):
    """The service or the query stops: the batch stays unacknowledged and runs again after a restart."""

    code = "abandoned"


class LeftError(IngestError):
    """What Spark hears of a batch that failed for a reason we did not foresee."""

    code = "query_failed"


class StoppedError(IngestError):
    """A task reports that this pipeline can not go on."""

    code = "stopped"


class Watch(Protocol):
    """Who is told what happens to a pipeline; called from the thread of the query."""

    def running(self) -> None:
        """The pipeline makes progress."""

    def blocked(self, code: str, message: str) -> None:
        """The batch can not be made durable now and will be tried again."""

    def attempted(self, counts: Counts) -> None:
        """One attempt at a batch ended, durable or not."""

    def acknowledged(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch is durable."""


class Job:
    """
    What runs for each micro-batch of one pipeline, from one start of its query to the next.

    Args:
        pipeline: its name.
        plan: as `ingest.parcel.packed` gives it, unpacked once by each worker process.
        stores: those of the pipeline that the driver has, by name.
        incoming: store name -> folder for files that tasks hand over, of this pipeline alone.
        publish: makes dead letters durable, after asking the error budget; called once a batch with all letters and
            counts.
        max_tasks: into which the partitions of a batch are put together, for a task costs 40 ms, however little it has
            to do; None for a task each.
        clock: monotonic seconds.

    Attributes:
        idle: set while no batch runs.
        finished_batch: the newest batch this process made durable.
        failure: what the last batch that was left unacknowledged failed with.
    """

    def __init__(  # noqa: PLR0913 - the collaborators of a batch, each used once
        self,
        *,
        pipeline: str,
        plan: bytes,
        batch_times: BatchTimes,
        stores: Mapping[str, DriverStore],
        families: FamilyRegistry,
        incoming: Mapping[str, Path],
        publish: Callable[[Sequence[bytes], int, Counts, int], None],
        watch: Watch,
        max_tasks: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline = pipeline
        self._plan = plan
        self._batch_times = batch_times
        self._stores = stores
        self._families = families
        self._incoming = incoming
        self._publish = publish
        self._watch = watch
        self._max_tasks = max_tasks
        self._clock = clock
        self._before_commit = failpoint.point("before_commit")
        self._draining = threading.Event()
        self.finished_batch: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._started_ns = time.monotonic_ns()
        self._stopping = threading.Event()
        self._step_at: float | None = None
        self.idle = threading.Event()
        self.idle.set()
        self.failure: Exception | None = None

    def again(self) -> "Job":
        """
        The job for the next start of the query; this one is stopped.

        A batch that still runs here outlives its query, and the next query runs the same batch: the two share what the
        job was made with and what refuses batches for good, and no state of a batch.
        """
        self.stop()
        job = copy.copy(self)
        job._begin()  # noqa: SLF001 - of this class
        return job

    def refuse_batches(self) -> None:
        """Let the running batch finish and start no other, nor after `again`."""
        self._draining.set()

    def stop(self) -> None:
        """Leave the running batch unacknowledged, whatever it waits for, and start no other."""
        self._stopping.set()

    def step_s(self) -> float:
        """For how many seconds the step that runs now has been at work: an attempt, a delivery, a publication."""
        at = self._step_at
        return 0.0 if at is None else self._clock() - at

    def on_batch(self, frame: DataFrame, batch_id: int) -> None:
        """Make one micro-batch durable. Returning acknowledges it; it raises to leave it unacknowledged."""
        self.idle.clear()
        try:
            self._check_may_start(batch_id)
            started = self._clock()
            with self._step():  # a disk that hangs under it shows as one
                batch_time_ms = self._batch_times.of(batch_id)
            counts, letters = self._run_until_durable(frame, batch_id, batch_time_ms)
            self._until_possible(partial(self._publish, letters, batch_id, counts, batch_time_ms))
            self._check_goes_on()
            self.finished_batch = batch_id
            self._watch.acknowledged(batch_id, batch_time_ms, counts, self._clock() - started)
            self._before_commit()
        except IngestError as error:
            # Spark tells the waiting thread the text of an exception only, so the error itself stands here
            self.failure = error
            # and of that text it wants no chain: with the one of a failed job in it, it looks through the whole with a
            # pattern that overflows its stack, and a query that dies of that does not say why
            raise error from None
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told where the query's end is seen
            self.failure = error
            raise LeftError(f"batch {batch_id} is not acknowledged: {type(error).__name__}") from None
        finally:
            self.idle.set()

    def _check_may_start(self, batch_id: int) -> None:
        if self._draining.is_set() or self._stopping.is_set():
            raise AbandonedError(f"the service stops; batch {batch_id} runs again after a restart")

    def _check_goes_on(self) -> None:
        if self._stopping.is_set():
            raise AbandonedError("the query stops while a batch runs") from None

    def _run_until_durable(self, frame: DataFrame, batch_id: int, batch_time_ms: int) -> tuple[Counts, list[bytes]]:
        attempt = 0
        refused: dict[str, RefusedRows] = {}
        while True:
            receipts, counts = self._attempt(frame, batch_id, batch_time_ms, attempt, refused)
            attempt += 1
            worst = _worst(receipts)
            match worst.verdict:
                case Verdict.DURABLE:
                    self._until_possible(partial(self._deliver, receipts))
                    self._watch.running()
                    return counts, _letters(receipts)
                case Verdict.NEEDS_FAMILIES:
                    self._until_possible(partial(self._families.create_needed, receipts))
                case Verdict.REFUSED:
                    gather_refused(refused, receipts)
                case Verdict.BLOCKED:
                    self._wait(worst.code, worst.message, attempt)
                case Verdict.STOP:
                    raise StoppedError(worst.message, code=worst.code)

    def _attempt(
        self, frame: DataFrame, batch_id: int, batch_time_ms: int, attempt: int, refused: Mapping[str, RefusedRows]
    ) -> tuple[list[Receipt], Counts]:
        # no other start's, which may be at work on the same batch still
        name = f"{self._started_ns}-{batch_id}-{attempt}"
        folders = {store: folder / name for store, folder in self._incoming.items()}
        assignment = Assignment(
            batch_time_ms=batch_time_ms,
            patience_s=min(PATIENCE_S * 2 ** min(attempt, MAX_DOUBLINGS), MAX_PATIENCE_S),
            incoming={store: str(folder) for store, folder in folders.items()},
            families=self._until_possible(self._families.known),
            compressions=self._until_possible(self._families.compressions),
            closed=self._families.closed(),
            refused=refused,
            attempt=name,
        )
        try:
            receipts = self._run_tasks(frame, assignment)
        except BaseException:
            _remove(folders.values())
            raise
        counts = _summed(receipts)
        self._watch.attempted(counts)
        if _worst(receipts).verdict is not Verdict.DURABLE:
            _remove(folders.values())
        return receipts, counts

    def _run_tasks(self, frame: DataFrame, assignment: Assignment) -> list[Receipt]:
        task = partial(process, self._pipeline, self._plan, assignment)
        if self._max_tasks is not None:
            frame = frame.coalesce(self._max_tasks)
        waits = retries = 0
        while True:
            try:
                with self._step():
                    rows = frame.mapInArrow(task, RECEIPT_SCHEMA).collect()
            except (Py4JError, PySparkException) as error:
                if self._stopping.is_set():
                    # alone: Spark searches the text of what ends a query with a pattern that overflows its stack when
                    # there is the trace of a Java exception in it
                    raise AbandonedError("the service stops while tasks run") from None
                cause = translated(error)
                if cause is not None and cause.disposition is Disposition.RETRY:
                    waits += 1
                    self._wait(cause.code, str(cause), waits)
                    continue
                if cause is not None:
                    raise cause from error
                retries += 1
                if retries > JOB_RETRIES:
                    raise
                self._wait("job_failed", f"a Spark job failed, try {retries} of {JOB_RETRIES}", retries)
            else:
                self._check_goes_on()
                return receipts_of((row.kind, bytes(row.payload)) for row in rows)

    def _deliver(self, receipts: Sequence[Receipt]) -> None:
        handed = [file for receipt in receipts for file in receipt.handed]
        for name, one in self._stores.items():
            files = [file for file in handed if file.store == name]
            if files:
                with one.held() as store:
                    deliver(store, files)
        # all, not only what was delivered: a task that was still at work when its job had failed made its folder anew
        left = [path for folder in self._incoming.values() if folder.is_dir() for path in folder.iterdir()]
        # asked after the look: what the next query's tasks make is not among what there was before the stop
        self._check_goes_on()
        _remove(left)

    def _until_possible(self, action: Callable[[], T]) -> T:
        attempt = 0
        while True:
            self._check_goes_on()
            try:
                with self._step():
                    return action()
            except IngestError as error:
                if error.disposition is Disposition.STOP:
                    raise
                # rows that a store refuses here block loudly too: none of them may be passed over
                attempt += 1
                self._wait(error.code, str(error), attempt)

    @contextmanager
    def _step(self) -> Iterator[None]:
        self._step_at = self._clock()
        try:
            yield
        finally:
            self._step_at = None

    def _wait(self, code: str, message: str, attempt: int) -> None:
        """Tell that the batch is blocked and wait before the next try; raises when the service stops meanwhile."""
        self._check_goes_on()
        self._watch.blocked(code, message)
        if self._stopping.wait(BACK_OFF_S[min(attempt, len(BACK_OFF_S)) - 1]):
            raise AbandonedError(f"the service stops while blocked: {message}") from None


def _worst(receipts: Sequence[Receipt]) -> Receipt:
    order = [Verdict.DURABLE, Verdict.REFUSED, Verdict.NEEDS_FAMILIES, Verdict.BLOCKED, Verdict.STOP]
    return max(receipts, key=lambda receipt: order.index(receipt.verdict), default=Receipt())


def _summed(receipts: Sequence[Receipt]) -> Counts:
    total = Counts()
    for receipt in receipts:
        total.add(receipt.counts)
    return total


def _letters(receipts: Sequence[Receipt]) -> list[bytes]:
    letters = [letter for receipt in receipts for letter in receipt.dead_letters]
    check_size(sum(map(len, letters)))
    return letters


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
