"""The commands' client, with the endpoint of a service without Spark."""

import dataclasses
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from ingest.api import ConfigError, ConflictError, IntegrityError, NotFoundError, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.observe.taps import Taps
from ingest.service.control import Control
from ingest.service.endpoint import client as module
from ingest.service.endpoint.access import MAX_CONTENT_BYTES, access_of, token_file
from ingest.service.endpoint.address import ServiceAddress
from ingest.service.endpoint.client import NoAnswerError, NotRunningError, ServiceClient, ServiceFailedError
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.jobs.job_run import JobContext
from ingest.service.jobs.scheduler import Jobs
from ingest.service.pages import Pages
from ingest.service.pauses import Pauses
from tests.support.authority import Authority
from tests.support.endpoint import no_metrics


def configuration(folder: Path, **http: object) -> Configuration:
    content = {
        "version": 1,
        "state_dir": str(folder / "state"),
        "service": {"http": {"listen": "127.0.0.1:0", **http}},
        "stores": {"s": {"rocksdb": {"path": "./store"}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }
    (folder / "pipeline.yaml").write_text(json.dumps(content))
    return load(folder / "pipeline.yaml", env={"TOKEN": "a token of the environment"}, lookup=Catalog())


class Running:
    """An endpoint and what it controls."""

    def __init__(self, made: Configuration) -> None:
        self.configuration = made
        self.control = Control(Pauses(made.local_dir), made.pipelines)
        self.jobs = Jobs(Metrics(process=False))
        pages = Pages(Health(made.pipelines), Activity(), no_metrics, self.control, self.jobs, access_of(made), Taps())
        self.endpoint = HttpEndpoint(made.service.http.listen, pages, made.service.http.tls)
        self.endpoint.start()
        self.address = ServiceAddress(made.local_dir)
        self.address.take()
        self.address.publish(self.endpoint.url)

    def stop(self) -> None:
        self.endpoint.stop()
        self.address.release()


@pytest.fixture(params=[{}, {"token": "${TOKEN}"}], ids=["own token", "configured token"])
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    made = Running(configuration(tmp_path, **request.param))
    yield made
    made.stop()


def test_command_reaches_the_service(running: Running):
    client = ServiceClient(running.configuration)
    client.command("p", "pause")
    assert running.control.is_paused("p")
    client.command("p", "resume")
    assert not running.control.is_paused("p")
    assert [each["name"] for each in client.status()] == ["p"]


@pytest.mark.parametrize("with_client_ca", [False, True])
def test_command_over_tls(tmp_path: Path, with_client_ca: bool):
    authority = Authority(tmp_path / "authority")
    certificate = str(authority.issue("server"))
    files = {"certificate": certificate, "key": certificate}
    if with_client_ca:
        files["client_ca"] = str(authority.certificate)
    made = Running(configuration(tmp_path, tls=files))
    try:
        client = ServiceClient(made.configuration)
        assert client.url.startswith("https://")
        client.command("p", "pause")
        assert made.control.is_paused("p")
    finally:
        made.stop()


def test_certificate_that_client_ca_does_not_accept_is_refused(tmp_path: Path):
    certificate = str(Authority(tmp_path / "authority").issue("server"))
    client_ca = str(Authority(tmp_path / "other").certificate)
    files = {"certificate": certificate, "key": certificate, "client_ca": client_ca}
    made = Running(configuration(tmp_path, tls=files))
    try:
        client = ServiceClient(made.configuration)
        for request in (client.status, client.reload):
            with pytest.raises(ConflictError, match=r"refused the TLS connection: .*unknown ca") as caught:
                request()
            assert (caught.value.code, caught.value.exit_code) == ("locked", 4)
            assert "client_ca must accept it" in str(caught.value.hint)
        assert made.control.reload_status.id == 0
    finally:
        made.stop()


def test_unknown_pipeline_is_an_error(running: Running):
    with pytest.raises(NotFoundError, match='there is no pipeline "q"'):
        ServiceClient(running.configuration).command("q", "pause")


def test_commands_before_the_first_start_say_so(tmp_path: Path):
    with pytest.raises(NotRunningError, match="no service has started with this state_dir") as caught:
        ServiceClient(configuration(tmp_path)).command("p", "pause")
    assert caught.value.hint is not None
    assert "attr2hbase run" in caught.value.hint


def test_token_of_another_service_is_refused(tmp_path: Path):
    made = Running(configuration(tmp_path))
    try:
        token_file(made.configuration.local_dir).write_text("another token of this length")
        with pytest.raises(ConflictError, match="refuses the command") as caught:
            ServiceClient(made.configuration).command("p", "pause")
        assert "its token is in its file or state_dir" in str(caught.value.hint)
        assert not made.control.is_paused("p")
        token_file(made.configuration.local_dir).unlink()
        with pytest.raises(ConflictError, match="the token of the service cannot be read") as caught:
            ServiceClient(made.configuration).command("p", "pause")
        assert (caught.value.code, caught.value.exit_code) == ("locked", 4)
    finally:
        made.stop()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "has no token"),
        ("ein Schlüssel ohne ASCII".encode(), "other characters"),
        (b"\xff" * 20, "other characters"),
    ],
)
def test_token_file_that_cannot_be_sent_is_an_error(tmp_path: Path, content: bytes, problem: str):
    made = Running(configuration(tmp_path))
    try:
        token_file(made.configuration.local_dir).write_bytes(content)
        with pytest.raises(IntegrityError, match=problem) as caught:
            ServiceClient(made.configuration).command("p", "pause")
        assert "restart the service" in str(caught.value.hint)
    finally:
        made.stop()


def test_command_for_a_service_with_another_state_dir_is_refused(tmp_path: Path, unused_port: int):
    made = Running(configuration(tmp_path, listen=f"127.0.0.1:{unused_port}"))
    try:
        elsewhere = dataclasses.replace(made.configuration, local_dir=tmp_path / "elsewhere")
        client = ServiceClient(elsewhere)
        assert [each["name"] for each in client.status()] == ["p"]
        for send in (lambda: client.command("p", "pause"), client.reload):
            with pytest.raises(ConflictError, match=r"the service at .* uses another state_dir") as caught:
                send()
            assert "working directory of the service" in str(caught.value.hint)
        assert not made.control.is_paused("p")
    finally:
        made.stop()


def test_endpoint_of_another_program_is_no_service(tmp_path: Path):
    def respond(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        return [b"[]"]

    endpoint = HttpEndpoint("127.0.0.1:0", respond)
    endpoint.start()
    try:
        client = ServiceClient(configuration(tmp_path, listen=endpoint.url.removeprefix("http://")))
        with pytest.raises(NotRunningError, match="no service has started with this state_dir"):
            client.command("p", "pause")
    finally:
        endpoint.stop()


def test_without_a_service_the_error_has_the_command_that_starts_it(tmp_path: Path):
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    with pytest.raises(NotRunningError, match="no service answers") as caught:
        ServiceClient(made.configuration).status()
    assert "attr2hbase run" in str(caught.value.hint)
    made.stop()


class Requests:
    """A program that notes the requests it gets, and answers each in the same way."""

    def __init__(self, status: str = "200 OK", content: bytes = b"[]", **headers: str) -> None:
        self.found: list[WSGIEnvironment] = []
        self._answer = status, list(headers.items()), content
        self.endpoint = HttpEndpoint("127.0.0.1:0", self._respond)
        self.endpoint.start()

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        self.found.append(environ)
        status, headers, content = self._answer
        start_response(status, headers)
        return [content]


def test_program_that_listens_after_the_end_of_a_service_gets_no_request(tmp_path: Path):
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    other = Requests()
    made.address.publish(other.endpoint.url)
    made.address.release()
    try:
        client = ServiceClient(made.configuration)
        for request in (lambda: client.command("p", "pause"), client.reload, client.status):
            with pytest.raises(NotRunningError, match="has ended") as caught:
                request()
            assert "attr2hbase run" in str(caught.value.hint)
        assert other.found == []
    finally:
        other.endpoint.stop()
        made.stop()


def test_service_without_an_endpoint_gets_no_request(tmp_path: Path):
    other = Requests()
    made = configuration(tmp_path, listen=other.endpoint.url.removeprefix("http://"), token="${TOKEN}")  # noqa: S106 - a variable
    address = ServiceAddress(made.local_dir)
    address.take()
    try:
        with pytest.raises(NotRunningError, match="has no endpoint yet"):
            ServiceClient(made).command("p", "pause")
        assert other.found == []
    finally:
        address.release()
        other.endpoint.stop()


def test_redirect_is_refused_and_gets_no_token(tmp_path: Path):
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    other = Requests()
    redirecting = Requests("302 Found", Location=other.endpoint.url)
    made.address.publish(redirecting.endpoint.url)
    try:
        with pytest.raises(ConflictError):
            ServiceClient(made.configuration).command("p", "pause")
        assert (len(redirecting.found), other.found) == (1, [])
    finally:
        redirecting.endpoint.stop()
        other.endpoint.stop()
        made.stop()


@pytest.mark.parametrize(
    "content", [b"<html>", b"[]", b"{}", b"7", b'{"pipelines": 7}', b'{"pipelines": [7]}', b"[" * 9000]
)
def test_answer_of_another_program_is_an_error(tmp_path: Path, content: bytes):
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    other = Requests(content=content)
    made.address.publish(other.endpoint.url)
    try:
        with pytest.raises(NoAnswerError, match="does not answer as a service"):
            ServiceClient(made.configuration).status()
        if content != b"{}" and b"pipelines" not in content:
            with pytest.raises(NoAnswerError, match="does not answer as a service"):
                ServiceClient(made.configuration).reload_status()
    finally:
        other.endpoint.stop()
        made.stop()


def test_answer_that_is_too_large_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    other = Requests(content=b" " * (1 << 20) + b"{}")
    made.address.publish(other.endpoint.url)
    try:
        with pytest.raises(NoAnswerError, match="has more than 1 MiB"):
            ServiceClient(made.configuration).status()
    finally:
        other.endpoint.stop()
        made.stop()


def test_pause_that_cannot_be_recorded_now_is_refused_and_can_be_repeated(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    def full(_pauses: Pauses, _pipeline: str) -> None:
        raise StoreUnavailableError("the disk is full", code="disk_full")

    client = ServiceClient(running.configuration)
    with monkeypatch.context() as patch:
        patch.setattr(Pauses, "set", full)
        with pytest.raises(StoreUnavailableError, match="the disk is full") as caught:
            client.command("p", "pause")
    assert (caught.value.hint, running.control.is_paused("p")) == ("run the command again", False)
    client.command("p", "pause")
    assert running.control.is_paused("p")


def test_command_without_an_answer_may_have_been_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers
        made.address.publish(f"http://127.0.0.1:{silent.getsockname()[1]}")
        client = ServiceClient(made.configuration)
        with pytest.raises(NoAnswerError, match="may have accepted the command") as caught:
            client.submit("replay", REPLAY)
        assert "attr2hbase status" in str(caught.value.hint)
        with pytest.raises(NoAnswerError, match="did not answer: timed out") as caught:  # a status changes nothing
            client.status()
        assert "suspended" in str(caught.value.hint)
    made.stop()


def test_file_without_the_certificate_of_the_service_is_refused(tmp_path: Path):
    certificate = str(Authority(tmp_path / "authority").issue("server"))
    made = Running(configuration(tmp_path, tls={"certificate": certificate, "key": certificate}))
    try:
        client = ServiceClient(configuration(tmp_path))
        for request in (client.status, client.reload):  # nothing was sent
            with pytest.raises(ConflictError, match="has another certificate than the file") as caught:
                request()
            assert "service: http: tls" in str(caught.value.hint)
    finally:
        made.stop()


def test_command_whose_connection_is_reset_may_have_been_accepted(tmp_path: Path):
    made = Running(configuration(tmp_path))
    made.endpoint.stop()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def reset() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            connection.close()

        resets = threading.Thread(target=reset, daemon=True)
        resets.start()
        made.address.publish(f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(NoAnswerError, match="did not answer"):
            ServiceClient(made.configuration).command("p", "pause")
        resets.join()
    made.stop()


REPLAY = {"pipeline": "p", "from": "2026-01-31", "to": "2026-02-01"}


def test_replay_waits_as_a_job_and_can_be_cancelled(running: Running):
    client = ServiceClient(running.configuration)
    job = client.submit("replay", REPLAY)
    assert (job["kind"], job["subject"], job["state"]) == ("replay", "p", "waiting")
    assert client.submit("replay", REPLAY) == job
    assert client.submit("replay", REPLAY | {"overwrite": True})["id"] != job["id"]
    assert [each["id"] for each in client.status()[0]["jobs"]] == [each["id"] for each in client.jobs()]
    client.cancel_job(job["id"])
    assert client.job(job["id"])["state"] == "cancelled"
    assert len(client.status()[0]["jobs"]) == 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"pipeline": "p", "from": "2026-01-31"}, "to: Field required"),
        (REPLAY | {"ned": 1}, "ned: Extra inputs"),
        (REPLAY | {"from": "yesterday"}, '"yesterday" is not a time'),
        (REPLAY | {"at": "2026-01-31", "overwrite": True}, "choose one of them"),
        (REPLAY | {"rate": 0}, "rate: "),
    ],
)
def test_wrong_request_for_a_replay_is_refused(running: Running, request_: dict[str, object], message: str):
    client = ServiceClient(running.configuration)
    with pytest.raises(ConfigError, match=message):
        client.submit("replay", request_)
    assert client.jobs() == []


def test_replay_of_a_source_without_offsets_is_refused_at_once(running: Running):
    shared: Any = SimpleNamespace(configuration=running.configuration)
    session: Any = None
    running.jobs.start(JobContext(shared, session, slots=2))
    client = ServiceClient(running.configuration)
    try:
        with pytest.raises(ConfigError, match='the source of pipeline "p" is files, which has no offsets'):
            client.submit("replay", REPLAY)
        assert client.jobs() == []
    finally:
        running.jobs.close()


def test_unknown_job_and_pipeline_are_errors(running: Running):
    client = ServiceClient(running.configuration)
    with pytest.raises(NotFoundError, match='there is no job "x"'):
        client.job("x")
    with pytest.raises(NotFoundError, match='there is no job "x"'):
        client.cancel_job("x")
    running.jobs.start(JobContext(SimpleNamespace(configuration=running.configuration), None, slots=2))  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match='there is no pipeline "q"'):
        client.submit("replay", REPLAY | {"pipeline": "q"})
    running.jobs.close()


def test_service_that_stops_takes_no_replay(running: Running):
    running.jobs.stop()
    with pytest.raises(ConflictError, match="the service stops"):
        ServiceClient(running.configuration).submit("replay", REPLAY)


def test_request_that_is_too_large_is_refused(running: Running):
    with pytest.raises(ConflictError, match="the request is too large") as caught:
        ServiceClient(running.configuration).submit("replay", REPLAY | {"at": " " * MAX_CONTENT_BYTES})
    assert caught.value.hint == "name fewer dead letters, or select them by options"


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"Content-Length": str(MAX_CONTENT_BYTES + 1)}, b"{", 413),
        ({"Transfer-Encoding": "chunked"}, b"2\r\n{}\r\n0\r\n\r\n", 411),
        ({"Content-Length": "100"}, b'{"from"', 400),
    ],
)
def test_content_that_cannot_be_read_whole_is_refused(
    running: Running, headers: dict[str, str], content: bytes, status: int
):
    place = urlsplit(running.endpoint.url)
    token = ServiceClient(running.configuration)._token()
    lines = {"Host": place.netloc, "Authorization": f"Bearer {token}", "Connection": "close"} | headers
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with socket.create_connection((str(place.hostname), int(place.port or 0)), 10) as connection:
        connection.sendall(f"POST /jobs/replay HTTP/1.1\r\n{head}\r\n".encode() + content)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").readline()
    assert answer.split()[1] == b"%d" % status
    assert running.jobs.statuses() == []


def test_internal_error_of_the_service_is_no_conflict(running: Running, monkeypatch: pytest.MonkeyPatch):
    def fail(_job: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(running.jobs, "submit", fail)
    with pytest.raises(
        ServiceFailedError, match=r"failed with HTTP status 500: this page failed; see the log"
    ) as caught:
        ServiceClient(running.configuration).submit("replay", REPLAY)
    assert (caught.value.code, caught.value.exit_code) == ("service_failed", 1)
    assert "the log of the service" in str(caught.value.hint)


@pytest.fixture
def unused_port() -> int:
    """A port that is not in use."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port: int = free.getsockname()[1]
    return port


def test_replay_finds_the_service_as_the_status_does(tmp_path: Path, unused_port: int):
    made = Running(configuration(tmp_path, listen=f"127.0.0.1:{unused_port}", token="${TOKEN}"))  # noqa: S106 - a variable
    try:
        made.address.release()
        shutil.rmtree(made.configuration.local_dir)  # as if the service had another `state_dir`
        client = ServiceClient(made.configuration)
        assert [each["name"] for each in client.status()] == ["p"]
        client.submit("replay", REPLAY)
        assert [each["subject"] for each in client.jobs()] == ["p"]
    finally:
        made.stop()


def test_replay_without_the_token_and_the_address_of_a_service_finds_none(tmp_path: Path):
    client = ServiceClient(configuration(tmp_path))
    with pytest.raises(NotRunningError, match="no service has started with this state_dir"):
        client.submit("replay", REPLAY)
