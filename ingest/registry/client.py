"""Asks a registry with Confluent's API for schemas."""

import ssl
from base64 import b64encode
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from ingest.api import Disposition, IngestError
from ingest.api.schemas import SchemaType, WriterSchema
from ingest.http import Answer, CallFailedError, TooLargeAnswerError, call
from ingest.registry.options import RegistryOptions
from ingest.tls import client_context

_TIMEOUT_S = 5.0
_MAX_S = 10.0  # of one answer
_MAX_BYTES = 1 << 20  # of one schema
_MAX_REFERENCES = 100  # of a schema, with those of its references
_NO_SCHEMA = 40403
_NO_SUBJECT, _NO_VERSION = 40401, 40402
_NOT_FOUND = 404
_DENIED = (401, 403)
_OK = 200
_SERVER_ERRORS = 500
_BUSY = 429
_TYPES = {"AVRO": SchemaType.AVRO, "PROTOBUF": SchemaType.PROTOBUF, "JSON": SchemaType.JSON}
_SERIALIZED = "format=serialized"
_NO_TEXT = "the answer is not that of a schema registry"


class RegistryUnavailableError(IngestError):
    """The schema registry does not answer. The pipeline is blocked until it does."""

    code = "registry_unavailable"
    disposition: ClassVar[Disposition] = Disposition.RETRY
    exit_code = 3
    remedy = "Check the registry and the network; the service resumes by itself."


class RegistryRefusedError(IngestError):
    """The schema registry refuses requests: the address, the certificate or the login is wrong."""

    code = "registry_refused"
    disposition: ClassVar[Disposition] = Disposition.RETRY
    exit_code = 3
    remedy = "Correct `url`, `tls` or `auth` of the registry, or the rights there; the service resumes by itself."


class UnusableSchemaError(Exception):
    """The registry has a schema that cannot be used; the text has the reason."""


class RegistryClient:
    """
    A registry.

    Called by one thread. Each call asks the registry; see `ingest.registry.cache`.

    Args:
        options: with a URL.
    """

    def __init__(self, options: RegistryOptions) -> None:
        self._url = (options.url or "").rstrip("/")
        self._tls = options.tls
        self._is_https = self._url.startswith("https:")
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if options.auth is not None:
            self._headers["Authorization"] = _authorization(options)

    def check(self) -> str:
        """
        Ask for the types of schemas; returns them, for an operator.

        Raises:
            RegistryUnavailableError: no answer.
            RegistryRefusedError: the answer is an error.
        """
        found = self._json(self._get("/schemas/types"), "/schemas/types")
        if not isinstance(found, list):
            raise self._refused("/schemas/types", _NO_TEXT)
        return "schemas of " + ", ".join(str(each) for each in found[:5])

    def schema(self, schema_id: int) -> WriterSchema | None:
        """
        The schema with an ID; None if the registry says that there is none.

        Raises:
            UnusableSchemaError: there is one that cannot be used.
            RegistryUnavailableError: no answer.
            RegistryRefusedError: the answer says nothing about the schema.
        """
        path = f"/schemas/ids/{schema_id}"
        answer = self._get(path)
        if answer.status == _NOT_FOUND and _error_code(answer) == _NO_SCHEMA:
            return None
        found = self._object(answer, path)
        name = str(found.get("schemaType") or "AVRO")
        kind = _TYPES.get(name)
        if kind is None:
            raise UnusableSchemaError(f'its type "{name}" is none of {", ".join(_TYPES)}')
        if kind is SchemaType.PROTOBUF:
            return WriterSchema(schema_id, kind, self._descriptors(schema_id))
        references = self._references(found) if kind is SchemaType.AVRO else {}
        return WriterSchema(schema_id, kind, _text(found), tuple(references.values()))

    def _descriptors(self, schema_id: int) -> bytes:
        """The descriptors of a protobuf schema, which a registry may have serialized; else it has texts."""
        from ingest.registry.protobuf import descriptors  # imported for registries with such schemas alone

        path = f"/schemas/ids/{schema_id}?{_SERIALIZED}"
        found = self._object(self._get(path), path)
        try:
            return descriptors(f"schema-{schema_id}.proto", _text(found), self._references(found, _SERIALIZED))
        except ValueError as error:
            raise UnusableSchemaError(str(error)) from error

    def _references(self, found: dict[str, Any], form: str = "") -> dict[str, bytes]:
        """Name -> text of each reference, after the references of its own."""
        texts: dict[str, bytes] = {}
        self._add_references(found, form, texts, set())
        return texts

    def _add_references(self, found: dict[str, Any], form: str, texts: dict[str, bytes], begun: set[str]) -> None:
        for reference in found.get("references") or ():
            try:
                name, subject, version = str(reference["name"]), str(reference["subject"]), int(reference["version"])
            except (KeyError, TypeError, ValueError) as error:
                raise UnusableSchemaError("one of its references has no name, subject and version") from error
            if name in begun:
                continue
            begun.add(name)
            if len(begun) > _MAX_REFERENCES:
                raise UnusableSchemaError(f"it has more than {_MAX_REFERENCES} references")
            # a version that was deleted since is still the one that the schema names
            path = f"/subjects/{quote(subject, safe='')}/versions/{version}?deleted=true"
            answer = self._get(f"{path}&{form}" if form else path)
            if answer.status == _NOT_FOUND and _error_code(answer) in (_NO_SUBJECT, _NO_VERSION):
                raise UnusableSchemaError(
                    f'the registry has no version {version} of subject "{subject}", which it names'
                )
            inner = self._object(answer, path)
            self._add_references(inner, form, texts, begun)
            texts[name] = _text(inner)

    def _get(self, path: str) -> Answer:
        try:
            trusted = self._context() if self._is_https else None
            return call(
                self._url + path,
                headers=self._headers,
                trusted=trusted,
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_BYTES,
                max_s=_MAX_S,
            )
        except TooLargeAnswerError as error:
            raise UnusableSchemaError(f"{path}: {error}") from error
        except CallFailedError as error:
            raise RegistryUnavailableError(
                f'no answer from the registry "{self._url}{path}": {error}',
                hint="check the registry and the network; the look-up is retried",
            ) from error

    def _context(self) -> ssl.SSLContext:
        """Made for each look-up, since files of certificates are replaced while the service runs."""
        if self._tls is None:
            return ssl.create_default_context()
        return client_context(self._tls, RegistryRefusedError, "check `tls` under `registry`; the look-up is retried")

    def _object(self, answer: Answer, path: str) -> dict[str, Any]:
        found = self._json(answer, path)
        if not isinstance(found, dict):
            raise self._refused(path, _NO_TEXT)
        return found

    def _json(self, answer: Answer, path: str) -> object:
        if answer.status >= _SERVER_ERRORS or answer.status == _BUSY:
            raise RegistryUnavailableError(
                f'the registry "{self._url}{path}" answered {answer.status} {answer.reason}',
                hint="check the registry; the look-up is retried",
            )
        if answer.status != _OK:
            raise self._refused(path, f"{answer.status} {answer.reason}", is_login=answer.status in _DENIED)
        try:
            return orjson.loads(answer.content)
        except ValueError as error:
            raise self._refused(path, _NO_TEXT) from error

    def _refused(self, path: str, what: str, *, is_login: bool = False) -> RegistryRefusedError:
        part = "`auth`" if is_login else "`url`"
        return RegistryRefusedError(
            f'the registry "{self._url}{path}" answered: {what}',
            hint=f"check {part} under `registry`; the look-up is retried",
        )


def _authorization(options: RegistryOptions) -> str:
    auth = options.auth
    assert auth is not None  # noqa: S101 - by the caller
    if auth.token is not None:
        return f"Bearer {auth.token.get_secret_value()}"
    password = "" if auth.password is None else auth.password.get_secret_value()
    return f"Basic {b64encode(f'{auth.username}:{password}'.encode()).decode()}"


def _error_code(answer: Answer) -> int:
    """Confluent's number of an error; 0 if the answer has none."""
    try:
        found = orjson.loads(answer.content)
    except ValueError:
        return 0
    code = found.get("error_code") if isinstance(found, dict) else None
    return code if isinstance(code, int) else 0


def _text(found: dict[str, Any]) -> bytes:
    text = found.get("schema")
    if not isinstance(text, str):
        raise UnusableSchemaError("the registry's answer has no text of it")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UnusableSchemaError("its text is not UTF-8") from error
