"""The task sink and the committer of a plugin: an unexpected exception names the sink and stops the pipeline."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from reprlib import repr as short
from typing import TypeVar

from ingest.api import (
    Batch,
    Committer,
    DryWrite,
    IngestError,
    Sink,
    SinkContext,
    SinkResult,
    SinkSettings,
    SinkWriter,
    TaskSink,
    TaskSpec,
    WriteCounts,
)
from ingest.api.errors import SinkFailedError
from ingest.config.model import Component
from ingest.observe.logs import logger
from ingest.plugins.guard import describe_exception, reraise_fatal

T = TypeVar("T")

_log = logger(__name__)


class PluginTaskSink(TaskSink):
    """
    The writer of a plugin's sink.

    Attributes:
        write: the plugin's own, as it is called for each event; an exception of it fails one event.
        event_calls: of the plugin.
    """

    def __init__(self, component: Component[SinkSettings], writer: SinkWriter) -> None:
        self._component = component
        self._writer = writer
        self.write = writer.write
        self.event_calls = tuple(_checked(writer.event_calls or (), Sequence))

    @property
    def has_splits(self) -> bool:
        """As the plugin's."""
        return self._writer.has_splits

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start a flush cycle."""
        with _named(self._component, "begin"):
            self._writer.begin(spec, prepared, counts)

    def split_start(self, rank: int) -> None:
        """Start a split."""
        with _named(self._component, "split_start"):
            self._writer.split_start(rank)

    def split_end(self) -> None:
        """End a split."""
        with _named(self._component, "split_end"):
            self._writer.split_end()

    def flush(self) -> SinkResult:
        """Make all events durable, or staged."""
        with _named(self._component, "flush"):
            result = _checked(self._writer.flush(), SinkResult)
            _checked(result.payload, bytes)
            return result

    def probe(self) -> bytes:
        """A small part of a blocked flush cycle."""
        with _named(self._component, "probe"):
            return _checked(self._writer.probe(), bytes)

    def abandon(self) -> None:
        """End a flush cycle that is not complete."""
        with _logged(self._component, "abandon"):
            self._writer.abandon()

    def close(self) -> None:
        """Release connections and files."""
        with _logged(self._component, "close"):
            self._writer.close()


class PluginCommitter(Committer):
    """Every call of a committer."""

    def __init__(self, component: Component[SinkSettings], committer: Committer) -> None:
        self._component = component
        self._committer = committer

    def recover(self) -> None:
        """Remove what was staged and not committed."""
        with _named(self._component, "recover"):
            self._committer.recover()

    def newest_batch_ms(self) -> int:
        """Time of the newest micro-batch."""
        with _named(self._component, "newest_batch_ms"):
            return _checked(self._committer.newest_batch_ms(), int)

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        """What the tasks get."""
        with _named(self._component, "prepare"):
            return _checked(self._committer.prepare(batch, requests), bytes)

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Make the results durable and visible."""
        with _named(self._component, "commit"):
            self._committer.commit(batch, results)

    def abort(self, batch: Batch) -> None:
        """Remove what an attempt staged."""
        with _logged(self._component, "abort"):
            self._committer.abort(batch)

    def probe(self, payload: bytes, timeout_s: float) -> None:
        """Try a part of a blocked batch."""
        with _named(self._component, "probe"):
            self._committer.probe(payload, timeout_s)

    def stop_probe(self) -> None:
        """End a probe that waits."""
        with _logged(self._component, "stop_probe"):
            self._committer.stop_probe()

    def close(self) -> None:
        """Release connections and files."""
        with _logged(self._component, "close"):
            self._committer.close()


def task_sink_of(component: Component[SinkSettings], sink: Sink[SinkSettings], context: SinkContext) -> PluginTaskSink:
    """
    The writer of a plugin.

    Raises:
        SinkFailedError: it cannot be created.
    """
    with _named(component, "writer"):
        return PluginTaskSink(component, _checked(sink.writer(context), SinkWriter))


def committer_of(component: Component[SinkSettings], sink: Sink[SinkSettings], context: SinkContext) -> Committer:
    """
    The committer of a plugin.

    Raises:
        SinkFailedError: it cannot be created.
    """
    with _named(component, "committer"):
        return PluginCommitter(component, _checked(sink.committer(context), Committer))


def dry_write_of(component: Component[SinkSettings], sink: Sink[SinkSettings]) -> DryWrite | None:
    """
    What a plugin would write for an event; None if it does not say.

    Raises:
        SinkFailedError: the call failed.
    """
    with _named(component, "dry_run"):
        return sink.dry_run()


def check_sink(component: Component[SinkSettings], sink: Sink[SinkSettings], context: SinkContext) -> str:
    """
    Check that the destination can be written.

    Raises:
        IngestError: a pipeline with this sink could not start or write now.
    """
    with _named(component, "check"):
        return _checked(sink.check(context), str)


@contextmanager
def _named(component: Component[SinkSettings], call: str) -> Iterator[None]:
    try:
        yield
    except IngestError:
        raise
    except BaseException as bug:
        module = component.path.partition(":")[0]
        reraise_fatal(bug, component.name, module, component.provider)
        about = describe_exception(bug, module, component.provider)
        raise SinkFailedError(f'"{component.name}" ({component.location}): {call}: {about}') from bug


@contextmanager
def _logged(component: Component[SinkSettings], call: str) -> Iterator[None]:
    """Log a failure of a call that nothing depends on."""
    try:
        with _named(component, call):
            yield
    except IngestError as error:
        _log.warning("a sink could not clean up", sink=component.name, reason=str(error))


def _checked(answer: T, kind: type[object]) -> T:
    if not isinstance(answer, kind):
        raise TypeError(f"it returned {short(answer)}; it must return {kind.__name__}")
    return answer
