"""What keeps replays of a pipeline apart from each other, and from what would spoil an interrupted one."""

from ingest.api import ConflictError
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.files import folder_of
from ingest.durable import StatePath, file_errors
from ingest.durable.lease import folder_lock
from ingest.durable.lock import ProcessLock
from ingest.observe.logs import logger
from ingest.spark.state import state_of

_log = logger(__name__)


class ReplayUnfinishedError(ConflictError):
    """A replay into deferred updates or a change feed is not finished; the pipeline and rollbacks wait for it."""

    code = "replay_unfinished"
    remedy = (
        "Run the command of the replay again, which finishes it, or takes it back if it cannot run as it was; without "
        "a service, then start the pipeline, or roll back. If another pipeline has taken over one of its tables since, "
        "run with --take-over, which gives the replay up."
    )


def replay_lock(configuration: Configuration, pipeline: Pipeline) -> ProcessLock:
    """
    The lock of a pipeline's replays of dead letters and of time ranges, and of the re-runs and joins of its archives.

    Two replays would stage files under the same names, and mark the same dead letters; so would two re-runs. A replay
    beside a re-run would write rows into the older batch alone.
    """
    # also if the queue is a topic: the marks of its dead letters are in this folder
    return folder_lock(
        folder_of(state_of(configuration), pipeline.name),
        kind="folder of replays and dead letters",
        hint="wait until that replay, re-run or join has ended",
        on_wait=_log.warning,
    )


def refuse_unfinished_replay(file: StatePath, pipeline: str, why: str, hint: str) -> None:
    """
    Refuse what an unfinished replay into tables with deferred updates or change feeds does not allow.

    Args:
        file: as `ingest.service.state_folders.update_replay_file`.
        pipeline: its name.
        why: what the replay has to do with it; a clause.
        hint: what to do.

    Raises:
        ConflictError: a replay was interrupted, or runs.
        StoreUnavailableError: its file cannot be read now.
    """
    with file_errors(file):
        if not file.exists():
            return
    raise ReplayUnfinishedError(
        f'a replay into the tables of pipeline "{pipeline}" is not finished, and {why}',
        hint=hint,
    )
