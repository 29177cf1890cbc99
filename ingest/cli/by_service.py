"""Work that a running service does for a command; without a service, the command does it in its own process."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.endpoint.client import ServiceClient
    from ingest.service.jobs.client import FollowedJob

OwnProcessOption = Annotated[
    bool,
    typer.Option(
        "--own-process",
        help="Run in this process with all task slots. While the service runs, not with its RocksDB stores.",
    ),
]


def requested(
    out: Output,
    configuration: "Configuration",
    request: "Callable[[ServiceClient], dict[str, Any]]",
    *,
    does: str,
    resumes: str,
) -> "FollowedJob | None":
    """
    The job of the running service; None if no service runs. A note tells which of them does the work.

    Args:
        out: of the command.
        configuration: names the service.
        request: sends the request, and returns the job.
        does: what is done, as in "compacts the table".
        resumes: as in `FollowedJob`.
    """
    from ingest.service.endpoint.client import NotRunningError, ServiceClient
    from ingest.service.jobs.client import FollowedJob

    try:
        client = ServiceClient(configuration)
        job = request(client)
    except NotRunningError as error:
        out.note(f"{error.message}; the command {does} in its own process", "dim")
        return None
    out.note(f"the running service {does}", "dim")
    return FollowedJob(client, job, resumes)
