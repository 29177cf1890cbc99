"""Sources on the driver: what each pipeline's is made with, files, and where a start without a checkpoint begins."""

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
from ingest.sources.files import FilesSourceSettings, files_at
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint

if TYPE_CHECKING:  # `describe` shows this source and needs no Spark
    from ingest.spark.streaming.reading import Frame, Session


@dataclass(frozen=True, slots=True)
class DriverContext(SourceContext):
    """
    What built-in sources know beyond the contract.

    Attributes:
        checkpoint: the positions, and the folder they stand in.
        times: of the pipeline's batches.
    """

    checkpoint: Checkpoint
    times: BatchTimes
    metrics: Metrics


class FilesSource(Source[FilesSourceSettings]):
    r"""
    Read finished files, a line an event; plain or gzip.

    An event is identified by the path of its file (`%{topic}`) and its byte offset in it (`%{offset}`); its time is the
    file's time of change. Both are noted when the file is discovered, so a replay gives the same. A file that changes
    afterwards is refused, until it has its old bytes and time again; one that was read to its end may be moved away.
    The next batch forgets it, unless it leaves an empty folder, but for a note of its path: a file that is found there
    later, a new one or the same one put back, is refused, as its events would be written over those of the first. The
    notes of the last 10,000 files are kept; a file at an older path is read, and does write over. So an export that is
    made anew each day needs the day in its name.

    In the topic a byte of the path that is not UTF-8 stands as `\xe9`, and a path that has such text in its name gets
    the backslash doubled, so each file has a topic of its own.
    """

    kind = "files"
    examples = (
        Example("every log of a folder", settings="{path: '/var/log/app/*.log.gz'}"),
        Example("lines that hold JSON envelopes", settings="{path: ./data, format: json}"),
    )

    @classmethod
    def look(cls, settings: FilesSourceSettings) -> str:
        """How many files there are."""
        count = len(files_at(settings.path))
        if not count:
            raise NotFoundError(f'no file is at "{settings.path}"', hint="paths are seen from the folder you are in")
        return f"{count} file{'' if count == 1 else 's'}"

    def identity(self) -> Mapping[str, str]:
        """The absolute path."""
        path = Path(self.settings.path)
        if not glob.has_magic(self.settings.path) and not path.exists():
            raise NotFoundError(
                f'no file is at "{self.settings.path}"',
                hint=f'paths are seen from the folder you start in, now "{Path.cwd()}"',
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
    The source of a pipeline; nothing is reached yet.

    Raises:
        CatalogError: it is of a plugin and cannot be made.
        ConfigError: `--start-from` has no meaning for it.
    """
    component = catalog.load("sources", pipeline.source.kind)
    if start_from is not None and not component.takes_start:
        raise ConfigError(
            f'pipeline "{pipeline.name}" reads {pipeline.source.kind}, which have no place to start from',
            hint="leave --start-from out; a new checkpoint reads all there is",
        )
    context = DriverContext(
        pipeline.name, pipeline.timezone, start_from, checkpoint, checkpoint=checkpoint, times=times, metrics=metrics
    )
    return assemble.live_source(pipeline.source, context, catalog)


def start_places(checkpoints: Mapping[str, Checkpoint], start_from: str | None) -> dict[str, str | None]:
    """
    What `--start-from` means for each pipeline of a file.

    It is for those that have lost their checkpoint; the others resume at theirs. Where all have one it was meant for
    none of them, and each refuses it. One that cannot be read is taken for lost.
    """
    fresh = {name for name, checkpoint in checkpoints.items() if not _exists(checkpoint)}
    return {name: start_from if name in fresh or not fresh else None for name in checkpoints}


def _exists(checkpoint: Checkpoint) -> bool:
    try:
        return checkpoint.exists
    except OSError:
        # its pipeline cannot start, and the attempt to lock it says why; the others start where they would with it
        return False
