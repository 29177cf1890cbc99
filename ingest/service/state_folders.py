"""The folders of one pipeline in `state_dir`; docs/architecture.md lists all of the state."""

from ingest.config.model import Configuration
from ingest.durable import StatePath
from ingest.spark.state import state_of


def checkpoint_folder(configuration: Configuration, pipeline: str) -> StatePath:
    """The folder of a pipeline's checkpoint."""
    return state_of(configuration) / "checkpoints" / pipeline


def batch_times_folder(configuration: Configuration, pipeline: str) -> StatePath:
    """The folder with the newest batch time of a pipeline whose source does not keep it."""
    return state_of(configuration) / "batch-times" / pipeline


def batch_log_folder(configuration: Configuration, pipeline: str) -> StatePath:
    """The folder of a pipeline's batch log."""
    return state_of(configuration) / "batches" / pipeline


def replay_folder(configuration: Configuration, pipeline: str) -> StatePath:
    """The folder with plan and progress of a pipeline's interrupted replays."""
    return state_of(configuration) / "replays" / pipeline


def update_replay_file(configuration: Configuration, pipeline: str) -> StatePath:
    """The file with the records of an unfinished replay into the tables of a pipeline."""
    return replay_folder(configuration, pipeline) / "updates"
