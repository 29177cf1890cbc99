"""A source on the driver: whose checkpoint it fits, its frame, and what follows its acknowledged offsets."""

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ingest.api import ConfigError, IngestError, NotFoundError
from ingest.config.model import Pipeline
from ingest.observe.metrics import Metrics
from ingest.sources.files import FilesSource
from ingest.sources.kafka import KafkaSource
from ingest.spark.batch_time import BatchTimes
from ingest.spark.checkpoint import Checkpoint
from ingest.spark.reading import Frame, Session, read_files


class LiveSource(Protocol):
    """Order: `jars` before the session, `frame` before each start of the query, `close` once at the end."""

    @property
    def jars(self) -> list[Path]:
        """Jars for the session."""

    @property
    def java_properties(self) -> dict[str, str]:
        """System properties for the JVMs of the session."""

    def frame(self, session: Session) -> Frame:
        """
        The stream; checks first that the checkpoint is this source's.

        Raises:
            ConflictError: the checkpoint belongs to another source.
            NotFoundError: the source has no such topic, or the checkpoint is gone and the group is not.
            SourceUnavailableError: it can not be reached now.
        """

    def lost(self) -> IngestError | None:
        """Why what a running query reads is not what its checkpoint knows; None while nobody has found that."""

    def away(self) -> str | None:
        """Why nothing can be read now, once that has lasted for some seconds; None while it can."""

    def close(self) -> None:
        """Commit what was acknowledged and let go; fine without a frame."""


class LiveFiles:
    """Finished files; nothing follows their offsets."""

    def __init__(self, source: FilesSource, checkpoint: Checkpoint) -> None:
        self._source = source
        self._checkpoint = checkpoint

    @property
    def jars(self) -> list[Path]:
        """None: files are read in Python."""
        return []

    @property
    def java_properties(self) -> dict[str, str]:
        """None."""
        return {}

    def frame(self, session: Session) -> Frame:
        """
        The stream of lines.

        Raises:
            NotFoundError: the path names nothing and is no glob, so nothing will ever be found there.
        """
        path = Path(self._source.path)
        if not glob.has_magic(self._source.path) and not path.exists():
            raise NotFoundError(
                f'no file is at "{self._source.path}"',
                hint=f'paths are seen from the folder you start in, now "{Path.cwd()}"',
            )
        identity: Mapping[str, str] = {"source": "files", "path": str(Path(self._source.path).absolute())}
        self._checkpoint.claim(identity)
        return read_files(session, self._source)

    def lost(self) -> IngestError | None:
        """Never."""
        return None

    def away(self) -> str | None:
        """Never: reading fails at once."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""


def live_source(
    pipeline: Pipeline, checkpoint: Checkpoint, times: BatchTimes, start_from: str | None, metrics: Metrics
) -> LiveSource:
    """
    The source of a pipeline.

    Raises:
        ConfigError: `--start-from` has no meaning for it.
    """
    match pipeline.source.settings:
        case KafkaSource() as source:
            # here, so that a pipeline of files needs no Kafka client
            from ingest.service.kafka_source import LiveKafka

            return LiveKafka(pipeline, source, checkpoint, times, start_from, metrics)
        case FilesSource() as source:
            if start_from is not None:
                raise ConfigError(
                    f'pipeline "{pipeline.name}" reads files, which have no place to start from',
                    hint="leave --start-from out; a new checkpoint reads all files",
                )
            return LiveFiles(source, checkpoint)
        case other:
            raise ConfigError(f'the source of pipeline "{pipeline.name}" can not run: {type(other).__name__}')


def start_places(checkpoints: Mapping[str, Checkpoint], start_from: str | None) -> dict[str, str | None]:
    """
    What `--start-from` means for each pipeline of a file.

    It is for those that have lost their checkpoint; the others go on at theirs. Where all have one it was meant for
    none of them, and each refuses it.
    """
    fresh = {name for name, checkpoint in checkpoints.items() if not checkpoint.exists}
    return {name: start_from if name in fresh or not fresh else None for name in checkpoints}
