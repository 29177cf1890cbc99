"""Builds the pipelines of a service at its start, each on its locked checkpoint."""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from ingest.api import CatalogError, ConfigError, Disposition, IngestError
from ingest.durable.files import StateUnavailableError
from ingest.observe.logs import logger
from ingest.plan.plan import Plan
from ingest.service.building import builder, checkpoint_of, report_unbuilt
from ingest.service.pipeline import LivePipeline
from ingest.service.shared import Shared
from ingest.service.sources import start_positions, without_checkpoint
from ingest.service.state_wait import StateWait
from ingest.spark.streaming.checkpoint import Checkpoint

_log = logger(__name__)


def build_pipelines(
    shared: Shared, plans: Mapping[str, Plan], start_from: str | None, wait: StateWait, opened: ExitStack
) -> tuple[list[LivePipeline], dict[str, BaseException]]:
    """
    Build the pipelines of a service; one that cannot start leaves the others.

    Args:
        shared: resources of all pipelines.
        plans: by the name of the pipeline.
        start_from: `run --start-from`.
        wait: for state on a cluster that does not answer.
        opened: closes the pipelines.

    Returns:
        The pipelines that can start, and why the others cannot, by name.

    Raises:
        ConfigError: an option is invalid.
        CatalogError: a component cannot be imported or created.
        StartStoppedError: the service is stopped while it waits.
    """
    checkpoints = {name: checkpoint_of(shared, shared.configuration.pipelines[name]) for name in plans}
    positions = wait.result(partial(start_positions, checkpoints, start_from), plans)
    _note_resumed(checkpoints, start_from, wait)
    for checkpoint in checkpoints.values():
        opened.callback(checkpoint.unlock)
    refused = _lock(checkpoints, wait)
    pipelines: list[LivePipeline] = []
    unbuilt: dict[str, BaseException] = {}
    answers = True
    for name, plan in plans.items():
        try:
            if name in refused:
                raise refused[name]
            pipeline = wait.result(builder(shared, plan, positions[name], checkpoints[name]), [name])
            opened.callback(pipeline.close)
            # one that does not answer delays the start of Spark once, and not for each pipeline
            answers = answers and wait.result(partial(_answers, pipeline, once=shared.once), [name])
        except (ConfigError, CatalogError):
            raise
        except IngestError as error:
            unbuilt[name] = error
            report_unbuilt(shared, name, error)
        else:
            pipelines.append(pipeline)
    return pipelines, unbuilt


def _answers(pipeline: LivePipeline, *, once: bool) -> bool:
    """
    Whether the source of a pipeline that was built answers now.

    Raises:
        IngestError: the pipeline cannot start, and is closed.
    """
    try:
        pipeline.check_source()
    except IngestError as error:
        if once or error.disposition is not Disposition.RETRY:
            pipeline.close()
            raise
        _log.warning("not available yet", what=f'source of pipeline "{pipeline.name}"', reason=str(error))
        return False
    return True


def _note_resumed(checkpoints: Mapping[str, Checkpoint], start_from: str | None, wait: StateWait) -> None:
    """Say which pipelines resume at their checkpoints, as those of a unit that always starts with `--start-from` do."""
    if start_from is None:
        return
    fresh = wait.result(partial(without_checkpoint, checkpoints), checkpoints)
    for name in sorted(checkpoints.keys() - fresh):
        _log.warning(
            "the pipeline resumes at its checkpoint: --start-from is for a start without one",
            pipeline=name,
            start_from=start_from,
            hint="'attr2hbase offsets reset --to …' moves a pipeline that has a checkpoint",
        )


def _lock(checkpoints: Mapping[str, Checkpoint], wait: StateWait) -> dict[str, IngestError]:
    """Lock the checkpoints; returns why some cannot be locked, by name."""
    refused: dict[str, IngestError] = {}
    unlocked = dict(checkpoints)

    def lock() -> None:
        found = lock_all(unlocked)
        away = {name: error for name, error in found.items() if isinstance(error, StateUnavailableError)}
        refused.update({name: error for name, error in found.items() if name not in away})
        for name in checkpoints.keys() - away.keys():
            unlocked.pop(name, None)
        for error in away.values():
            raise error

    wait.result(lock, checkpoints)
    return refused


def lock_all(checkpoints: Mapping[str, Checkpoint]) -> dict[str, IngestError]:
    """
    Lock several checkpoints at the same time, since each may have to wait for the lease of a driver that was killed.

    Returns:
        Why some are not locked, by their names.
    """
    refused: dict[str, IngestError] = {}

    def lock(name: str) -> None:
        try:
            checkpoints[name].lock()
        except IngestError as error:
            refused[name] = error

    # daemons: a process that is stopped meanwhile does not wait for a file system that does not answer
    threads = [threading.Thread(target=lock, args=(name,), name=f"lock-{name}", daemon=True) for name in checkpoints]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused
