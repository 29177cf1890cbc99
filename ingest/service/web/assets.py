"""The files of the page for a browser."""

from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}

HEADERS: Mapping[str, str] = {
    # no inline script or style, nothing from another host, no frame around it
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of the answers with these files."""


class Asset(NamedTuple):
    """A file and its content type."""

    content: bytes
    content_type: str


def assets() -> dict[str, Asset]:
    """Path at the endpoint -> file; `/` is the page itself."""
    paths = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js"}
    folder = files(__package__)
    return {path: Asset((folder / name).read_bytes(), _TYPES[name.rpartition(".")[2]]) for path, name in paths.items()}
