"""A replay by the running service, as seen by the command that requests it."""

from collections.abc import Callable

from ingest.api import ConflictError
from ingest.service.duties.client import FollowedDuty
from ingest.service.endpoint.client import ServiceClient
from ingest.service.replay.request import ReplayRequest
from ingest.service.replay.state import ReplayTotals

_RESUMES = "finished micro-batches are not run again; run the same command again"


class ServiceReplay:
    """
    Lets a service replay a time range, and follows it.

    Args:
        client: of the service.
        pipeline: its name.
        request: which records.

    Raises:
        NotRunningError: no service answers.
        NoAnswerError: the service may have accepted the request.
        NotFoundError: the service has no such pipeline.
        ConflictError: it refuses the request.
    """

    def __init__(self, client: ServiceClient, pipeline: str, request: ReplayRequest) -> None:
        try:
            duty = client.replay(pipeline, request.to_json())
        except ConflictError as error:
            hint = error.hint or "--own-process runs it beside the service, unless a store is RocksDB"
            raise ConflictError(error.message, code=error.code, hint=hint) from error
        self._duty = FollowedDuty(client, duty, _RESUMES)

    def follow(
        self, on_progress: Callable[[ReplayTotals], None], on_state: Callable[[str, str], None] = lambda *_state: None
    ) -> ReplayTotals:
        """
        Wait until it has ended, and return its totals. An interruption (SIGINT) cancels it.

        Args:
            on_progress: called with the totals.
            on_state: called with each state and reason until then.

        Raises:
            NotRunningError: the service has ended; the replay can be resumed.
            ConflictError: the replay was cancelled, or the service stops.
            IngestError: it has failed, with its code, hint and exit code.
        """
        found = self._duty.follow(lambda result: on_progress(ReplayTotals.from_json(result)), on_state)
        return ReplayTotals.from_json(found)
