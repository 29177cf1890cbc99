"""
What a sink is: a half that writes in the tasks of a micro-batch, and a half that commits on the driver.

`Sink` is the component that gives both halves; the sinks of a store share one pair, made by the product.

One micro-batch: on the driver `Committer.prepare`; in each task `begin`, the events, `split_end`, `flush`; on the
driver `Committer.commit`; then the micro-batch is acknowledged. A process may be killed between any two of these. The
micro-batch then runs again with the same records and the same time, perhaps divided among other tasks.

Source: the two halves of Flink's Sink (SinkWriter, Committer) and of Spark's DataSourceV2 (DataWriter, BatchWrite).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar
from urllib.parse import quote

from ingest.api.component import Example, Stability, settings_class_of
from ingest.api.event import Event, RecordPlace
from ingest.api.settings import SinkSettings


@dataclass(frozen=True, slots=True)
class Batch:
    """
    One attempt at a micro-batch.

    Attributes:
        name: the same whenever this micro-batch runs again, and different for every other one of the pipeline; letters,
            digits and `-`, so it can name a file.
        time_ms: of its cells.
        attempt: the name of this attempt; no other attempt has it, also none of an earlier process.
    """

    name: str
    time_ms: int
    attempt: str


@dataclass(slots=True)
class WriteCounts:
    """
    What a task sent, over all its attempts to send it.

    Attributes:
        rows_sent: rows of every attempt to write, so more than the rows stored after a retry.
        write_calls: calls that the store answered.
        flush_s: how long each call took.
    """

    rows_sent: int = 0
    cells: int = 0
    bytes: int = 0
    write_calls: int = 0
    retries: int = 0
    flush_s: list[float] = field(default_factory=list)

    def add_written(self, other: "WriteCounts") -> None:
        """Add what another task sent."""
        self.rows_sent += other.rows_sent
        self.cells += other.cells
        self.bytes += other.bytes
        self.write_calls += other.write_calls
        self.retries += other.retries
        self.flush_s.extend(other.flush_s)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """
    What the driver specifies for the tasks of one attempt.

    Attributes:
        task_id: unique for each attempt of each task of the batch, so it can name a file.
        patience_s: how long a call may be in flight before the task reports that it is blocked.
        prepared: name of a destination -> what its committer prepared.
        only: place of a record -> names of the sinks it is for; all for a record that is not in it.
        are_apart: the records did not come together, so each is a split of its own: no decorator may buffer one
            against another.
        max_failures: more failed records than this in one task certainly spend the error budget, so the task stops;
            None for no such number.
    """

    batch: Batch
    task_id: str = "0"
    patience_s: float = 10.0
    prepared: Mapping[str, bytes] = field(default_factory=dict)
    only: Mapping[RecordPlace, frozenset[str]] = field(default_factory=dict)
    are_apart: bool = False
    max_failures: int | None = None


@dataclass(frozen=True, slots=True)
class SinkResult:
    """
    What one task reports to the committer of its destination.

    Attributes:
        payload: opaque to everyone but the two halves of the sink.
        run_again: the batch cannot be committed as it is: every task runs again after `prepare` was given this payload.
    """

    payload: bytes = b""
    run_again: bool = False


class TaskSink(ABC):
    """
    The half of a destination that runs in a task: a store that several sinks share, or a sink's own.

    Called by one thread, and kept by a worker process for many micro-batches. Order: `begin`, then the events with
    `split_end` after those of each split, then `flush`; that is a flush cycle. A flush cycle may be given up at any
    point, and the next `begin` forgets it. `close` ends it; it may be called twice.

    An exception that is no IngestError is a fault of the sink: it stops the pipeline with `sink_failed`, which names
    the sink, and is not retried. One of `close` is logged.
    """

    @property
    def has_splits(self) -> bool:
        """Whether `split_end` is called after each split; otherwise all events of a flush cycle may be one split."""
        return type(self).split_end is not TaskSink.split_end

    @abstractmethod
    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """
        Start a flush cycle.

        Args:
            spec: of the task.
            prepared: what the committer of this destination prepared.
            counts: to which the sink adds what it sends.

        Raises:
            IngestError: the destination cannot take anything now.
        """

    def split_end(self) -> None:
        """End a split: what follows is of another Kafka partition, or of another range of a file."""

    @abstractmethod
    def flush(self) -> SinkResult:
        """
        Make all events of the flush cycle durable, or staged for the committer.

        Raises:
            IngestError: RETRY blocks the pipeline until the batch gets through, STOP stops it.
        """

    def probe(self) -> bytes:
        """A small part of a flush cycle that was blocked, for `Committer.probe`; b"" when there is none."""
        return b""

    @abstractmethod
    def close(self) -> None:
        """Release connections and files."""


class SinkWriter(TaskSink):
    """The tasks' half of a sink that is a destination of its own."""

    @abstractmethod
    def write(self, event: Event) -> str | None:
        """
        Take an event.

        A call that lasts for 3 s is ended by an exception that is raised within it, and its event fails. A sink that
        waits for a disk or a network here turns whatever it is interrupted by into an error of disposition RETRY.

        Returns:
            None when the event was taken, else the reason why it is dropped on purpose.

        Raises:
            EventError: this event cannot be written; it fails, and the others are not affected.
            IngestError: as `flush`.
        """


class Committer(ABC):
    """
    The half of a destination that runs on the driver.

    Called by one thread for each pipeline, but for `stop_probe`. Order: `recover` at each start of the pipeline; then
    for each attempt at a micro-batch `prepare`, and after its tasks either `commit` or `abort`. `commit` is
    repeated until it returns, and also for a batch that a killed process had committed but not acknowledged: a second
    commit of the same batch must leave the same data as one.

    An exception that is no IngestError stops the pipeline, as with `TaskSink`; one of `abort`, `stop_probe` or `close`
    is logged.
    """

    def recover(self) -> None:
        """
        Remove what an earlier process staged and did not commit; its batches run again.

        Raises:
            IngestError: RETRY when the destination is away, STOP when it cannot be used.
        """

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - for sinks that need nothing
        """
        Give what `begin` gets in each task of this attempt.

        Args:
            batch: the attempt.
            requests: payloads of all tasks of earlier attempts at this batch that asked to run again.

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
        """Remove what an attempt staged that will not be committed; failing to do so is no error."""

    def probe(self, payload: bytes, patience_s: float) -> None:
        """
        Try a part of a blocked batch, while no task of it runs; return when the destination answers.

        Args:
            payload: as `TaskSink.probe` gave it.
            patience_s: how long to wait for the answer.

        Raises:
            IngestError: the destination is still away.
        """

    def stop_probe(self) -> None:
        """End a probe that waits, with an error; called by another thread when the pipeline stops."""

    def close(self) -> None:
        """Release connections and files; may be called twice."""


@dataclass(frozen=True, slots=True)
class SinkContext:
    """
    The place in a pipeline that a sink is made for.

    Attributes:
        pipeline: its name.
        sink: name of the sink, unique in its pipeline.
        state_dir: the service's folder for state, absolute; tasks on other machines may not have it.
        is_replay: dead letters are replayed, perhaps while the service runs.
    """

    pipeline: str
    sink: str
    state_dir: Path
    is_replay: bool = False

    @property
    def staging_name(self) -> str:
        """
        A name for what is staged, legal for a file.

        No other pipeline, sink or running process has it, so `Committer.recover` may remove all that is under it.
        """
        names = [self.pipeline, self.sink, *(["replay"] if self.is_replay else [])]
        return "+".join(quote(name, safe="") for name in names)


S = TypeVar("S", bound=SinkSettings)


class Sink(ABC, Generic[S]):
    """
    A destination of its own: events of one sink of a pipeline become durable somewhere that is no `Store`.

    A sink whose events become rows of a store is a `Mapper` of `sinks.mapping.mapper` instead, and has no halves.

    Constructed on the driver and in each worker process, without I/O; the halves do all the work. What a writer stages
    and a committer commits is told apart by `Batch.name` and `Batch.attempt`, which both halves know.
    """

    kind: ClassVar[str]
    stability: ClassVar[Stability] = Stability.STABLE
    examples: ClassVar[tuple[Example, ...]] = ()

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @classmethod
    def settings_class(cls) -> type[SinkSettings]:
        """The options of this sink."""
        return settings_class_of(cls, SinkSettings)

    def look(self, context: SinkContext) -> str:  # noqa: ARG002 - for sinks that can check something
        """
        Check that the destination can be written, for `ingest validate --connect`.

        Changes nothing, and returns within seconds: a user waits. The service may be running.

        Returns:
            What there is now, in a few words, such as `3 batches`.

        Raises:
            IngestError: a pipeline with this sink could not start or write now.
        """
        return "has nothing to check"

    @abstractmethod
    def writer(self, context: SinkContext) -> SinkWriter:
        """The half of a worker process; called once in each."""

    @abstractmethod
    def committer(self, context: SinkContext) -> Committer:
        """The half of the driver; called once for each run of the pipeline."""
