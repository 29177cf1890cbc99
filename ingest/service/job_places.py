"""Where the classes of jobs are; a command imports the one of its job, a service all."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.service.jobs.job import Job

PLACES: Mapping[str, str] = {
    "compaction": "rewriting.compaction.Compaction",
    "rollback": "rewriting.rollback.Rollback",
    "blob-sweep": "rewriting.blob_sweep.BlobSweep",
    "blob-check": "rewriting.blob_check.BlobCheck",
    "blob-put": "rewriting.blob_put.BlobPut",
    "blob-pin": "rewriting.blob_put.BlobPin",
    "blob-unpin": "rewriting.blob_put.BlobUnpin",
    "dump": "dumps.dump.Dump",
    "bootstrap": "dumps.bootstrap_job.BootstrapJob",
    "archive-rerun": "archive.rerun.ArchiveRerun",
    "archive-join": "archive.join.ArchiveJoin",
    "archive-cleanup": "archive.cleanup.ArchiveCleanup",
    "offsets-reset": "offsets_reset_job.OffsetsReset",
    "dead-letters-replay": "replay.dead_letters_job.DeadLettersReplay",
    "replay": "replay.job.Replay",
}
"""Kind of job -> the module of its class in `ingest.service`, and the name of the class."""


def job_class(kind: str) -> "type[Job[Any]]":
    """The class of a kind of job, one of `PLACES`."""
    module, _, name = PLACES[kind].rpartition(".")
    found: type[Job[Any]] = getattr(import_module(f"ingest.service.{module}"), name)
    return found
