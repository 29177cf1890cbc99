"""
The contract of a sink: a task sink writes in the tasks of a micro-batch, a committer commits on the driver.

A `Sink` creates both. Sinks that write to one store share a task sink and a committer, which are built in.

One micro-batch: on the driver `Committer.prepare`; in each task `begin`, for each split `split_start`, the events and
`split_end`, then `flush`; on the driver `Committer.commit`; then the micro-batch is acknowledged. A process may be
killed between any two of these. The micro-batch then runs again with the same records and the same time, perhaps
divided among other tasks.

Source: Flink's SinkWriter and Committer, Spark's DataWriter and BatchWrite (DataSourceV2).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ingest.api.component import ComponentBase
from ingest.api.event import Event, RecordPlace
from ingest.api.settings import SinkSettings
from ingest.api.sink_context import SinkContext
from ingest.api.taps import Tap


@dataclass(frozen=True, slots=True)
class Batch:
    """
    One attempt at a micro-batch.

    Attributes:
        name: identifies the micro-batch in its pipeline, the same in every attempt; of ASCII letters, digits and `-`,
            so it can name a file.
        time_ms: the batch time.
        attempt: identifies the attempt, also among those of earlier processes.
    """

    name: str
    time_ms: int
    attempt: str


class BusyWait(NamedTuple):
    """
    A wait before a call is repeated, because a store is overloaded.

    Attributes:
        reason: one of few, such as the name of a server's exception.
    """

    reason: str
    seconds: float


@dataclass(slots=True)
class WriteCounts:
    """
    What a task wrote.

    Attributes:
        rows_sent: rows of all calls, so more than the rows stored if calls were retried.
        write_calls: calls that the store answered.
        flush_s: duration of each call.
        busy: calls that the store refused because it is overloaded (`StoreBusyError`); the pipeline then writes less.
        busy_waits: the waits after these calls.
        counted: what features of tables count: (name, table) -> amount, for the metric `attr2hbase_NAME_total`.
        joined_puts: puts of rows that got other columns from another event of the task.
    """

    rows_sent: int = 0
    cells: int = 0
    bytes: int = 0
    write_calls: int = 0
    retries: int = 0
    flush_s: list[float] = field(default_factory=list)
    busy: int = 0
    busy_waits: list[BusyWait] = field(default_factory=list)
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    joined_puts: int = 0

    def add_written(self, other: "WriteCounts") -> None:
        """Add the counts of another task."""
        self.rows_sent += other.rows_sent
        self.cells += other.cells
        self.bytes += other.bytes
        self.write_calls += other.write_calls
        self.retries += other.retries
        self.flush_s.extend(other.flush_s)
        self.busy += other.busy
        self.busy_waits.extend(other.busy_waits)
        self.counted.update(other.counted)
        self.joined_puts += other.joined_puts


MAX_SPLITS = 1 << 20
"""Number of splits that a micro-batch may have: ranks are stored in this many bits."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """
    What the driver specifies for the tasks of one attempt.

    Attributes:
        task_id: unique for each attempt of each task of the batch, so it can name a file.
        call_timeout_s: how long a call may be in flight before the task reports that it is blocked.
        prepared: name of a destination -> what its committer prepared.
        sinks_by_record: place of a record -> names of its sinks; other records are written to all sinks.
        split_per_record: each record is a split of its own, also in `splits`, since the records were not read together:
            no decorator may compare one with another.
        max_failures: a task stops after more failed records than this, since they exceed the error budget by
            themselves; None without a limit.
        splits: the first place of each split of the micro-batch, sorted; the rank of a split is its index, the same in
            every attempt. Empty if no destination needs the ranks.
        max_dead_letter_bytes: of the dead letters of the task that have the bytes of their records; None for as many as
            a micro-batch may have.
        taps: places whose events the tasks report.
    """

    batch: Batch
    task_id: str = "0"
    call_timeout_s: float = 10.0
    prepared: Mapping[str, bytes] = field(default_factory=dict)
    sinks_by_record: Mapping[RecordPlace, frozenset[str]] = field(default_factory=dict)
    split_per_record: bool = False
    max_failures: int | None = None
    splits: tuple[RecordPlace, ...] = ()
    max_dead_letter_bytes: int | None = None
    taps: tuple[Tap, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkResult:
    """
    What one task reports to the committer of its destination.

    Attributes:
        payload: only the task sink and the committer can read it.
        run_again: the batch cannot be committed yet: `prepare` gets this payload, then every task runs again.
    """

    payload: bytes = b""
    run_again: bool = False


class TaskSink(ABC):
    """
    Writes to a destination in a task: to a store that several sinks share, or to the destination of one sink.

    Called by one thread; a worker process reuses it for many micro-batches. Order: `begin`, then for each split
    `split_start` (if the splits have ranks), its events and `split_end`, then `flush`; that is a flush cycle. A flush
    cycle may end at any point, with `abandon`. `close` may be called twice.

    An exception that is no IngestError is a fault of the sink: it stops the pipeline with `sink_failed`, which names
    the sink, and is not retried. One of `close` is logged.
    """

    @property
    def has_splits(self) -> bool:
        """
        Whether `split_end` is called after each split; otherwise all events of a flush cycle may be one split.

        With `TaskSpec.splits` it is called after each split in any case.
        """
        return type(self).split_end is not TaskSink.split_end

    @abstractmethod
    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """
        Start a flush cycle.

        Args:
            spec: of the task.
            prepared: what the committer of this destination prepared.
            counts: the sink adds what it writes.

        Raises:
            IngestError: the destination cannot be written to now.
        """

    def split_start(self, rank: int) -> None:
        """
        Start a split, before its first event. Called only with `TaskSpec.splits`: otherwise splits have no ranks.

        Args:
            rank: of the split; no other call in the attempt, in any task, has the same.
        """

    def split_end(self) -> None:
        """End a split: the next events are from another Kafka partition, or another range of a file."""

    @abstractmethod
    def flush(self) -> SinkResult:
        """
        Make all events of the flush cycle durable, or staged for the committer.

        Raises:
            IngestError: RETRY blocks the pipeline until the batch is written, STOP stops it.
        """

    def request(self) -> SinkResult:
        """
        What the attempt lacks, after a `RunAgainError` has ended it: with `run_again` for `Committer.prepare`.

        It is called in place of `flush`.
        """
        return SinkResult()

    def probe(self) -> bytes:
        """A small part of a blocked flush cycle, for `Committer.probe`; b"" if there is none."""
        return b""

    def abandon(self) -> None:
        """
        The attempt has ended without a complete flush cycle: write nothing more of it.

        Called after `request` and `probe`. The next attempt may run in another process, so this one may get no `begin`.
        """

    @abstractmethod
    def close(self) -> None:
        """Release connections and files."""


class SinkWriter(TaskSink):
    """The task sink of a `Sink`, which writes to no store."""

    @abstractmethod
    def write(self, event: Event) -> str | None:
        """
        Write an event, or buffer it until `flush`.

        It may wait for a disk or a network. If it does not return within the call timeout of the attempt, 10 s at
        first, an exception is raised inside it, and the batch runs again with twice the timeout. The event fails if the
        call takes 3 s of CPU time, unless there are `event_calls`.

        Returns:
            None, or the reason why the event is dropped on purpose.

        Raises:
            EventError: this event cannot be written; the others are not affected.
            IngestError: as `flush`.
        """

    @property
    def event_calls(self) -> Sequence[Callable[..., object]] | None:
        """
        Functions that `write` calls for one event, which wait for nothing; None if it calls none.

        If there are some, each must return within 3 s, or its event fails. The rest of `write` may then take CPU time
        for many events, as to compress what it has buffered.
        """
        return None


class Committer(ABC):
    """
    Commits to a destination, on the driver.

    Called by one thread of the pipeline, except for `stop_probe`. Order: `recover` at each start of the pipeline; then
    for each attempt at a micro-batch `prepare`, its tasks, and one of:

    - `commit`, if all tasks succeeded. It must be idempotent: it is retried unless it fails with STOP, and runs again
      for a batch that was committed but not acknowledged, because the process was killed or another destination of
      the batch failed. A second commit replaces the first: after a corrected configuration it may hold other events.
    - `abort`, if a task did not succeed.
    - Neither, if the pipeline stops first: the process is killed, or `prepare` or `commit` of any destination of the
      batch fails for good. Some destinations may be committed then. What the others staged stays there until `recover`
      or a later `prepare` removes it.

    An exception that is no IngestError stops the pipeline, as with `TaskSink`; one of `abort`, `stop_probe` or `close`
    is logged.
    """

    def recover(self) -> None:
        """
        Remove what an earlier process staged and did not commit; its batches run again.

        Raises:
            IngestError: RETRY if the destination is unavailable, STOP if it cannot be used.
        """

    def newest_batch_ms(self) -> int:
        """
        After `recover`: the time of the newest micro-batch that the destination may have a part of; 0 if unknown.

        For a destination that would have an event twice if it came again in a later micro-batch. A pipeline whose state
        is older, as after a restore, is refused then.
        """
        return 0

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - for sinks that need nothing
        """
        Prepare an attempt; returns the message that `begin` gets in each of its tasks.

        Args:
            batch: the attempt.
            requests: the payloads with `run_again` of all earlier attempts at this batch.

        Raises:
            IngestError: as `recover`.
        """
        return b""

    @abstractmethod
    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """
        Make the results of all tasks durable and visible; the batch is acknowledged after this.

        Args:
            batch: the attempt.
            results: one payload for each task.

        Raises:
            IngestError: as `recover`; the batch is not acknowledged.
        """

    def abort(self, batch: Batch) -> None:
        """Remove what an attempt staged that will not be committed; a failure is ignored."""

    def probe(self, payload: bytes, timeout_s: float) -> None:
        """
        Write a small part of a blocked batch, while no task of it runs; returns once the destination accepts it.

        Args:
            payload: as `TaskSink.probe` returned it.
            timeout_s: how long to wait.

        Raises:
            IngestError: the destination is still unavailable.
        """

    def stop_probe(self) -> None:
        """Make a waiting probe fail; called by another thread when the pipeline stops."""

    def close(self) -> None:
        """Release connections and files; may be called twice."""


S = TypeVar("S", bound=SinkSettings)

DryWrite = Callable[[Event, int], Mapping[str, object]]
"""See `Sink.dry_run`."""


class Sink(ComponentBase[S]):
    """
    A sink that writes to a destination of its own, which is no `Store`.

    A sink that writes rows to a store is a `Mapper` of `sinks.mapping.mapper` instead.

    Constructed on the driver and in each worker process, without I/O; its writer and committer do all the work.
    `Batch.name` and `Batch.attempt`, which both know, identify what the writer stages and the committer commits.
    """

    settings_base = SinkSettings

    def check(self, context: SinkContext) -> str:  # noqa: ARG002 - for sinks that can check something
        """
        Check that the destination can be written, for `attr2hbase validate --connect` and a reload.

        Changes nothing, and returns within seconds: a user waits. The service may be running.

        Returns:
            What there is now, in a few words, such as `3 batches`.

        Raises:
            IngestError: a pipeline with this sink could not start or write now.
        """
        return "has nothing to check"

    def dry_run(self) -> DryWrite | None:
        """
        What the sink would write for an event, for `attr2hbase explain` and `attr2hbase test`; no call has an effect.

        Returns:
            A function that gets an event and the batch time, in ms since the epoch, 0 if it is not known. It returns
            what would be written, as data for JSON, with what a reader needs to find it; or raises as
            `SinkWriter.write`. None: every event is accepted, and nothing is shown.
        """
        return None

    @abstractmethod
    def writer(self, context: SinkContext) -> SinkWriter:
        """The task sink of a worker process; called once in each."""

    @abstractmethod
    def committer(self, context: SinkContext) -> Committer:
        """The committer; called once for each run of the pipeline, on the driver."""
