"""Sources on the driver: their context, the files source, and the start position without a checkpoint."""

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.api import ConfigError, Example, NotFoundError, Source, SourceContext
from ingest.catalog import Catalog
from ingest.config.model import Pipeline
from ingest.observe.metrics import Metrics
from ingest.plan import assemble
from ingest.sources.files import FilesSourceSettings
from ingest.sources.lines import files_at
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import READS_ALL, Checkpoint, Restart

if TYPE_CHECKING:  # `describe` shows this source and needs no Spark
    from ingest.spark.streaming.reading import Frame, Session


@dataclass(frozen=True, slots=True)
class DriverContext(SourceContext):
    """
    The context of built-in sources, with more than the public contract.

    Attributes:
        checkpoint: positions of the pipeline, and their folder.
        times: batch times of the pipeline.
    """

    checkpoint: Checkpoint
    times: BatchTimes
    metrics: Metrics


class FilesSource(Source[FilesSourceSettings]):
    r"""
    Read complete files, one event per line; plain text or gzip.

    An event is identified by the path of its file (`%{topic}`) and its byte offset in the file (`%{offset}`); its time
    is the file's modification time. Both are stored when the file is discovered, so a replay yields the same events. A
    file that changes after that is refused until its old content and time are restored.

    A file that was read to its end may be moved away. The next batch records its removal, unless the folder is empty,
    since then its disk may not be mounted. From then on a file at this path is refused, new or restored, because its
    events would overwrite those of the first. The last 10,000 removals are stored; a file at an older path is read,
    and its events do overwrite. A daily export therefore needs the date in its file name.

    In `%{topic}`, a byte of the path that is not UTF-8 is written as `\xe9`, and a backslash before such text is
    doubled, so every file has a topic of its own.
    """

    kind = "files"
    examples = (
        Example("all log files of a folder", settings="{path: '/var/log/app/*.log.gz'}"),
        Example("lines that are JSON envelopes", settings="{path: ./data, format: json}"),
    )

    @classmethod
    def check(cls, settings: FilesSourceSettings) -> str:
        """The number of files."""
        count = len(dict(files_at(settings.path)))
        if not count:
            raise NotFoundError(
                f'there is no file at "{settings.path}"', hint="relative paths start at the current folder"
            )
        return f"{count} file{'' if count == 1 else 's'}"

    def identity(self) -> Mapping[str, str]:
        """The absolute path."""
        path = Path(self.settings.path)
        if not glob.has_magic(self.settings.path) and not path.exists():
            raise NotFoundError(
                f'there is no file at "{self.settings.path}"',
                hint=f'relative paths start at the current folder, "{Path.cwd()}"',
            )
        return {"path": str(path.absolute())}

    def frame(self, session: "Session") -> "Frame":
        """The stream of lines."""
        from ingest.spark.streaming.reading import read_files

        return read_files(session, self.settings)


def live_source(
    catalog: Catalog,
    pipeline: Pipeline,
    checkpoint: Checkpoint,
    times: BatchTimes,
    start_from: str | None,
    metrics: Metrics,
) -> Source[Any]:
    """
    The source of a pipeline; not yet connected.

    Raises:
        CatalogError: the source of a plugin cannot be created.
        ConfigError: the source does not support `--start-from`.
    """
    component = catalog.load("sources", pipeline.source.kind)
    if start_from is not None and not component.takes_start:
        raise ConfigError(
            f'source "{pipeline.source.kind}" of pipeline "{pipeline.name}" does not support --start-from',
            hint="omit it; a new checkpoint reads everything",
        )
    context = DriverContext(
        pipeline.name, pipeline.timezone, start_from, checkpoint, checkpoint=checkpoint, times=times, metrics=metrics
    )
    return assemble.live_source(pipeline.source, context, catalog)


def restart_of(source: type[Source[Any]]) -> Restart:
    """How pipelines that read a source start without their checkpoint."""
    if not source.takes_start:
        return READS_ALL
    anew = "run 'ingest run --start-from POSITION'"
    if source.resume_from is None:
        return Restart(resume=anew, anew=anew)
    resume = f"run 'ingest run --start-from {source.resume_from}', which resumes at the acknowledged positions"
    return Restart(resume, anew)


def start_positions(checkpoints: Mapping[str, Checkpoint], start_from: str | None) -> dict[str, str | None]:
    """
    The value of `--start-from` for each pipeline of a file.

    It applies to pipelines without a checkpoint; the others resume at theirs. If all have a checkpoint, it applies to
    all, and each refuses it. A checkpoint that cannot be read counts as missing.
    """
    fresh = {name for name, checkpoint in checkpoints.items() if not _exists(checkpoint)}
    return {name: start_from if name in fresh or not fresh else None for name in checkpoints}


def _exists(checkpoint: Checkpoint) -> bool:
    try:
        return checkpoint.exists
    except OSError:
        # its pipeline fails when it locks the checkpoint, with the reason; the others start as they would without it
        return False
