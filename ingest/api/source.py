"""The contract of every source: Kafka, files and those of plugins."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from ingest.api.component import ComponentBase
from ingest.api.errors import IngestError
from ingest.api.event import RecordPlace
from ingest.api.settings import Model

RECORD_SCHEMA = (
    "topic string, partition int, offset long, key binary, value binary, timestamp_ms long, "
    "headers array<struct<key: string, value: binary>>"
)
"""The columns of a source's frame, as Spark writes a schema: `Record` field by field; key and value may be null."""


DEFAULT_EVENT_BYTES = 1 << 20
MAX_EVENT_BYTES = 64 << 20
"""A task holds an event several times; Kafka, too, is made for small records."""


class Format(StrEnum):
    """The format of an event in a record's value."""

    RAW = "raw"
    JSON = "json"
    FLUME_AVRO = "flume_avro"


class OffsetUnit(StrEnum):
    """What the offsets of a source count."""

    RECORDS = "records"
    """The records of a partition: the next one has the next offset, unless the source has removed it."""
    BYTES = "bytes"
    """The bytes of a file, of which each line is a record."""


class Tombstones(StrEnum):
    """The action for records without a value."""

    DROP = "drop"
    ERROR = "error"
    DELETE = "delete"
    KEEP = "keep"


class Encoding(StrEnum):
    """The encoding of lines; `utf8` stands for all that contain ASCII, whose bytes are not changed."""

    UTF8 = "utf8"
    UTF16LE = "utf-16le"
    UTF16BE = "utf-16be"


class RepeatedHeaders(StrEnum):
    """The value of an attribute whose name several headers of a record have."""

    FIRST = "first"
    JOIN = "join"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Decoding:
    """
    How a source's records become events.

    Attributes:
        max_event_bytes: largest value of a record.
        has_unread: whether a record without a value stands for records that could not be read, if it has headers. Only
            for a source whose own records have none.
        on_repeated_header: which value of repeated headers counts.
        header_separator: between the values that `join` joins.
        headers: names of the headers of a record that are read; None for all.
        encoding: of the values, which become UTF-8.
    """

    format: Format = Format.RAW
    max_event_bytes: int = DEFAULT_EVENT_BYTES
    tombstones: Tombstones = Tombstones.DROP
    has_unread: bool = False
    on_repeated_header: RepeatedHeaders = RepeatedHeaders.LAST
    header_separator: str = ","
    headers: frozenset[str] | None = None
    encoding: Encoding = Encoding.UTF8


class SourceSettings(Model):
    """Options of a source. Callers use the properties and methods below, never an option by its name."""

    @property
    def decoding(self) -> Decoding:
        """How its records become events; by default the value is the body."""
        return Decoding()

    @property
    def summary(self) -> str:
        """What it reads, in a few words, for drawings; "" if the kind is enough."""
        return ""

    @property
    def line_files(self) -> str | None:
        """A file, a folder or a glob whose lines are the records; None for all other sources."""
        return None

    @property
    def topics_by_name(self) -> tuple[str, ...]:
        """Kafka topics that the options name one by one."""
        return ()

    def reads_topic(self, topic: str) -> bool:  # noqa: ARG002 - for sources that read Kafka
        """Whether the source reads this topic of its Kafka cluster."""
        return False

    @property
    def consumer_group(self) -> tuple[str, str] | None:
        """Brokers and name of the Kafka consumer group that it commits offsets to; None without one."""
        return None

    @property
    def has_headers(self) -> bool:
        """Whether its records may have headers, which become attributes."""
        return True

    @property
    def has_record_times(self) -> bool:
        """Whether each record has a timestamp of its own; False if all records of a topic have the same one."""
        return True

    @property
    def has_unique_nanos(self) -> bool:
        """Whether `%{nanos}` is unique within a topic, for up to 10,000 records of a partition and millisecond."""
        return True

    @property
    def fixed_names(self) -> frozenset[str]:
        """Core names, such as `partition` or `key`, that are the same for every event."""
        return frozenset()

    @property
    def read_again_by(self) -> OffsetUnit | None:
        """
        What the offsets count by which `attr2hbase dead-letters replay` can read records again; None if it cannot.

        Only if it can, a dead letter may have the place of its records in place of their bytes. A replay can read those
        of the built-in sources; a plugin leaves it at None.
        """
        return None

    @property
    def has_batch_log(self) -> bool:
        """
        Whether the time and the offsets of each durable micro-batch are logged, so that `attr2hbase replay` can run it.

        Only Kafka's offsets can be logged; a plugin leaves it at False.
        """
        return False

    @property
    def max_records_per_batch(self) -> int | None:
        """Maximum number of records of one micro-batch; None without a limit."""
        return None

    @property
    def keeps_batch_times(self) -> bool:
        """Whether the newest batch time is also stored outside the checkpoint, as in a consumer group."""
        return False

    def java_properties(self) -> dict[str, str]:
        """
        System properties that the Java processes of Spark need before they start.

        If pipelines need several values of one property, it gets them joined with commas.
        """
        return {}


class Positions(Protocol):
    """
    The positions of a pipeline in Spark's checkpoint; read-only.

    A batch is a number from 0. An offset is the JSON that the source's reader returned to Spark for it.
    """

    @property
    def exists(self) -> bool:
        """Whether a query has written to this checkpoint."""

    def newest_commit(self) -> int | None:
        """Number of the newest acknowledged batch; None before the first one."""

    def end_offsets(self, batch_id: int) -> dict[str, object]:
        """
        The end of a batch, for a reader whose offset is a JSON object.

        Raises:
            CheckpointError: the file is damaged, or the offset is no object.
        """


@dataclass(frozen=True, slots=True)
class SourceContext:
    """
    The pipeline of a source.

    Attributes:
        pipeline: its name.
        timezone: of its times without an offset from UTC.
        start_from: `attr2hbase run --start-from`, for a pipeline without a checkpoint; None to use the options.
        positions: its positions.
        max_records: maximum number of records of a micro-batch under the pipeline's `max_rate`; None without one. A
            source that cannot limit its micro-batches ignores it: the pipeline then waits longer after each.
        resume_at: the offset at which a query without an acknowledged batch starts, in the form of
            `Positions.end_offsets`, since the tables of the pipeline are complete up to there; None to start elsewhere.
    """

    pipeline: str
    timezone: str
    start_from: str | None
    positions: Positions
    max_records: int | None = field(default=None, kw_only=True)
    resume_at: Callable[[], Mapping[str, object] | None] = field(default=lambda: None, kw_only=True)


S = TypeVar("S", bound=SourceSettings)


class Source(ComponentBase[S]):
    """
    Records in a fixed order, each with a place that never changes, as a streaming DataFrame of Spark.

    A source lives on the driver. Order: constructed (no I/O), then before each start of the query `check_clock`,
    `identity` and `frame`; `data_loss` and `unavailable` while a query runs; `close` once, also
    without a frame. Called by one thread at a time, except for `splits`, which the thread of the query calls.

    The frame has the columns of `RECORD_SCHEMA`. Spark requests offsets from the reader and reads the records between
    two offsets. Between the same two offsets a reader always returns the same records, in the same order, with the same
    timestamps. Topic, partition and offset identify a record for ever: no two records have the same, and offsets rise
    within a topic and partition.

    A split is the part of a micro-batch that one reader reads in order: a Kafka partition, or one range of a file. A
    split has one topic and one partition, and its offsets rise. A task may read several splits one after the other: a
    change of topic or partition starts the next split. Two splits of one topic and partition, such as two ranges of a
    file, count as one split if a task reads them directly after each other, unless the sinks need the ranks of the
    splits (`splits`).

    Spark keeps the positions and acknowledges a batch in its checkpoint; a source acknowledges nothing itself. It may
    copy positions elsewhere, as the Kafka source commits them to the consumer group. It never skips records silently:
    positions that its system no longer has are an error, when a query starts (`frame`) and while it runs (`data_loss`).

    Attributes:
        supports_start: whether the source supports `start_from`; all others refuse it.
        supports_resume_at: whether the source supports `SourceContext.resume_at`, which tables with deferred updates
            need.
        resume_from: the `start_from` that resumes at the acknowledged positions without the checkpoint; None without
            such a copy of the positions.
        changed_identity: name of a part of the identity -> how a pipeline with a checkpoint goes on although this part
            has changed, for hints.
    """

    settings_base = SourceSettings
    supports_start: ClassVar[bool] = False
    supports_resume_at: ClassVar[bool] = False
    resume_from: ClassVar[str | None] = None
    changed_identity: ClassVar[Mapping[str, str]] = {}

    def __init__(self, settings: S, context: SourceContext) -> None:
        super().__init__(settings)
        self.context = context

    @classmethod
    def jars(cls) -> list[Path]:
        """
        Jars that Spark needs to read it; missing ones are downloaded.

        Raises:
            NotFoundError: they are missing and cannot be downloaded.
        """
        return []

    @classmethod
    def check(cls, settings: S) -> str:  # noqa: ARG003 - for sources that can report it
        """
        What there is to read now, in a few words, such as `2 topics, 6 partitions`; for `attr2hbase validate
        --connect`.

        Raises:
            NotFoundError: nothing that the options name exists.
            SourceUnavailableError: the source does not answer.
        """
        return "not checked: this source cannot report it"

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """
        The system that the positions belong to, by keys such as `topics` and `cluster`.

        The checkpoint refuses another identity. Not empty, and the same for the same options and system. The caller
        adds the kind.

        Raises:
            NotFoundError: there is no position to start from.
            SourceUnavailableError: it cannot be reached now; the caller waits and tries again.
        """

    @abstractmethod
    def frame(self, session: Any) -> Any:
        """
        The stream of records; called after the checkpoint has accepted the identity.

        Args:
            session: the `SparkSession`; `session.readStream` starts a frame, so a source need not import Spark.

        Returns:
            A streaming `DataFrame` with the columns of `RECORD_SCHEMA`.

        Raises:
            NotFoundError: nothing that the options name exists.
            PositionLostError: the system no longer has the records after the positions.
            SourceUnavailableError: it cannot be reached now; the caller waits and tries again.
        """

    def check_clock(self) -> None:
        """
        Compare the driver's clock with the system's, before it gives micro-batches their times; a start calls it first.

        Raises:
            ConflictError: the driver's clock is more than a day ahead.
            SourceUnavailableError: the system does not answer now; the caller waits and tries again.
        """

    def splits(self, batch_id: int) -> Iterable[RecordPlace] | None:  # noqa: ARG002 - for sources that can compute it
        """
        The first place of each split of a micro-batch; None if the source cannot compute them.

        Called only if a sink needs the ranks of the splits, before the tasks of the micro-batch. A source computes them
        from the offsets of the micro-batch and of the one before (`SourceContext.positions`), so they are the same for
        each attempt, also after a restart.

        A place is the topic, the partition and an offset that is not above that of the first record, and is above those
        of all earlier splits of the partition. A split without records may be included. One input partition of Spark
        reads a split as a whole.

        Args:
            batch_id: its number; its end is in `Positions.end_offsets`.

        Raises:
            CheckpointError: the checkpoint is damaged.
            StoreUnavailableError: the checkpoint cannot be read now.
        """
        return None

    def data_loss(self) -> IngestError | None:
        """
        The error that stops the pipeline if a running query skips records after its positions; None if it does not.

        Returns at once what another thread has found.
        """
        return None

    def unavailable(self) -> str | None:
        """Why the source has been unreadable for some seconds; None while it can be read. Returns at once."""
        return None

    def close(self) -> None:
        """Release all resources within seconds; raises nothing if the system does not answer."""
