"""Pages as a WSGI application, without a socket."""

import io
import json
import re
from wsgiref.util import setup_testing_defaults

import pytest
from structlog.testing import capture_logs

from ingest.observe.health import Health
from tests.support.endpoint import pages


def response_to(method: str, path: str, render=lambda: ("text/plain", b"figures\n")):
    environ: dict[str, object] = {"REQUEST_METHOD": method, "PATH_INFO": path, "wsgi.errors": io.StringIO()}
    setup_testing_defaults(environ)
    started: list[tuple[str, dict[str, str]]] = []
    content = pages(Health(["ticks"]), render)(
        environ, lambda status, headers, _error=None: started.append((status, dict(headers)))
    )
    [(status, headers)] = started
    return int(status[:3]), headers, b"".join(content)


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz", "/pipelines", "/unknown"])
def test_every_response_hides_the_software_and_is_not_cached(path):
    headers = response_to("GET", path)[1]
    expected = {"Server": "attr2hbase", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    assert headers | expected == headers


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path_names_the_pages(method):
    status, _, content = response_to(method, "/unknown")
    assert status == 404
    assert content.startswith(b"no such page; pages: / /page.css /page.js /metrics /livez /readyz /pipelines ")
    named = content.split()[4:]
    assert (named.count(b"/reload"), len(named)) == (1, len(set(named)))


def test_failed_page_is_logged_and_hides_the_error():
    def render():
        raise RuntimeError("secret place")

    with capture_logs() as lines:
        status, _, content = response_to("GET", "/metrics", render)
    assert (status, content) == (500, b"this page failed; see the log\n")
    assert [(line["event"], line["path"], repr(line["exc_info"])) for line in lines] == [
        ("page failed", "/metrics", "RuntimeError('secret place')")
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/reload/1/differences",
        "/pipelines/ticks/tap",
        "/taps/1/read",
        "/taps/1/close",
        "/jobs/replay",
        "/jobs/1/cancel",
        "/jobs/compaction",
        "/jobs/rollback",
        "/jobs/blob-sweep",
        "/jobs/dump",
    ],
)
def test_commands_need_the_token(path):
    assert response_to("POST", path)[0] == 401


@pytest.mark.parametrize(("method", "path"), [("GET", "/pipelines//web"), ("POST", "/pipelines/web//pause")])
def test_doubled_slash_is_another_path(method: str, path: str):
    assert response_to(method, path)[0] == 404


def test_jobs_are_listed():
    found = json.loads(response_to("GET", "/jobs")[2])
    assert found["jobs"] == []
    assert {"kind": "compaction", "example": '{"table": "counts"}'} in found["kinds"]
    assert response_to("GET", "/jobs/1")[0] == 404


@pytest.mark.parametrize(
    ("path", "content_type"), [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")]
)
def test_page_for_a_browser_may_load_only_its_own_files(path, content_type):
    status, headers, content = response_to("GET", path)
    assert (status, headers["Content-Type"]) == (200, f"{content_type}; charset=utf-8")
    policy = dict(each.split(" ", 1) for each in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(rb"https?://(?!www\.w3\.org/2000/svg)|<script>|\sstyle=|\son\w+=|innerHTML", content)


def test_history_has_each_pipeline():
    found = json.loads(response_to("GET", "/history")[2])
    assert found["step_s"] == 30
    assert {name: len(values["lag"]) for name, values in found["pipelines"].items()} == {"ticks": 120}
