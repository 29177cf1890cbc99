"""Where the classes of jobs are; a command imports the one of its job, a service all."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ingest.plugins.surfaces import at, surfaces_of
from sinks import BUILTIN_FEATURES

if TYPE_CHECKING:
    from ingest.service.jobs.job import Job

PLACES: Mapping[str, str] = {
    **{kind: path for each in surfaces_of(BUILTIN_FEATURES) for kind, path in each.jobs.items()},
    "dump": "ingest.service.dumps.dump:Dump",
    "bootstrap": "ingest.service.dumps.bootstrap_job:BootstrapJob",
    "archive-rerun": "ingest.service.archive.rerun:ArchiveRerun",
    "archive-join": "ingest.service.archive.join:ArchiveJoin",
    "archive-cleanup": "ingest.service.archive.cleanup:ArchiveCleanup",
    "offsets-reset": "ingest.service.offsets_reset_job:OffsetsReset",
    "dead-letters-replay": "ingest.service.replay.dead_letters_job:DeadLettersReplay",
    "replay": "ingest.service.replay.job:Replay",
}
"""Kind of job -> the import path of its class; first the jobs of table features."""


def job_class(kind: str) -> "type[Job[Any]]":
    """The class of a kind of job, one of `PLACES`."""
    found: type[Job[Any]] = at(PLACES[kind])
    return found
