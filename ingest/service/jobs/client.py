"""A job of the running service, as seen by the command that requests it."""

import time
from collections.abc import Callable
from typing import Any

from ingest.api import IngestError, NotFoundError
from ingest.service.endpoint.asking import POLL_S, answered
from ingest.service.endpoint.client import NoAnswerError, NotRunningError, ServiceClient
from ingest.service.jobs.cancellation import JobCancelledError
from ingest.service.jobs.job_run import JobFailedError


class FollowedJob:
    """
    A job that a command waits for.

    Args:
        client: of the service.
        job: as the service has returned it.
        resumes: the hint if it has not finished, as in "run the same command again".
    """

    def __init__(self, client: ServiceClient, job: dict[str, Any], resumes: str) -> None:
        self._client = client
        self._job = job
        self._resumes = resumes

    def follow(
        self,
        on_result: Callable[[dict[str, Any], int, int], None],
        on_state: Callable[[str, str], None] = lambda *_state: None,
    ) -> dict[str, Any]:
        """
        Wait until it has ended, and return its result. An interruption (SIGINT) cancels it, and says so.

        Args:
            on_result: called with the result so far, and the numbers of finished slices and of all, which is 0 if it is
                not known yet.
            on_state: called with each state and reason until then.

        Raises:
            NotRunningError: the service has ended.
            NoAnswerError: it runs and does not answer.
            ConflictError: the job was cancelled, or the service stops.
            IngestError: it has failed, with its code, hint and exit code.
        """
        shown: tuple[str, str] | None = None
        try:
            while True:
                job = self._job
                if job["result"] is not None:
                    on_result(job["result"], job["done"], job["total"])
                if job["state"] not in ("waiting", "running"):
                    return self._result(job)
                if shown != (job["state"], job["reason"]):
                    shown = job["state"], job["reason"]
                    on_state(*shown)
                time.sleep(POLL_S)
                self._job = self._asked()
        except KeyboardInterrupt:
            kind = self._job["kind"]
            try:
                self._client.cancel_job(self._job["id"])
            except IngestError as error:
                reason = f"interrupted; the service may go on with the {kind}, which was not cancelled: {error.message}"
                raise KeyboardInterrupt(reason) from None
            reason = f"interrupted; the {kind} of the service is cancelled: {self._resumes}"
            raise KeyboardInterrupt(reason) from None

    def _asked(self) -> dict[str, Any]:
        try:
            return answered(lambda: self._client.job(self._job["id"]))
        except (NotRunningError, NoAnswerError) as error:
            has_ended = isinstance(error, NotRunningError)
            message = f"the service has ended: {error.message}" if has_ended else error.message
            raise type(error)(message, hint=self._resumes) from error
        except NotFoundError as error:
            raise NotRunningError("the service was restarted", hint=self._resumes) from error

    def _result(self, job: dict[str, Any]) -> dict[str, Any]:
        if job["state"] == "done":
            result: dict[str, Any] = job["result"]
            return result
        if job["state"] == "cancelled":
            raise JobCancelledError(f"the {job['kind']} has not finished: {job['reason']}", hint=self._resumes)
        failure = job["error"]
        error = JobFailedError(failure["message"], code=failure["code"], hint=failure["hint"])
        error.exit_code = failure["exit_code"]
        raise error
