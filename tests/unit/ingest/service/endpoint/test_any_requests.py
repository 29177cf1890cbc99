"""
Requests of any form: a command is carried out as it was sent, or not at all, and no page fails.

A request is built from its parts, each of which is right, wrong, or damaged so that it may be either.
"""

import json
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.jobs.scheduler import Jobs
from ingest.service.rewriting.compaction import Compaction
from sinks.updates.options import CompactionOptions
from tests.support.endpoint import TOKEN, pages

BODY = b'{"table": "t", "older_than": "7ms", "window": "9ms"}'
SENT = Compaction("t", CompactionOptions(older_than="7ms", window="9ms"))


class Part(NamedTuple):
    """
    A part of a request.

    Attributes:
        lines: of the headers; for another part one line.
        is_right: the request may be accepted; None if that is not known.
    """

    lines: tuple[bytes, ...]
    is_right: bool | None


def right(*choices: bytes) -> st.SearchStrategy[Part]:
    return st.sampled_from([Part((each,), True) for each in choices])


def wrong(*choices: bytes) -> st.SearchStrategy[Part]:
    return st.sampled_from([Part((each,), False) for each in choices])


def lines(*of: bytes, is_right: bool | None) -> st.SearchStrategy[Part]:
    return st.just(Part(of, is_right))


PIECES = st.sampled_from(
    [b"[", b"]", b":", b"/", b"@", b"%", b"%00", b"?", b"#", b" ", b"\t", b"\\", b",", b"\xff", b"0"]
)


def damaged(part: Part, at: int, piece: bytes) -> Part:
    (line,) = part.lines
    place = at % (len(line) + 1)
    return Part((line[:place] + piece + line[place:],), None)


class Choices(NamedTuple):
    """What a part of a request can be."""

    right: st.SearchStrategy[Part]
    other: st.SearchStrategy[Part]


def choices(of: st.SearchStrategy[Part], *other: st.SearchStrategy[Part], name: bytes = b"") -> Choices:
    """Of a part of the first line, or of a header."""
    both = Choices(of, st.one_of(*other, *other, st.builds(damaged, of, st.integers(0, 60), PIECES)))
    if not name:
        return both
    return Choices(
        *(each.map(lambda part: Part(tuple(name + b": " + at for at in part.lines), part.is_right)) for each in both)
    )


BEARER = b"Bearer " + TOKEN.encode()
SIZE = str(len(BODY)).encode()
NONE = lines(is_right=True)
FIRST_LINE = (
    choices(right(b"POST"), wrong(b"GET", b"HEAD", b"PUT", b"post", b"X")),
    choices(
        right(b"/jobs/compaction", b"/jobs/%63ompaction", b"/jobs/compaction?a=%ff&[=;&"),
        wrong(
            b"/jobs/compaction/",
            b"/jobs/compaction#",
            b"*",
            b"http://[::1/tables",
            b"/reload/" + b"9" * 5000,
            b"/%e2%80",
        ),
    ),
    choices(right(b"HTTP/1.1", b"HTTP/1.0"), wrong(b"HTTP/2.0", b"HTTP/1.\xb2", b"HTTP/1", b"FTP/1.1")),
)
HEADERS = (
    choices(
        right(b"127.0.0.1", b"127.0.0.1:9464", b"LOCALHOST:1", b"[::1]", b"[::1]:9464", b"[fe80::1%eth0]:9464"),
        wrong(b"[::1", b"::1]", b"::1", b"[::1]x", b"", b"evil.example", b"u@127.0.0.1", b"127.0.0.1/x", b"[v1.x]"),
        lines(b"127.0.0.1", b"evil.example", is_right=False),
        name=b"Host",
    ),
    Choices(NONE, wrong(*(b"Origin: " + each for each in (b"null", b"http://[", b"http://evil.example", b"")))),
    choices(
        right(BEARER, b"bearer  " + TOKEN.encode() + b" "),
        wrong(b"", b"Bearer", b"Bearer \xe2\x98\x83", b"Basic " + TOKEN.encode(), BEARER + b" x"),
        lines(is_right=False),
        lines(BEARER, BEARER, is_right=False),
        name=b"Authorization",
    ),
    choices(
        right(SIZE, b"000" + SIZE),
        wrong(
            b"",
            b"-1",
            b"+" + SIZE,
            b"0x24",
            b"3 6",
            b"36;",
            b"\xb2",
            b"1e1",
            b"9" * 5000,
            b"35",
            b"37",
            SIZE + b", " + SIZE,
        ),
        lines(SIZE, b"5", is_right=False),
        name=b"Content-Length",
    ),
    Choices(
        NONE, wrong(*(b"Transfer-Encoding: " + each for each in (b"chunked", b"identity", b"gzip, chunked", b"\xff")))
    ),
    Choices(
        st.one_of(NONE, right(b"X-A: \xff\x00", b"A" * 300 + b": 1", b"Expect: 100-continue", b"Content_Length: 5")),
        st.one_of(
            wrong(b"no colon", b"Content-Length : 5", b": 1", b"X\x00: 1", b"X Y: 1"),
            lines(b" folded", is_right=None),
            lines(*[b"A: 1"] * 200, is_right=False),
        ),
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> "Sent":
    """Requests of which at most two parts are not right."""
    parts = (*FIRST_LINE, *HEADERS)
    others = draw(st.sets(st.integers(0, len(parts) - 1), max_size=2))
    drawn = [draw(each.other if at in others else each.right) for at, each in enumerate(parts)]
    start, fields = drawn[: len(FIRST_LINE)], draw(st.permutations(drawn[len(FIRST_LINE) :]))
    first = b" ".join(line for part in start for line in part.lines)
    verdicts = {part.is_right for part in drawn}
    head = (first, *(line for part in fields for line in part.lines), b"", BODY)
    return Sent(b"\r\n".join(head), False if False in verdicts else None if None in verdicts else True)


class Sent(NamedTuple):
    """A request as it is sent, and whether it is right; None if that is not known."""

    content: bytes
    is_right: bool | None


class Service:
    """An endpoint whose pages are replaced for each request."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.jobs = Jobs(Metrics(process=False))
        self._pages = pages(Health(["ticks"]), jobs=self.jobs)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self._pages(environ, start_response)


@pytest.fixture(scope="module")
def service() -> Service:
    return Service()


@pytest.fixture(scope="module")
def endpoint(service: Service) -> Iterator[HttpEndpoint]:
    with HttpEndpoint("127.0.0.1:0", service) as started:
        yield started


def answer_to(endpoint: HttpEndpoint, content: bytes) -> bytes:
    parts = urlsplit(endpoint.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as client:
        client.sendall(content)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while received := client.recv(65_536):
            answer += received
    return answer


@given(sent=requests())
def test_command_is_carried_out_as_it_was_sent_or_not_at_all(
    service: Service, endpoint: HttpEndpoint, sent: Sent
) -> None:
    service.restart()
    with capture_logs() as lines:
        answer = answer_to(endpoint, sent.content)
    assert lines == []
    assert answer
    assert not answer.startswith(b"HTTP/1.0 5")
    submitted = service.jobs.statuses()
    if sent.is_right is not None:
        assert (len(submitted) == 1) is sent.is_right
    if submitted:
        assert answer.startswith(b"HTTP/1.0 202")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == submitted[0].id
    if sent.is_right:
        assert service.jobs.submit(SENT).id == submitted[0].id


def test_job_without_content_is_refused(service: Service, endpoint: HttpEndpoint) -> None:
    service.restart()
    answer = answer_to(endpoint, b"POST /jobs/compaction HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n" % TOKEN.encode())
    assert (answer.startswith(b"HTTP/1.0 400"), b"the request is not JSON" in answer) == (True, True)
    assert service.jobs.statuses() == []
