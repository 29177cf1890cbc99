"""A schema registry with Confluent's API, in this process."""

import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Reference = tuple[str, str, int]
"""The name by which a schema is imported, its subject and its version."""


class Registry:
    """
    The schemas, and what the server answers.

    Attributes:
        requests: path and query of each request.
        login: header `Authorization` that requests must have; None without one.
        broken: answer to every request, as status and content; None for that of a registry.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.login: str | None = None
        self.broken: tuple[int, bytes] | None = None
        self.url = ""
        self._schemas: dict[int, dict[str, Any]] = {}
        self._serialized: dict[int, bytes] = {}
        self._versions: dict[str, list[int]] = {}

    def register(
        self,
        schema: object,
        *,
        subject: str = "t-value",
        type: str = "AVRO",  # noqa: A002 - as in the API
        references: Sequence[Reference] = (),
        serialized: bytes | None = None,
        id: int | None = None,  # noqa: A002 - as in the API
    ) -> int:
        """
        Add a version of a subject; returns the ID of its schema.

        Args:
            schema: its text, or plain data.
            subject: of the version.
            type: as in the API.
            references: of the schema.
            serialized: FileDescriptorProto, for a registry that answers `format=serialized`.
            id: by default the next one.
        """
        schema_id = max(self._schemas, default=0) + 1 if id is None else id
        content: dict[str, Any] = {"schema": schema if isinstance(schema, str) else json.dumps(schema)}
        if type != "AVRO":
            content["schemaType"] = type
        if references:
            content["references"] = [
                {"name": name, "subject": of, "version": version} for name, of, version in references
            ]
        self._schemas[schema_id] = content
        if serialized is not None:
            self._serialized[schema_id] = b64encode(serialized)
        self._versions.setdefault(subject, []).append(schema_id)
        return schema_id

    def answer(self, target: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and content for a request."""
        self.requests.append(target)
        if self.broken is not None:
            return self.broken
        if self.login is not None and headers.get("Authorization") != self.login:
            return 401, _error(40101, "Unauthorized")
        return self._found(target)

    def _found(self, target: str) -> tuple[int, bytes]:
        parts = urlsplit(target)
        is_serialized = parse_qs(parts.query).get("format") == ["serialized"]
        match [unquote(part) for part in parts.path.split("/")[1:]]:
            case ["schemas", "types"]:
                return 200, b'["JSON","PROTOBUF","AVRO"]'
            case ["schemas", "ids", number]:
                if int(number) not in self._schemas:
                    return 404, _error(40403, "Schema not found")
                return 200, json.dumps(self._content(int(number), is_serialized)).encode()
            case ["subjects", subject, "versions", number]:
                versions = self._versions.get(subject, [])
                if not 0 < int(number) <= len(versions):
                    return 404, _error(40402 if versions else 40401, "not found")
                schema_id = versions[int(number) - 1]
                content = {"subject": subject, "version": int(number), "id": schema_id}
                return 200, json.dumps({**content, **self._content(schema_id, is_serialized)}).encode()
        return 404, b"<html>no such page</html>"

    def _content(self, schema_id: int, is_serialized: bool) -> dict[str, Any]:
        content = self._schemas[schema_id]
        found = self._serialized.get(schema_id)
        return {**content, "schema": found.decode()} if is_serialized and found is not None else content


def _error(code: int, message: str) -> bytes:
    return json.dumps({"error_code": code, "message": message}).encode()


@contextmanager
def serving_registry(registry: Registry, *, port: int = 0, certificate: Path | None = None) -> Iterator[Registry]:
    """
    Serve a registry at loopback.

    Args:
        registry: its `url` is set.
        port: by default a free one.
        certificate: PEM file with key and certificate, for TLS.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = registry.answer(self.path, self.headers)
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        registry.url = f"http{'' if certificate is None else 's'}://localhost:{server.server_port}"
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def with_id(schema_id: int, value: bytes) -> bytes:
    """A value with the header of Confluent's serializers."""
    return b"\0" + schema_id.to_bytes(4, "big") + value
