"""A command follows a job that a service runs, here a replay."""

from typing import Any

import pytest

from ingest.api import ConflictError, IngestError, NotFoundError
from ingest.service.endpoint import asking
from ingest.service.endpoint.client import NoAnswerError, NotRunningError
from ingest.service.jobs import client as module
from ingest.service.jobs.client import FollowedJob
from ingest.service.replay.state import ReplayTotals


def job(state: str, read: int | None = None, **more: object) -> dict[str, Any]:
    totals = ReplayTotals(batches=1, read=read or 0).to_json()
    about = {
        "id": "7",
        "kind": "replay",
        "state": state,
        "reason": "",
        "done": 0 if read is None else read // 10,
        "total": 3,
        "result": None if read is None else totals,
        "error": None,
    }
    return about | more


class Client:
    """A fake service that answers with these jobs, one after the other; an exception is raised."""

    def __init__(self, *answers: dict[str, Any] | BaseException) -> None:
        self.answers = list(answers)
        self.cancelled: list[str] = []

    def job(self, job_id: str) -> dict[str, Any]:
        assert job_id == "7"
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def cancel_job(self, job_id: str) -> None:
        self.cancelled.append(job_id)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.0)
    monkeypatch.setattr(asking, "ANSWER_TIMEOUT_S", 0.0)


def followed(client: Client) -> tuple[ReplayTotals, list[tuple[int, int, int]], list[tuple[str, str]]]:
    progress: list[tuple[int, int, int]] = []
    states: list[tuple[str, str]] = []
    found = FollowedJob(client, client.job("7"), "run the same command again").follow(  # type: ignore[arg-type]
        lambda result, *slices: progress.append((result["read"], *slices)), lambda *state: states.append(state)
    )
    return ReplayTotals.from_json(found), progress, states


def test_totals_are_those_of_the_job():
    client = Client(
        job("waiting"), job("running", 10), job("running", 10, reason="away"), job("running", 20), job("done", 30)
    )
    totals, progress, states = followed(client)
    assert (totals.read, progress) == (30, [(10, 1, 3), (10, 1, 3), (20, 2, 3), (30, 3, 3)])
    assert states == [("waiting", ""), ("running", ""), ("running", "away"), ("running", "")]


def test_failure_has_its_code_hint_and_exit_code():
    failure = {"code": "locked", "message": "in use", "hint": "wait", "exit_code": 4}
    with pytest.raises(IngestError, match="in use") as caught:
        followed(Client(job("running", 10), job("failed", 10, error=failure)))
    error = caught.value
    assert (error.code, error.hint, error.exit_code) == ("locked", "wait", 4)


def test_cancelled_replay_is_an_error():
    with pytest.raises(ConflictError, match="not finished: cancelled while it ran") as caught:
        followed(Client(job("cancelled", 10, reason="cancelled while it ran")))
    assert caught.value.code == "job_cancelled"


@pytest.mark.parametrize(
    ("error", "message"),
    [(NotRunningError("refused"), "the service has ended"), (NotFoundError("no such job"), "was restarted")],
)
def test_service_that_ends_leaves_a_replay_to_resume(error: IngestError, message: str):
    with pytest.raises(NotRunningError, match=message) as caught:
        followed(Client(job("running", 10), error))
    assert "run the same command again" in str(caught.value.hint)


def test_service_that_is_suspended_leaves_a_replay_to_resume():
    with pytest.raises(NoAnswerError, match="did not answer") as caught:
        followed(Client(job("running", 10), NoAnswerError("did not answer")))
    assert "run the same command again" in str(caught.value.hint)


def test_interrupted_command_cancels_the_replay():
    client = Client(job("running", 10), KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        followed(client)
    assert client.cancelled == ["7"]
    said = "interrupted; the replay of the service is cancelled: run the same command again"
    assert str(caught.value).startswith(said)


def test_interrupted_command_says_that_it_has_not_cancelled_the_replay(monkeypatch):
    def cancel(_client: Client, _job_id: str) -> None:
        raise NotRunningError("nothing answers")

    monkeypatch.setattr(Client, "cancel_job", cancel)
    with pytest.raises(KeyboardInterrupt, match="may go on with the replay, which was not cancelled: nothing answers"):
        followed(Client(job("running", 10), KeyboardInterrupt()))
