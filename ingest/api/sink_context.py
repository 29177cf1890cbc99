"""The place of a sink in its pipeline."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ingest.api.source import DEFAULT_EVENT_BYTES, SourceSettings


@dataclass(frozen=True, slots=True)
class SinkContext:
    """
    The place of a sink in a pipeline.

    Attributes:
        pipeline: its name.
        sink: name of the sink, unique in its pipeline.
        state_dir: the service's folder for state, absolute; other machines may not have it.
        is_replay: whether dead letters or a time range are replayed; the service may run at the same time.
        check_owner: for the committer's work between micro-batches; before each call of the committer the service
            checks it. It raises an IngestError once another driver has taken the pipeline, and while that is unknown.
        max_event_bytes: of the source. The events that a fan-out makes of a record share what they hold in memory, and
            may write it thousands of times: a writer that stores bodies or large attributes limits it by record.
        source: options of the source, for `Sink.committer` and `Sink.check`; None for a writer.
    """

    pipeline: str
    sink: str
    state_dir: Path
    is_replay: bool = False
    check_owner: Callable[[], None] = field(default=lambda: None, compare=False)
    max_event_bytes: int = DEFAULT_EVENT_BYTES
    source: SourceSettings | None = None

    @property
    def staging_name(self) -> str:
        """
        A file name for staged data.

        It is unique among pipelines, sinks and running processes, so `Committer.recover` may remove all files under it.
        """
        names = [self.pipeline, self.sink, *(["replay"] if self.is_replay else [])]
        return "+".join(quote(name, safe="") for name in names)
