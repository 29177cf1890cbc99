"""The pages of the HTTP endpoint."""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TypeAlias
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from ingest.observe.health import Health, PipelineHealth
from ingest.observe.logs import logger

Page: TypeAlias = Callable[[Request], Response]

_HEADERS = {"Server": "attr2hbase", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_log = logger(__name__)


class Pages:
    """
    A WSGI application: `/metrics`, `/livez`, `/readyz` and `/pipelines`.

    A page is a method from a request to a response, and an entry in the table of routes. If it raises, the error is
    logged and the status is 500.

    Args:
        health: states of the pipelines.
        render: content type and text of the metrics.
    """

    def __init__(self, health: Health, render: Callable[[], tuple[str, bytes]]) -> None:
        self._health = health
        self._render = render
        self._routes = Map(
            [
                _route("GET", "/metrics", self._metrics),
                _route("GET", "/livez", self._livez),
                _route("GET", "/readyz", self._readyz),
                _route("GET", "/pipelines", self._pipelines),
            ]
        )

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        response = self._respond(request)
        response.headers.update(_HEADERS)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        try:
            page, _ = self._routes.bind("").match(request.path, request.method)
            return page(request)  # type: ignore[no-any-return] # a rule's endpoint may be anything; ours are pages
        except NotFound:
            known = " ".join(rule.rule for rule in self._routes.iter_rules())
            return Response(f"no such page; pages: {known}\n", HTTPStatus.NOT_FOUND)
        except MethodNotAllowed as error:
            allowed = ", ".join(sorted(error.valid_methods or ()))
            text = f"only {allowed} is allowed\n"
            return Response(text, HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": allowed})
        except Exception as error:  # noqa: BLE001 an error of a page must not print a traceback on stderr
            _log.warning("page failed", path=request.path, error=repr(error))
            return Response("this page failed; see the log\n", HTTPStatus.INTERNAL_SERVER_ERROR)

    def _metrics(self, _request: Request) -> Response:
        content_type, content = self._render()
        return Response(content, content_type=content_type)

    def _livez(self, _request: Request) -> Response:
        return self._probe("live", is_good=self._health.is_live())

    def _readyz(self, _request: Request) -> Response:
        return self._probe("ready", is_good=self._health.is_ready())

    def _probe(self, quality: str, *, is_good: bool) -> Response:
        lines = [quality if is_good else f"not {quality}"]
        lines += [
            f"{each.pipeline}: {each.state}" + (f": {each.reason}" if each.reason else "")
            for each in self._health.snapshot()
        ]
        text = "".join(" ".join(line.split()) + "\n" for line in lines)
        status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
        return Response(text.encode("utf-8", "backslashreplace"), status)

    def _pipelines(self, _request: Request) -> Response:
        pipelines = [_described(each) for each in self._health.snapshot()]
        return Response(json.dumps({"pipelines": pipelines}) + "\n", content_type="application/json")


def _route(method: str, path: str, page: Page) -> Rule:
    """A rule for this method only; the library would add HEAD to GET."""
    rule = Rule(path, methods=[method], endpoint=page)
    rule.methods = {method}
    return rule


def _described(health: PipelineHealth) -> dict[str, object]:
    return {
        "name": health.pipeline,
        "state": health.state.value,
        "reason": health.reason,
        "since_ms": round(health.since_s * 1000),
    }
