"""An HTTP server with fixed pages."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Page = bytes | list[bytes] | tuple[int, bytes]
"""The content, or one content for each request in turn (the last one repeats), or a status with the content."""


@contextmanager
def serving(pages: Mapping[str, Page]) -> Iterator[str]:
    """
    Serve pages by their path; others answer 404.

    Yields:
        The URL of the server, without a slash at the end.
    """
    requests: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            status, content = _answer(pages.get(path, (404, b"")), requests.get(path, 0))
            requests[path] = requests.get(path, 0) + 1
            self.send_response(status)
            if status == 302:
                self.send_header("Location", content.decode())
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(page: Page, number: int) -> tuple[int, bytes]:
    if isinstance(page, tuple):
        return page
    return 200, page if isinstance(page, bytes) else page[min(number, len(page) - 1)]
