"""The pages of the HTTP endpoint: metrics, health, status, and commands to the pipelines."""

import json
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TypeAlias
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.exceptions import ClientDisconnected, MethodNotAllowed, NotFound, RequestEntityTooLarge
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError, StoreUnavailableError
from ingest.config.model import no_pipeline
from ingest.observe.activity import Activity
from ingest.observe.health import Health, PipelineHealth, State
from ingest.observe.history import STEP_S
from ingest.observe.log_level import LogLevel
from ingest.observe.logs import logger, set_level, traceback_of
from ingest.observe.taps import Taps
from ingest.service.control import Control, ReloadRequest, ReloadStatus
from ingest.service.endpoint.access import ERROR_CODE, MAX_CONTENT_BYTES, Access
from ingest.service.feed_shards import ShardRequest, apply_in_service
from ingest.service.job_kinds import KINDS, job_of
from ingest.service.jobs.job_run import JobStatus
from ingest.service.jobs.scheduler import Jobs
from ingest.service.request import json_object
from ingest.service.tap_request import TapRequest
from ingest.service.web.assets import HEADERS as WEB_HEADERS
from ingest.service.web.assets import Asset, assets

Page: TypeAlias = Callable[..., Response]

_HEADERS = {"Server": "attr2hbase", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_READING = frozenset({"GET", "HEAD"})
"""Methods that need no token."""

_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
"""A `Content-Length` (RFC 9110, 8.6); with more digits Python or the library may not read it."""

_KINDS = [
    {"kind": kind, "example": json.dumps({job.command.subject.value: job.command.subject.example})}
    for kind, job in KINDS.items()
]
"""What `POST /jobs/KIND` takes, with an example of its content."""

_log = logger(__name__)


class Pages:
    """
    A WSGI application: `/` for a browser with its files, `/metrics`, `/livez`, `/readyz`, `/pipelines`,
    `/pipelines/NAME`, `/history`, `/reload`, `/reload/ID`, `/jobs` and `/jobs/ID`, and for POST
    `/pipelines/NAME/pause`, `resume` and `flush`, `/tables/NAME/shards`, `/jobs/KIND`, `/jobs/ID/cancel`, `/reload`,
    `/reload/ID/differences`, `/pipelines/NAME/tap`, `/taps/ID/read` and `close`, and `/log-level/LEVEL`.

    A page is a method from a request and the names in its path to a response, and an entry in the table of routes. If
    it raises, the error is logged and the status is 500. A command is accepted with status 202 and executed afterwards;
    the status shows its effect.

    Args:
        health: states of the pipelines.
        activity: what they did lately.
        render: content type and text of the metrics.
        control: takes the commands.
        jobs: the background jobs.
        access: checks who sends commands.
        taps: what readers of the pipelines want to see.
    """

    def __init__(
        self,
        health: Health,
        activity: Activity,
        render: Callable[[], tuple[str, bytes]],
        control: Control,
        jobs: Jobs,
        access: Access,
        taps: Taps,
    ) -> None:
        self._taps = taps
        self._health = health
        self._activity = activity
        self._render = render
        self._control = control
        self._jobs = jobs
        self._access = access
        self._routes = Map(
            [
                *(_route("GET", path, _served(asset)) for path, asset in assets().items()),
                _route("GET", "/metrics", self._metrics),
                _route("GET", "/livez", self._livez),
                _route("GET", "/readyz", self._readyz),
                _route("GET", "/pipelines", self._pipelines),
                _route("GET", "/pipelines/<pipeline>", self._pipeline),
                _route("GET", "/history", self._history),
                _route("POST", "/pipelines/<pipeline>/pause", self._command(self._pause)),
                _route("POST", "/pipelines/<pipeline>/resume", self._command(control.resume)),
                _route("POST", "/pipelines/<pipeline>/flush", self._command(self._flush)),
                _route("POST", "/pipelines/<pipeline>/tap", self._tap),
                _route("POST", "/taps/<tap>/read", self._read_tap),
                _route("POST", "/taps/<tap>/close", self._close_tap),
                _route("GET", "/jobs", self._list_jobs),
                _route("GET", "/jobs/<job>", self._job),
                _route("POST", "/jobs/<kind>", self._submit),
                _route("POST", "/tables/<table>/shards", self._shards),
                _route("POST", "/jobs/<job>/cancel", self._cancel_job),
                _route("POST", "/log-level/<level>", self._log_level),
                _route("GET", "/reload", self._newest_reload),
                _route("GET", "/reload/<int:number>", self._reload_of),
                _route("POST", "/reload", self._reload),
                _route("POST", "/reload/<int:number>/differences", self._differences),
            ],
            merge_slashes=False,  # it would answer with a redirect
        )

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        request.max_content_length = MAX_CONTENT_BYTES
        response = self._respond(request)
        response.headers.update(_HEADERS)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        try:
            page, names = self._routes.bind("").match(request.path, request.method)
            refusal = None if request.method in _READING else self._refusal(request)
            if refusal is not None:
                return refusal
            return page(request, **names)  # type: ignore[no-any-return] # a rule's endpoint may be anything; ours are pages
        except NotFound:
            known = " ".join(dict.fromkeys(rule.rule for rule in self._routes.iter_rules()))
            return Response(f"no such page; pages: {known}\n", HTTPStatus.NOT_FOUND)
        except MethodNotAllowed as error:
            allowed = ", ".join(sorted(error.valid_methods or ()))
            text = f"only {allowed} is allowed\n"
            return Response(text, HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": allowed})
        except (ClientDisconnected, RequestEntityTooLarge) as error:
            is_short = isinstance(error, ClientDisconnected)
            text = "the content is shorter than its Content-Length" if is_short else "the request is too large"
            return Response(f"{text}\n", error.code)
        except Exception as error:  # noqa: BLE001 the client gets no traceback, and the endpoint stays
            _log.warning("page failed", path=request.path, error=repr(error), exc_info=traceback_of(error))
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
        pipelines = [self._status(each) for each in self._health.snapshot()]
        return _json({"pipelines": pipelines, "memory": self._activity.memory()})

    def _pipeline(self, _request: Request, pipeline: str) -> Response:
        for each in self._health.snapshot():
            if each.pipeline == pipeline:
                return _json(self._status(each))
        return _refused(
            no_pipeline(pipeline, [each.pipeline for each in self._health.snapshot()]), HTTPStatus.NOT_FOUND
        )

    def _status(self, health: PipelineHealth) -> dict[str, object]:
        return {
            "name": health.pipeline,
            "state": health.state.value,
            "reason": health.reason,
            "since_ms": round(health.since_s * 1000),
            **self._activity.of(health.pipeline),
            "jobs": [status.to_json() for status in self._jobs.active_of(health.pipeline)],
        }

    def _history(self, _request: Request) -> Response:
        found = {each.pipeline: self._activity.history(each.pipeline) for each in self._health.snapshot()}
        return _json({"step_s": STEP_S, "pipelines": found})

    def _newest_reload(self, _request: Request) -> Response:
        return self._about_reload(self._control.reload_status)

    def _reload_of(self, _request: Request, number: int) -> Response:
        return _answer(lambda: self._about_reload(self._control.reload_of(number)), HTTPStatus.OK)

    def _about_reload(self, status: ReloadStatus) -> Response:
        return _json({"started_ms": self._control.started_ms, "file": self._control.file, **status.to_json()})

    def _reload(self, request: Request) -> Response:
        started_ms = self._control.started_ms

        def accepted() -> Response:
            check = ReloadRequest.of(request.get_data()).check
            return _json({"started_ms": started_ms, "id": self._control.reload(check)})

        return _answer(accepted, HTTPStatus.ACCEPTED)

    def _differences(self, _request: Request, number: int) -> Response:
        """Contents of events: with a token, as the other pages that POST is for."""
        return _answer(lambda: _json({"differences": self._control.differences_of(number)}), HTTPStatus.OK)

    def _tap(self, request: Request, pipeline: str) -> Response:
        def opened() -> Response:
            self._control.check(pipeline)
            wanted = TapRequest.of(request.get_data())
            return _json({"id": wanted.open(self._taps, self._activity, pipeline)})

        return _answer(opened, HTTPStatus.ACCEPTED)

    def _read_tap(self, _request: Request, tap: str) -> Response:
        """Contents of events, masked as a log is: with a token."""

        def found() -> Response:
            taken = self._taps.take(tap)
            counts = b"null" if taken.counts is None else json.dumps(taken.counts.to_json()).encode()
            content = b'{"left_out": %d, "condition": %s, "lines": [%s]}\n' % (
                taken.left_out,
                counts,
                b",".join(taken.lines),
            )
            return Response(content, content_type="application/json")

        return _answer(found, HTTPStatus.OK)

    def _close_tap(self, _request: Request, tap: str) -> Response:
        self._taps.close(tap)
        return _json({"id": tap})

    def _list_jobs(self, _request: Request) -> Response:
        return _json({"jobs": [status.to_json() for status in self._jobs.statuses()], "kinds": _KINDS})

    def _job(self, _request: Request, job: str) -> Response:
        return self._about_job(lambda: self._jobs.status(job))

    def _cancel_job(self, _request: Request, job: str) -> Response:
        return self._about_job(lambda: self._jobs.cancel(job), HTTPStatus.ACCEPTED)

    def _submit(self, request: Request, kind: str) -> Response:
        return self._about_job(
            lambda: self._jobs.submit(job_of(kind, json_object(request.get_data()))), HTTPStatus.ACCEPTED
        )

    def _shards(self, request: Request, table: str) -> Response:
        shared = self._jobs.shared
        return _answer(
            lambda: _json(apply_in_service(shared, table, ShardRequest.of(request.get_data()))), HTTPStatus.ACCEPTED
        )

    def _about_job(self, action: Callable[[], JobStatus], status: HTTPStatus = HTTPStatus.OK) -> Response:
        return _answer(lambda: _json(action().to_json()), status)

    def _log_level(self, _request: Request, level: str) -> Response:
        if level not in set(LogLevel):
            return Response(f"there is no level {level}; levels: {' '.join(LogLevel)}\n", HTTPStatus.NOT_FOUND)
        set_level(LogLevel(level))
        return _json({"log_level": level})

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        refusal = self._access.refusal(
            # as it was sent: the library's is empty for what it takes for no host, such as an address with a zone
            host=headers.get("Host", request.host),
            origin=request.origin,
            authorization=headers.get("Authorization", ""),
        )
        if refusal is not None:
            return Response(f"{refusal.text}\n", refusal.status, {"WWW-Authenticate": "Bearer"})
        # the server would read no such content, and take a command with its defaults
        if "Transfer-Encoding" in headers:
            return Response("send the content with a Content-Length\n", HTTPStatus.LENGTH_REQUIRED)
        if not _LENGTH.fullmatch(headers.get("Content-Length") or "0"):
            return Response("the Content-Length is not a number of bytes\n", HTTPStatus.BAD_REQUEST)
        return None

    def _pause(self, pipeline: str) -> None:
        self._refuse_failed(pipeline, "cannot be paused")
        self._control.pause(pipeline)

    def _flush(self, pipeline: str) -> None:
        self._refuse_failed(pipeline, "starts no micro-batch")
        self._control.flush(pipeline)

    def _refuse_failed(self, pipeline: str, refusal: str) -> None:
        """Raise ConflictError if the pipeline has failed: it has no query."""
        failed = {each.pipeline: each.reason for each in self._health.snapshot() if each.state is State.FAILED}
        if pipeline in failed:
            raise ConflictError(
                f'pipeline "{pipeline}" has failed and {refusal}: {failed[pipeline]}',
                hint="correct the cause, then start it again with 'attr2hbase reload'",
            )

    def _command(self, carry_out: Callable[[str], None]) -> Page:
        """A page that passes the name of a pipeline to a command."""

        def page(request: Request, pipeline: str) -> Response:
            def carried_out() -> Response:
                carry_out(pipeline)
                return self._pipeline(request, pipeline)

            return _answer(carried_out, HTTPStatus.ACCEPTED)

        return page


def _answer(command: Callable[[], Response], status: HTTPStatus) -> Response:
    """The response of a command with a status, or that of its error."""
    try:
        response = command()
    except NotFoundError as error:
        return _refused(error, HTTPStatus.NOT_FOUND)
    except ConflictError as error:
        return _refused(error, HTTPStatus.CONFLICT)
    except ConfigError as error:
        return _refused(error, HTTPStatus.BAD_REQUEST)
    except StoreUnavailableError as error:
        return _refused(error, HTTPStatus.SERVICE_UNAVAILABLE)
    response.status_code = status
    return response


def _refused(error: IngestError, status: HTTPStatus) -> Response:
    return Response(f"{error}\n", status, {ERROR_CODE: error.code})


def _served(asset: Asset) -> Page:
    """The page that is a file."""
    return lambda _request: Response(asset.content, headers=WEB_HEADERS, content_type=asset.content_type)


def _json(content: object) -> Response:
    return Response(json.dumps(content) + "\n", content_type="application/json")


def _route(method: str, path: str, page: Page) -> Rule:
    """A rule for this method only; the library would add HEAD to GET."""
    rule = Rule(path, methods=[method], endpoint=page)
    rule.methods = {method}
    return rule
