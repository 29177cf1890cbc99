"""A replay by the running service, as seen by the command that requests it."""

import time
from collections.abc import Callable
from typing import Any

from ingest.api import ConflictError, IngestError, NotFoundError
from ingest.service.client import NotRunningError, ServiceClient
from ingest.service.replay_request import ReplayRequest
from ingest.service.replay_state import ReplayTotals

POLL_S = 0.3
AWAY_S = 10.0
"""How long the service may not answer; its endpoint refuses connections while it has too many."""
_RESUMES = "finished micro-batches are not run again; run the same command again"


class DutyFailedError(IngestError):
    """A duty of the service has failed with an error that has no code of its own."""

    code = "duty_failed"


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
        self._client = client
        try:
            self._duty = client.replay(pipeline, request.to_json())
        except ConflictError as error:
            hint = error.hint or "--own-process runs it beside the service, unless a store is RocksDB"
            raise ConflictError(error.message, code=error.code, hint=hint) from error

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
        shown: tuple[str, str] | None = None
        try:
            while True:
                duty = self._duty
                if duty["result"] is not None:
                    on_progress(ReplayTotals.from_json(duty["result"]))
                if duty["state"] not in ("waiting", "running"):
                    return _result(duty)
                if shown != (duty["state"], duty["reason"]):
                    shown = duty["state"], duty["reason"]
                    on_state(*shown)
                time.sleep(POLL_S)
                self._duty = self._asked()
        except KeyboardInterrupt:
            self._client.cancel_duty(self._duty["id"])
            raise

    def _asked(self) -> dict[str, Any]:
        deadline_s = time.monotonic() + AWAY_S
        while True:
            try:
                return self._client.duty(self._duty["id"])
            except NotRunningError as error:
                if time.monotonic() >= deadline_s:
                    raise NotRunningError(f"the service has ended: {error.message}", hint=_RESUMES) from error
                time.sleep(POLL_S)
            except NotFoundError as error:
                raise NotRunningError("the service was restarted", hint=_RESUMES) from error


def _result(duty: dict[str, Any]) -> ReplayTotals:
    if duty["state"] == "done":
        return ReplayTotals.from_json(duty["result"])
    if duty["state"] == "cancelled":
        raise ConflictError(f"the replay has not finished: {duty['reason']}", code="duty_cancelled", hint=_RESUMES)
    failure = duty["error"]
    error = DutyFailedError(failure["message"], code=failure["code"], hint=failure["hint"])
    error.exit_code = failure["exit_code"]
    raise error
