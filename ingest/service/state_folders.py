"""The folders of one pipeline in `state_dir`; docs/architecture.md lists all of the state."""

from pathlib import Path

from ingest.config.model import Configuration
from ingest.durable import StatePath
from ingest.spark.state import state_of


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


def staging_root(configuration: Configuration, store: str) -> Path:
    """The folder for the files that tasks stage for a store."""
    return configuration.local_dir.resolve() / "incoming" / store


def staging_folder(configuration: Configuration, store: str, pipeline: str, *, is_replay: bool = False) -> Path:
    """
    The folder of a pipeline for the files that its tasks stage for a store; only this pipeline, or its replay, uses it.

    They may run at the same time, and each removes what its earlier attempts have left.
    """
    # no pipeline has such a name
    return staging_root(configuration, store) / (f"{pipeline}+replay" if is_replay else pipeline)


def dead_letters_beside(staged: Path) -> Path:
    """The folder for large values of records that fail, beside that of the rows."""
    return staged.with_name(f"{staged.name}+letters")
