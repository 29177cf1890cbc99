"""The kinds of jobs that a request names."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.api import ConfigError, NotFoundError
from ingest.service.job_places import PLACES, job_class
from ingest.service.jobs.job import Job
from ingest.service.request import options_of
from ingest.suggest import did_you_mean

KINDS: Mapping[str, type[Job[Any]]] = {kind: job_class(kind) for kind in PLACES}
SCHEDULED: Sequence[type[Job[Any]]] = tuple(
    job
    for job in KINDS.values()
    if job.scheduled.__func__ is not Job.scheduled.__func__  # type: ignore[attr-defined]
)
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
