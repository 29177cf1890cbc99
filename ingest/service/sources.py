"""Sources on the driver: their context, how they are opened, and where they start without a checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import ConfigError, IngestError, Source, SourceContext
from ingest.catalog import Catalog
from ingest.config.model import Pipeline
from ingest.observe.metrics import Metrics
from ingest.plan import assemble
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import READS_ALL, Checkpoint, Restart


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


def open_source(  # noqa: PLR0913 - the fields of a context
    catalog: Catalog,
    pipeline: Pipeline,
    checkpoint: Checkpoint,
    times: BatchTimes,
    start_from: str | None,
    metrics: Metrics,
    *,
    max_records: int | None = None,
    resume_at: Callable[[], Mapping[str, object] | None] = lambda: None,
) -> Source[Any]:
    """
    The source of a pipeline; not yet connected. Arguments as in its context; `start_from` is for a source without a
    checkpoint, and is left out for one that has it.

    Raises:
        CatalogError: the source of a plugin cannot be created.
        ConfigError: the source does not support `--start-from`.
    """
    component = catalog.load("sources", pipeline.source.kind)
    if start_from is not None and not component.supports_start:
        raise ConfigError(
            f'source "{pipeline.source.kind}" of pipeline "{pipeline.name}" does not support --start-from',
            hint="omit it; a new checkpoint reads everything",
        )
    context = DriverContext(
        pipeline.name,
        pipeline.timezone,
        start_from if start_from is None or not checkpoint.exists else None,
        checkpoint,
        max_records=max_records,
        resume_at=resume_at,
        checkpoint=checkpoint,
        times=times,
        metrics=metrics,
    )
    return assemble.live_source(pipeline.source, context, catalog)


def identity_of(source: Source[Any]) -> dict[str, str]:
    """
    What the positions of a source belong to, as a checkpoint stores it.

    Raises:
        IngestError: as `Source.identity`.
    """
    return {"source": source.kind} | dict(source.identity())


def restart_of(source: type[Source[Any]]) -> Restart:
    """How pipelines that read a source start without their checkpoint."""
    if not source.supports_start:
        return READS_ALL
    anew = "run 'attr2hbase run --start-from POSITION'"
    if source.resume_from is None:
        return Restart(resume=anew, anew=anew)
    resume = f"run 'attr2hbase run --start-from {source.resume_from}', which resumes at the acknowledged positions"
    return Restart(resume, anew)


def start_positions(checkpoints: Mapping[str, Checkpoint], start_from: str | None) -> dict[str, str | None]:
    """
    The value of `--start-from` for each pipeline of a file.

    It applies to pipelines without a checkpoint; the others resume at theirs. If all have a checkpoint, it is passed to
    all, so that those whose sources have no such positions refuse it. A checkpoint that cannot be read counts as
    missing.
    """
    fresh = without_checkpoint(checkpoints)
    return {name: start_from if name in fresh or not fresh else None for name in checkpoints}


def without_checkpoint(checkpoints: Mapping[str, Checkpoint]) -> set[str]:
    """Names of the pipelines that have not started yet; a checkpoint that cannot be read counts as missing."""
    return {name for name, checkpoint in checkpoints.items() if not _exists(checkpoint)}


def _exists(checkpoint: Checkpoint) -> bool:
    try:
        return checkpoint.exists
    except IngestError:
        # its pipeline fails when it locks the checkpoint, with the reason; the others start as they would without it
        return False
