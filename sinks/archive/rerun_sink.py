"""The sink of a re-run: the rows of one partition, into a version that the process writes beside the pipeline."""

from collections.abc import Sequence

from ingest.api import Batch, Committer, Event, Sink, SinkContext, SinkResult, SinkWriter, TaskSpec, WriteCounts
from ingest.api.reasons import drop_reason
from ingest.durable import file_errors
from sinks.archive.columns import columns_of, row_maker
from sinks.archive.event_times import NO_LIMIT_MS, EventTimes, FoldersByHour
from sinks.archive.layout import PartitionRule, PartName, staging_folder, writer_digits
from sinks.archive.partition import Partition
from sinks.archive.sink import ArchiveSettings
from sinks.archive.staging import place, unpack
from sinks.archive.task_writer import ArchiveWriter
from sinks.files.root import Root

OTHER_PARTITION = drop_reason(
    "other_partition",
    "A re-run of an archive leaves events of other partitions.",
    "Nothing; these events are in their own partitions.",
)
"""The reason why events of other partitions are dropped."""


class RerunSettings(ArchiveSettings):
    """Options of the sink whose partition is written again, and which partition that is."""

    value: str
    version_id: int


class RerunSink(Sink[RerunSettings]):
    """Write the rows of a partition into a version of its own."""

    kind = "archive"

    def writer(self, context: SinkContext) -> SinkWriter:
        """Writes the files of a task."""
        settings = self.settings
        inner = ArchiveWriter(
            settings.open_table(),
            settings.rule,
            settings.format,
            columns_of(settings.columns),
            row_maker(settings.columns),
            # a re-run is how late and early events come into their partition
            EventTimes(NO_LIMIT_MS, NO_LIMIT_MS, keeps_no_time=True),
            context.max_event_bytes,
        )
        return PartitionWriter(inner, settings.rule, settings.value)

    def committer(self, context: SinkContext) -> Committer:
        """Moves the files of a micro-batch into the version."""
        settings = self.settings
        partition = Partition(settings.open_table(), settings.rule.folder_of(settings.value))
        return RerunCommitter(partition, settings.version_id, f"{context.staging_name}+rerun", settings.format.suffix)


class PartitionWriter(SinkWriter):
    """
    Writes the rows of one partition.

    Args:
        inner: writes the files.
        rule: names the partitions.
        value: of the partition.
    """

    def __init__(self, inner: ArchiveWriter, rule: PartitionRule, value: str) -> None:
        self._inner = inner
        self._folders = FoldersByHour(rule)
        self._folder = rule.folder_of(value)

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start the file of a task."""
        self._inner.begin(spec, prepared, counts)

    def write(self, event: Event) -> str | None:
        """Buffer the row of an event, unless it is of another partition."""
        if self._folders.folder_of(event.timestamp_ms) != self._folder:
            return OTHER_PARTITION
        self._inner.write(event)
        return None

    def flush(self) -> SinkResult:
        """Make the file durable, and report it."""
        return self._inner.flush()

    def close(self) -> None:
        """Discard what is not flushed."""
        self._inner.close()


class RerunCommitter(Committer):
    """
    Moves files from the staging folder into a version that no reader reads yet; each step may be repeated.

    Args:
        partition: that has the version.
        version_id: of the version.
        writer: names the staging folder; of the re-runs of one sink, which run one at a time.
        suffix: end of the names of the files.
    """

    def __init__(self, partition: Partition, version_id: int, writer: str, suffix: str) -> None:
        self._partition = partition
        self._version_id = version_id
        self._writer = writer
        self._suffix = suffix

    def recover(self) -> None:
        """Remove what a killed re-run has staged."""
        self._remove_staged()

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - tasks make no requests
        """The staging folder of the attempt."""
        return staging_folder(self._writer, batch.attempt).encode()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Move the files of all tasks into place."""
        root = self._root
        digits = writer_digits(f"{self._writer}+{self._version_id}", batch.name)
        with file_errors(root):
            for rank, result in enumerate(results):
                name = str(PartName(batch.time_ms, rank, digits, self._suffix))
                target = self._partition.path(self._version_id, name)
                for staged in unpack(result):
                    place(root, staged.path, [target])
            root.remove_tree(staging_folder(self._writer, batch.attempt))

    def abort(self, batch: Batch) -> None:
        """Remove the files of an attempt."""
        with file_errors(self._root):
            self._root.remove_tree(staging_folder(self._writer, batch.attempt))

    def close(self) -> None:
        """Remove the staging folder."""
        self._remove_staged()

    def _remove_staged(self) -> None:
        with file_errors(self._root):
            self._root.remove_tree(staging_folder(self._writer))

    @property
    def _root(self) -> Root:
        return self._partition.root
