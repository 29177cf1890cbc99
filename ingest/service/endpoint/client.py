"""The commands' client of a running service."""

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError
from ingest.config.http_tls import HttpTlsOptions
from ingest.config.model import Configuration
from ingest.durable.files import StateUnavailableError
from ingest.service.endpoint.access import ERROR_CODE, MAX_CONTENT_BYTES, token_file, token_in
from ingest.service.endpoint.address import ServiceAddress

TIMEOUT_S = 10.0
"""More than the endpoint keeps a connection; a page takes milliseconds, a pause one write of the state."""
MAX_BYTES = 16 << 20
"""Of an answer; the status of a thousand partitions takes some 100 KiB."""
_UNAUTHORIZED_HINT = (
    "its token is in its file or state_dir; a relative one starts at the working directory of the service"
)


def client_context(options: HttpTlsOptions) -> ssl.SSLContext:
    """
    Trust the certificate of the endpoint itself, by whatever name it is reached, and present it to the endpoint.

    Raises:
        ConfigError: a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # an address to listen on need not be a name in the certificate
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # its authority need not be known here
    if options.client_ca is not None:
        # TLS 1.3 sends the request before the endpoint has checked the certificate; a refusal must arrive before it
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(options.certificate)
        context.load_cert_chain(options.certificate, options.key, password="")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f'the certificate of the endpoint cannot be read from "{options.certificate}" and "{options.key}": {error}',
            hint="run the command as the user of the service",
        ) from error
    return context


class NotRunningError(NotFoundError):
    """No service of the pipeline file answers at its HTTP endpoint."""

    code = "not_running"
    remedy = "Start the service with `attr2hbase run`; run the command on its machine, with its pipeline file."


class NoAnswerError(IngestError):
    """The answer to a command did not arrive; the service may have accepted the command."""

    code = "no_answer"
    remedy = "Look at `attr2hbase status`; run the command again if the service did not accept it."


class NotReachedError(IngestError):
    """A pipeline has failed or needs over 60 s, in place of what a command wants of it."""

    code = "not_reached"
    remedy = "Look at `attr2hbase status`: correct the cause and reload, or wait; the service has the command."


class ServiceFailedError(IngestError):
    """The service answered a command with an internal error."""

    code = "service_failed"
    hint = "the log of the service has the reason; run the command again, since it can be repeated"


class ServiceClient:
    """
    Sends commands to the service of a configuration, and reads its status.

    A command raises NotRunningError only if it cannot have reached a service: the one of this `state_dir` has ended, or
    none has started with it and none answers at `listen`, or the connection was refused. If a service answers and its
    token cannot be read, it raises ConflictError; if the file of the token has none that can be sent, IntegrityError.
    If the answer does not arrive for another reason, or is not that of a service, it raises NoAnswerError. Each method
    raises ConflictError if the TLS connection is refused, StoreUnavailableError if the service cannot write its state,
    and ServiceFailedError if it answers with an internal error.

    Args:
        configuration: names the endpoint and `state_dir`.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._address = ServiceAddress(configuration.local_dir)

    @property
    def url(self) -> str:
        """Of the endpoint: as the newest service has written it, else as configured."""
        http = self._configuration.service.http
        return self._address.url or f"{'http' if http.tls is None else 'https'}://{http.listen}"

    @property
    def has_started(self) -> bool:
        """Whether a service with this `state_dir` has ever started."""
        return self._address.has_started

    def status(self) -> list[dict[str, Any]]:
        """
        The status of all pipelines, by name.

        Raises:
            NotRunningError: no service answers.
        """
        return self._objects("/pipelines", "pipelines")

    def overview(self) -> dict[str, Any]:
        """
        The status of all `pipelines`, and the `memory` of the service.

        Raises:
            NotRunningError: no service answers.
        """
        return self._object("GET", "/pipelines")

    def command(self, pipeline: str, command: str) -> None:
        """
        Send a command; when this returns it is accepted, and not yet carried out.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            NotFoundError: it has no such pipeline.
            ConflictError: the service refuses the command.
        """
        self._ask("POST", f"/pipelines/{pipeline}/{command}")

    def reload(self, check: int = 0) -> dict[str, Any]:
        """
        Let the service read its file again.

        Args:
            check: number of records with which each changed pipeline is compared first; 0 for none.

        Returns:
            The `id` of the reload, and `started_ms`, the start of the service.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            ConflictError: the service refuses the command.
        """
        return self._object("POST", "/reload", json.dumps({"check": check}).encode() if check else None)

    def open_tap(self, pipeline: str, request: Mapping[str, Any]) -> str:
        """
        Let the tasks of a pipeline report events; returns the id of the tap, which ends if it is not read for long.

        Args:
            pipeline: its name.
            request: the fields of `ingest.service.tap_request.TapRequest`.

        Raises:
            NotRunningError: no service answers.
            NotFoundError: it has no such pipeline, or the pipeline has no such component.
            ConfigError: the request is wrong.
            ConflictError: there are too many taps.
        """
        return str(self._object("POST", f"/pipelines/{pipeline}/tap", json.dumps(request).encode())["id"])

    def read_tap(self, tap: str) -> dict[str, Any]:
        """
        The `lines` of a tap since the last call, how many were `left_out`, and of its `condition` the numbers of
        events, as `ingest.api.taps.TapCounts` has them; null without one.

        Raises:
            NotRunningError: no service answers.
            NotFoundError: the tap has ended.
        """
        return self._object("POST", f"/taps/{tap}/read")

    def close_tap(self, tap: str) -> None:
        """
        End a tap.

        Raises:
            NotRunningError: no service answers.
        """
        self._ask("POST", f"/taps/{tap}/close")

    def reload_differences(self, number: int) -> list[dict[str, Any]]:
        """
        What the check of a reload has found, as `ingest.dry_run.diff.Diff.to_json` returns it.

        Raises:
            NotRunningError: no service answers.
            NotFoundError: the reload had no check, or a later one had.
        """
        return self._objects(f"/reload/{number}/differences", "differences", method="POST")

    def reload_status(self, number: int | None = None) -> dict[str, Any]:
        """
        How far a reload has come, by default the newest one, as `ReloadStatus` has it; `started_ms`, the start of the
        service, and `file`, which it reads.

        Raises:
            NotRunningError: no service answers.
            NotFoundError: the service that runs now has no such reload.
        """
        return self._object("GET", "/reload" if number is None else f"/reload/{number}")

    def set_log_level(self, level: str) -> None:
        """
        Set the level of the log lines of the service and its workers, until it ends or reloads its file.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            ConflictError: the service refuses the command.
        """
        self._ask("POST", f"/log-level/{level}")

    def submit(self, kind: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """
        Let the service run a job; returns it, as `JobStatus` has it, or the same one that waits or runs already.

        Args:
            kind: of the job, as in `compaction`.
            request: the name of its `table`, or the `root` of a dump, and its options as they are written in YAML.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            NotFoundError: its file declares no such table.
            ConfigError: the request is wrong, or the table is none for this kind of job.
            ConflictError: the service refuses the command.
        """
        return self._object("POST", f"/jobs/{kind}", json.dumps(request).encode())

    def change_shards(self, table: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """
        Let the service request a split or a merge of shards of a feed; the next micro-batch executes it.

        Args:
            table: its name.
            request: the fields of `ingest.service.feed_shards.ShardRequest`.

        Returns:
            The change feed, as `sinks.feed.feed_json` returns it.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            NotFoundError: the table has no change feed, or no such shard.
            ConfigError: the request is wrong.
            ConflictError: the service refuses the command.
        """
        path = f"/tables/{urllib.parse.quote(table, safe='')}/shards"
        return self._object("POST", path, json.dumps(request).encode())

    def jobs(self) -> list[dict[str, Any]]:
        """
        The jobs that wait, run or have ended lately.

        Raises:
            NotRunningError: no service answers.
        """
        return self._objects("/jobs", "jobs")

    def job(self, job_id: str) -> dict[str, Any]:
        """
        A job, as `JobStatus` has it.

        Raises:
            NotRunningError: no service answers.
            NotFoundError: it has no such job.
        """
        return self._object("GET", f"/jobs/{job_id}")

    def cancel_job(self, job_id: str) -> None:
        """
        End a job; when this returns it is requested.

        Raises:
            NotRunningError: no service answers.
            NoAnswerError: the service may have accepted the command.
            NotFoundError: it has no such job.
            ConflictError: the service refuses the command.
        """
        self._ask("POST", f"/jobs/{job_id}/cancel")

    def _object(self, method: str, path: str, content: bytes | None = None) -> dict[str, Any]:
        """The answer, an object."""
        (found,) = self._read(self._ask(method, path, content), lambda found: [found])
        return found

    def _objects(self, path: str, key: str, *, method: str = "GET") -> list[dict[str, Any]]:
        """The objects of a list in the answer."""
        return self._read(self._ask(method, path), lambda found: found[key])

    def _read(self, answer: bytes, objects: Callable[[Any], list[Any]]) -> list[dict[str, Any]]:
        try:
            found = objects(json.loads(answer))
            if not all(isinstance(each, dict) for each in found):
                raise TypeError("the answer has other values than objects")  # noqa: TRY301 - as others
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise NoAnswerError(
                f"{self.url} does not answer as a service of attr2hbase does", hint="another program listens there"
            ) from error
        return found

    def _ask(self, method: str, path: str, content: bytes | None = None) -> bytes:
        if content is not None and len(content) > MAX_CONTENT_BYTES:  # the service would close the connection
            raise ConflictError("the request is too large", hint="name fewer dead letters, or select them by options")
        reason = self._address.unreachable()
        if reason:
            raise NotRunningError(
                f"no service answers: {reason}", hint=f"start it: attr2hbase run {self._configuration.path}"
            )
        request = urllib.request.Request(self.url + path, content, method=method)  # noqa: S310 - our own endpoint
        if method == "POST":
            request.add_header("Authorization", f"Bearer {self._token()}")
        tls = self._configuration.service.http.tls
        handlers = [] if tls is None else [urllib.request.HTTPSHandler(context=client_context(tls))]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects(), *handlers)
        try:
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                found: bytes = answer.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(MAX_BYTES).decode(errors="replace").strip()
                raise self._refused(error.code, error.headers.get(ERROR_CODE), text) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unanswered(
                method, error.reason if isinstance(error, urllib.error.URLError) else error
            ) from error

        if len(found) > MAX_BYTES:
            raise NoAnswerError(
                f"the answer of {self.url} has more than {MAX_BYTES >> 20} MiB", hint="another program listens there"
            )
        return found

    def _unanswered(self, method: str, reason: object) -> IngestError:
        file = self._configuration.path
        text = getattr(reason, "strerror", None) or str(reason)
        if isinstance(reason, ConnectionRefusedError):
            return NotRunningError(f"no service answers at {self.url}: {text}", hint=f"start it: attr2hbase run {file}")
        if isinstance(reason, ssl.SSLCertVerificationError):  # nothing was sent
            return ConflictError(
                f"{self.url} has another certificate than the file: {reason.verify_message}",
                hint="give the file of the running service, with its service: http: tls",
            )
        if isinstance(reason, ssl.SSLError) and "ALERT" in str(reason.reason):  # nothing was carried out
            return ConflictError(
                f"{self.url} refused the TLS connection: {str(reason.reason).replace('_', ' ').lower()}",
                hint="commands present the certificate of service: http: tls, so client_ca must accept it also as that "
                "of a client: list its authority there, and issue it for serverAuth and clientAuth",
            )
        if method == "POST":
            return NoAnswerError(
                f"{self.url} did not answer: {text}; the service may have accepted the command",
                hint=f"see its state: attr2hbase status {file}",
            )
        return NoAnswerError(
            f"{self.url} did not answer: {text}",
            hint="the service may be suspended or its machine overloaded, or another program listens there",
        )

    def _token(self) -> str:
        token = self._configuration.service.http.token
        if token is not None:
            return token.get_secret_value()
        if not self.has_started:
            self._refuse_other_folder()
            raise NotRunningError(
                "no service has started with this state_dir",
                hint=f"start it: attr2hbase run {self._configuration.path}",
            )
        file = token_file(self._configuration.local_dir)
        try:
            return token_in(file)
        except OSError as error:
            raise ConflictError(
                f'the token of the service cannot be read from "{file}": {error.strerror}',
                hint="run the command as the user of the service, or set service: http: token in the file",
            ) from error

    def _refuse_other_folder(self) -> None:
        """Raise ConflictError if a service answers at `listen`: it was started with another folder for its token."""
        try:
            self.status()
        except IngestError:  # none, or the endpoint of another program
            return
        option = "state_dir" if self._configuration.state_url is None else "local_dir"
        folder = self._configuration.local_dir.absolute()
        raise ConflictError(
            f'the service at {self.url} uses another {option} than "{folder}", so its token is unknown here',
            hint=f"run the command in the working directory of the service, or set an absolute {option} in the file; "
            "if that service has another file, give each its own `service: http: listen`",
        )

    def _refused(self, status: int, code: str | None, text: str) -> IngestError:
        if status == HTTPStatus.NOT_FOUND:
            reload = f"'attr2hbase reload {self._configuration.path}'"
            return NotFoundError(
                f"{self.url}: {text}",
                hint=f"if the file has it, the service runs an older version of the file: apply it with {reload}",
            )
        if status == HTTPStatus.BAD_REQUEST:
            return ConfigError(f"{self.url}: {text}")
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            return StateUnavailableError(f"{self.url}: {text}", hint="run the command again")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ServiceFailedError(f"{self.url} failed with HTTP status {status}: {text}")
        hint = _UNAUTHORIZED_HINT if status == HTTPStatus.UNAUTHORIZED else None
        return ConflictError(f"{self.url} refuses the command: {text}", code=code, hint=hint)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is refused as an error: the token goes to the service only."""

    def redirect_request(self, *_request: object, **_options: object) -> None:
        """Follow none."""
