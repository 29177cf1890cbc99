"""The kinds of jobs that a request names."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.api import ConfigError, NotFoundError
from ingest.service.archive.cleanup import ArchiveCleanup
from ingest.service.archive.join import ArchiveJoin
from ingest.service.archive.rerun import ArchiveRerun
from ingest.service.dumps.bootstrap_job import BootstrapJob
from ingest.service.dumps.dump import Dump
from ingest.service.jobs.job import Job
from ingest.service.offsets_reset_job import OffsetsReset
from ingest.service.replay.dead_letters_job import DeadLettersReplay
from ingest.service.replay.job import Replay
from ingest.service.request import options_of
from ingest.service.rewriting.blob_check import BlobCheck
from ingest.service.rewriting.blob_put import BlobPin, BlobPut, BlobUnpin
from ingest.service.rewriting.blob_sweep import BlobSweep
from ingest.service.rewriting.compaction import Compaction
from ingest.service.rewriting.rollback import Rollback
from ingest.suggest import did_you_mean

KINDS: Mapping[str, type[Job[Any]]] = {
    each.kind: each
    for each in (
        Compaction,
        Rollback,
        BlobSweep,
        BlobCheck,
        BlobPut,
        BlobPin,
        BlobUnpin,
        Dump,
        BootstrapJob,
        ArchiveRerun,
        ArchiveJoin,
        ArchiveCleanup,
        OffsetsReset,
        DeadLettersReplay,
        Replay,
    )
}
SCHEDULED: Sequence[type[Job[Any]]] = (Compaction, BlobSweep, Dump)
"""Those that a configuration declares at times."""


def job_of(kind: str, content: Mapping[str, Any]) -> Job[Any]:
    """
    The job of a request.

    Args:
        kind: of the job.
        content: the name of its `table` or `pipeline`, the `root` of a dump, or where a bootstrap writes `to`, and its
            options as they are written in YAML; of a job that runs pipelines optionally their `fingerprints`.

    Raises:
        NotFoundError: there is no such kind.
        ConfigError: the table, the root or an option is missing, or wrong.
    """
    if kind not in KINDS:
        raise NotFoundError(
            f'there is no job "{kind}"', hint=did_you_mean(kind, KINDS) or f"there is {', '.join(KINDS)}"
        )
    meant_by = KINDS[kind].command.subject
    name = meant_by.value
    subject = content.get(name)
    if not isinstance(subject, str) or not subject:
        raise ConfigError(f'"{name}" is missing', hint=f'send JSON as {{"{name}": "{meant_by.example}"}}')
    given = {name} | ({"fingerprints"} if KINDS[kind].runs_pipelines else set())
    options = {each: value for each, value in content.items() if each not in given}
    job = KINDS[kind](subject, options_of(KINDS[kind].options_model, options))
    meant = content.get("fingerprints", {})
    if not isinstance(meant, dict):
        raise ConfigError("fingerprints: no JSON object", hint='send it as {"PIPELINE": FINGERPRINT}, or leave it out')
    job.meant = meant
    return job
