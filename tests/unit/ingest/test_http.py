"""Calls of HTTP servers."""

import socket
import threading
from contextlib import contextmanager

import pytest

from ingest.http import Answer, CallFailedError, TooLargeAnswerError, call, is_url
from tests.support.pages import serving


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://host", True),
        ("https://[::1]:8081/path", True),
        ("ftp://host", False),
        ("host:80", False),
        ("http:///path", False),
        ("http://[::1", False),
        ("http://host:port", False),
        ("", False),
    ],
)
def test_urls(text, expected):
    assert is_url(text) is expected


def test_error_and_redirect_are_answers():
    with serving({"/a": b"content", "/b": (302, b"/a")}) as url:
        assert call(f"{url}/a", timeout_s=5, max_bytes=7) == Answer(200, "OK", b"content")
        assert call(f"{url}/b", timeout_s=5, max_bytes=7) == Answer(302, "Found", b"/a")
        assert call(f"{url}/c", timeout_s=5, max_bytes=7).is_error
        with pytest.raises(TooLargeAnswerError, match="more than 0 KiB"):
            call(f"{url}/a", timeout_s=5, max_bytes=6)


@contextmanager
def dripping():
    """A server that sends one byte of its answer, and the next ones while it is read."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not done.wait(0.01):
                    connection.sendall(b"x")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            done.set()
            thread.join()


def test_answer_that_drips_ends():
    with dripping() as url, pytest.raises(CallFailedError, match="not complete in time"):
        call(url, timeout_s=5, max_bytes=2000, max_s=0.05)
