"""Pages over HTTP, with limits."""

import socket
import threading
from contextlib import contextmanager

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.doctor.http import fetched
from tests.support.pages import serving


def test_content_is_returned():
    with serving({"/jmx": b"content"}) as url:
        assert fetched(f"{url}/jmx") == b"content"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/x", "rs1:16030", "http:///x", "", "http://[::1/jmx", "http://a]b/"]
)
def test_other_urls_are_refused(url):
    with pytest.raises(ConfigError, match="is not a URL"):
        fetched(url)


def test_missing_page_is_an_error():
    with serving({}) as url, pytest.raises(NotFoundError, match="answered 404"):
        fetched(f"{url}/jmx")


def test_redirect_is_not_followed():
    with serving({"/jmx": (302, b"/other"), "/other": b"x"}) as url, pytest.raises(NotFoundError, match="answered 302"):
        fetched(f"{url}/jmx")


def test_large_page_is_refused():
    with serving({"/jmx": b"x" * 11}) as url:
        assert fetched(f"{url}/jmx", max_bytes=11) == b"x" * 11
        with pytest.raises(NotFoundError, match="is larger than"):
            fetched(f"{url}/jmx", max_bytes=10)


def test_closed_port_is_an_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(NotFoundError, match=r"does not answer: .*refused"):
            fetched(f"http://127.0.0.1:{unused.getsockname()[1]}/jmx")


@contextmanager
def answering(answer):
    """A server that sends these bytes to one client, then closes the connection or, for None, waits."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                if answer is None:
                    done.wait(10)
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/jmx"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize("answer", [b"", b"hello\r\n\r\n"])
def test_answer_that_is_not_http_is_an_error(answer):
    with answering(answer) as url, pytest.raises(NotFoundError, match="does not answer"):
        fetched(url)


def test_page_that_is_cut_is_an_error():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"
    with answering(answer) as url, pytest.raises(NotFoundError, match="connection was closed 9 bytes before the end"):
        fetched(url)


def test_silent_server_is_an_error_after_the_timeout():
    with answering(None) as url, pytest.raises(NotFoundError, match=r"does not answer: .*timed out"):
        fetched(url, timeout_s=0.1)
