"""The check of state in HDFS."""

import os

from ingest.config.model import Configuration
from ingest.doctor.examination import Found
from ingest.durable import file_errors, write_durably
from ingest.spark.state import state_of


def state(configuration: Configuration) -> Found:
    """
    Whether HDFS answers, and the user may write to the folder.

    Raises:
        NotFoundError: Spark's JVM, which has the client, does not start.
        StoreUnavailableError: HDFS does not answer, or denies the access.
    """
    root = state_of(configuration)
    with file_errors(root):
        if not root.exists():
            return Found("answers; the folder does not exist yet")
        probe = root / f".probe-{os.getpid()}"
        write_durably(probe, b"")
        probe.unlink()
    return Found("can be written")
