"""The audit of packages and jars against the OSV database."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from deploy.release.audit import NO_ANSWER, findings, main, vulnerabilities

A, B = "pkg:pypi/a@1.0", "pkg:maven/org.example/b@2.0"


def database(**by_package):
    """Answers like the database: one page after the other for each package."""

    def query(body):
        results = []
        for asked in body["queries"]:
            pages = by_package.get(asked["package"]["purl"].split("/")[-1][0], [[]])
            page = int(asked.get("page_token", 0))
            more = {"next_page_token": str(page + 1)} if page + 1 < len(pages) else {}
            results.append({"vulns": [{"id": each} for each in pages[page]]} | more if pages[page] else more)
        return {"results": results}

    return query


def test_packages_without_vulnerabilities_are_left_out():
    assert vulnerabilities([A, B], database(b=[["GHSA-1", "GHSA-2"]])) == {B: ["GHSA-1", "GHSA-2"]}


def test_all_pages_are_read():
    assert vulnerabilities([A, B], database(a=[["1"], ["2"], ["3"]], b=[["4"]])) == {A: ["1", "2", "3"], B: ["4"]}


@pytest.mark.parametrize("answer", [{}, {"results": []}, {"results": [{}, {}, {}]}, {"results": None}])
def test_answer_that_does_not_fit_is_refused(answer):
    with pytest.raises(ValueError, match="2 questions"):
        vulnerabilities([A, B], lambda _body: answer)


def test_findings_are_what_is_not_accepted_and_what_is_gone():
    assert list(findings({A: ["GHSA-1", "GHSA-2"]}, {"GHSA-2": "not called", "GHSA-3": "not called"})) == [
        "pkg:pypi/a@1.0: GHSA-1, see https://osv.dev/GHSA-1",
        "accepted.toml: GHSA-3 is no longer reported; remove it",
    ]
    assert list(findings({}, {})) == []


@pytest.fixture
def server():
    """A database in which six has a vulnerability; yields its URL and the packages that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            purls = [query["package"]["purl"] for query in body["queries"]]
            asked.extend(purls)
            results = [{"vulns": [{"id": "GHSA-six"}]} if "/six@" in purl else {} for purl in purls]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode())

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/querybatch", asked
        server.shutdown()
        thread.join()


def test_release_is_audited(server, capsys):
    url, asked = server
    assert main(["--database", url]) == 1
    out, err = capsys.readouterr()
    assert err.endswith("GHSA-six, see https://osv.dev/GHSA-six\n")
    assert out == f"{len(asked)} packages and jars audited, 1 findings\n"
    assert {"pyspark", "kafka-clients"} <= {purl.rpartition("/")[2].partition("@")[0] for purl in asked}


def test_no_answer_is_not_a_pass(capsys):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert main(["--database", f"http://127.0.0.1:{unused.getsockname()[1]}/"]) == NO_ANSWER
    assert "so nothing was audited" in capsys.readouterr().err


def test_database_without_tls_is_refused(capsys):
    assert main(["--database", "http://osv.example/v1/querybatch"]) == NO_ANSWER
    assert "must be an https URL" in capsys.readouterr().err
