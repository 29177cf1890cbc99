"""The product's checkpoint, locked over several starts in one process."""

from contextlib import ExitStack
from pathlib import Path

from ingest.spark.streaming.checkpoint import Checkpoint


def relocked(folder: Path, opened: ExitStack) -> Checkpoint:
    """The checkpoint of the newest start; the stack has its lock, after that of the start before was released."""
    opened.close()
    checkpoint = Checkpoint(folder)
    checkpoint.lock()
    opened.callback(checkpoint.unlock)
    return checkpoint
