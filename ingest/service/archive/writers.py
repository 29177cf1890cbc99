"""The pipelines that write an archived table, beside a process that writes a version of it."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ingest.api import ConflictError, SinkContext
from ingest.config.model import Configuration
from ingest.durable import file_errors
from ingest.durable.lock import ProcessLock
from ingest.service.archived_tables import ArchivedTable, ArchiveSink
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.replay_lock import replay_lock
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import stored_name, stored_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.column_types import refuse_mixed_types
from sinks.archive.committing import recorded_writers
from sinks.archive.copying import Copied, Keeps, copy_parts
from sinks.archive.layout import WRITERS
from sinks.archive.rewrite import Rewrite

_POLL_S = 0.2
_ANSWER_TIMEOUT_S = 60.0
"""A running writer answers within ten seconds; a longer silence means that it runs without this sink."""
_UNFINISHED = "a micro-batch that is not acknowledged; resume or reload the pipeline if it is paused or has failed"


class NoArchiveAnswerError(ConflictError):
    """The pipeline does not answer a re-run or a join: it runs without the sink of the file, or has ended."""

    code = "archive_no_answer"
    remedy = "Restart the service with the present file, then start the command again."


class OtherArchiveWriterError(ConflictError):
    """An archive has a writer that is not in the file, or whose checkpoint is not in `state_dir`."""

    code = "archive_other_writer"
    remedy = "Run the command with the file, and in the working directory, of the service that writes."


class ArchiveUnacknowledgedError(ConflictError):
    """A re-run or a join: a pipeline has ended within a micro-batch."""

    code = "archive_unacknowledged"
    hint = "start the service, then run the command again beside it"


class PipelineWriter:
    """
    The pipeline of a sink, before and while another process writes a version.

    Construct it before the announcement of that version exists: what the pipeline has acknowledged until then is in the
    older version alone.

    Args:
        replays: the lock of its replays, which this process has.

    Raises:
        CheckpointError: the checkpoint is damaged.
        StoreUnavailableError: it cannot be read now.
    """

    def __init__(self, configuration: Configuration, sink: ArchiveSink, replays: ProcessLock) -> None:
        self.pipeline = sink.pipeline
        self.replays = replays
        self._file = configuration.path
        self.checkpoint = Checkpoint(checkpoint_folder(configuration, sink.pipeline.name))
        self.name = SinkContext(sink.pipeline.name, sink.name, configuration.local_dir).staging_name
        newest = self.checkpoint.newest_commit()
        acknowledged_ms = None if newest is None else stored_time(self.checkpoint.times_folder, newest)
        self._first_ms = 0 if acknowledged_ms is None else acknowledged_ms + 1

    def start_ms(
        self, rewrite: Rewrite, place: Place, result: Mapping[str, Any]
    ) -> Generator[Progress, None, int | None]:
        """
        Wait until all micro-batches are acknowledged that the writer does not write to the new version, and return the
        first batch time that it does; None if it does not run. Yields what it waits for.

        Args:
            rewrite: the new version.
            place: of the job that waits.
            result: of the job so far.

        Raises:
            ConflictError: `archive_no_answer`: it runs and does not answer, or it has answered and then ended within a
                micro-batch; or the job was cancelled.
        """
        waited_s = 0.0
        while True:
            answer = rewrite.answer(self.name)
            if answer is None and not self._is_running():
                answer = rewrite.answer(self.name)  # of a writer that has ended since
                if answer is None:
                    return None
            if answer is not None and not self._runs_before(answer.from_ms):
                return max(answer.from_ms, self._first_ms)
            if waited_s > _ANSWER_TIMEOUT_S and (answer is None or not self._is_running()):
                raise self._no_answer(has_answered=answer is not None)
            what = "the running pipeline" if answer is None else _UNFINISHED
            yield Progress(result=result, blocked=f"waits for {what}")
            place.cancellation.wait(_POLL_S)
            place.cancellation.check("wait for a pipeline")
            waited_s += _POLL_S

    def is_settled(self, rewrite: Rewrite) -> bool:
        """
        Whether each micro-batch is acknowledged, or will be written to the new version too.

        Raises:
            CheckpointError: the checkpoint is damaged.
            StoreUnavailableError: it cannot be read now.
        """
        # in this order: a writer that starts after the first look answers before it plans its next micro-batch
        answer = rewrite.answer(self.name)
        return not self._begun() if answer is None else not self._runs_before(answer.from_ms)

    def while_stopped(self, action: Callable[[], None]) -> None:
        """Call an action unless a process has the checkpoint, which exists; none can take it meanwhile."""
        try:
            self.checkpoint.lock()
        except ConflictError:
            return
        try:
            action()
        finally:
            self.checkpoint.unlock()

    def _no_answer(self, *, has_answered: bool) -> ConflictError:
        what, remedy = "runs and does not answer", "restart the service with this file"
        if has_answered:
            what = "has ended within a micro-batch"
        elif self.checkpoint.is_changed(self.pipeline.fingerprint):
            what = "runs as another file declares it, perhaps without this sink, and does not answer"
            remedy = f"load this file into the service with 'attr2hbase reload {self._file}'"
        return NoArchiveAnswerError(
            f'pipeline "{self.pipeline.name}" {what}',
            hint=f"{remedy}, then start the command again",
        )

    def _is_running(self) -> bool:
        """Whether a process has the checkpoint."""
        return self.checkpoint.exists and self.checkpoint.is_locked()

    def _runs_before(self, time_ms: int) -> bool:
        """
        Whether a micro-batch whose first time is earlier is not acknowledged: it may have files of that time, although
        a changed configuration gives it a later time.
        """
        names = (stored_name(self.checkpoint.times_folder, number) for number in self._begun())
        return any(int(first_ms) < time_ms for first_ms in names if first_ms is not None)

    def _begun(self) -> list[int]:
        """The micro-batches that have begun and are not acknowledged."""
        uncommitted = self.checkpoint.uncommitted()
        return [*([] if uncommitted is None else [uncommitted]), *self.checkpoint.unplanned()]


@contextmanager
def writers_of(configuration: Configuration, table: ArchivedTable) -> Iterator[list[PipelineWriter]]:
    """
    The writers of a table; no replay runs within the block, whose rows might be in the older version alone.

    Raises:
        ConflictError: a replay of one of the pipelines runs; or `archive_other_writer`: the table has another writer.
        IngestError: as `PipelineWriter`.
    """
    with ExitStack() as opened:
        pipelines = {sink.pipeline.name: sink.pipeline for sink in table.sinks}
        locks = {name: opened.enter_context(replay_lock(configuration, each)) for name, each in pipelines.items()}
        writers = [PipelineWriter(configuration, sink, locks[sink.pipeline.name]) for sink in table.sinks]
        _refuse_others(table, writers)
        yield writers


def _refuse_others(table: ArchivedTable, writers: Sequence[PipelineWriter]) -> None:
    """Refuse a table with a writer that this process cannot observe: it would not write to the new version."""
    with file_errors(table.root):
        names = recorded_writers(table.root)
    ours = {writer.name: writer for writer in writers}
    for name in names:
        writer = ours.get(name)
        if writer is not None and writer.checkpoint.exists:
            continue
        what = "has no checkpoint in `state_dir`" if writer is not None else "is not in the file"
        raise OtherArchiveWriterError(
            f'the writer "{name}" of "{table.root}" {what}',
            hint="run the command with the file, and in the working directory, of the service that writes; remove "
            f'"{WRITERS}/{name}.json" if that writer is gone for ever',
        )


def make_current(rewrite: Rewrite, writers: Iterable[PipelineWriter], *, is_kept: bool) -> None:
    """
    Make the new version current.

    Raises:
        ConflictError: `lease_lost`: another process has taken the lock of the replays; or as `Rewrite.finish`.
        StoreUnavailableError: the file system of the state does not answer.
    """
    for writer in writers:
        writer.replays.check()
    rewrite.finish(is_kept=is_kept)


def copy_current(
    rewrite: Rewrite,
    writers: Iterable[PipelineWriter],
    keeps: Keeps | None = None,
) -> Iterator[Copied]:
    """
    Copy rows of the current version into the new one, without the files that the writers have written to both; yields
    what was copied so far.

    Args:
        rewrite: the new version.
        writers: of the table; `start_ms` has returned for each.
        keeps: which rows; None for all.

    Raises:
        ArchiveCorruptError: the pointer or a file is damaged.
        ConflictError: `archive_columns_differ`; `archive_unacknowledged`: a pipeline has ended within a micro-batch; or
            `archive_moved`: there is a newer rewrite.
        OSError: of the file system.
    """
    partition = rewrite.partition
    current = partition.current()
    if current is None:
        yield Copied()
        return
    rewrite.check_newest()
    rewrite.copied_from = current
    # before the files are listed: a file that appears later is of a micro-batch that is written to both versions
    if not all(writer.is_settled(rewrite) for writer in writers):
        raise ArchiveUnacknowledgedError(
            f'a pipeline that writes "{partition.folder}" has ended within a micro-batch',
        )
    parts = partition.parts(current)
    written = partition.parts(rewrite.version_id)
    chosen = [(name, entry) for name, entry in parts.items() if name not in written]
    yield from copy_parts(partition, current, rewrite.version_id, chosen, keeps)
    refuse_mixed_types(partition, rewrite.version_id)
