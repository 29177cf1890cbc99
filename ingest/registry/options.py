"""The part `registry` of a pipeline file; nothing here connects."""

import re
from typing import Self
from urllib.parse import urlsplit

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Model, Secret, SmallFile, option
from ingest.api.files import check_private_key
from ingest.api.schemas import SchemaType, WriterSchema
from ingest.formats.addresses import is_this_machine
from ingest.http import is_url

MAX_ID = 2**31 - 1
"""Of a schema: registries count in an int of 32 bits with a sign."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ID = re.compile("0|[1-9][0-9]{0,9}")


class RegistryTls(Model):
    """TLS; the certificate and the host name of the registry are always checked."""

    ca_file: str | None = option(
        "PEM file with the certificates to trust; the system's when left out.", default=None, example="/etc/ssl/ca.pem"
    )
    key_file: str | None = option(
        "PEM file with the client's private key and certificate chain, readable by its owner alone.",
        default=None,
        example="/etc/ssl/client.pem",
    )
    key_password: Secret | None = option(
        "Password of the private key.", default=None, example="${secret:registry_key_password}"
    )

    @model_validator(mode="after")
    def _key_is_kept_safe(self) -> Self:
        check_private_key(self.key_file, "key_file")
        return self


class RegistryAuth(Model):
    """Authentication at the registry: user and password, or a token."""

    username: str | None = option("User of basic authentication.", default=None, example="ingest")
    password: Secret | None = option("Password of the user.", default=None, example="${secret:registry_password}")
    token: Secret | None = option("Bearer token.", default=None, example="${secret:registry_token}")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.username is None) is not (self.password is None):
            absent = "password" if self.password is None else "username"
            raise PydanticCustomError("missing_field", 'auth needs "{name}" too', {"name": absent})
        if (self.username is None) is (self.token is None):
            raise PydanticCustomError("conflict", "auth needs either `username` and `password`, or `token`")
        if self.username is not None and (":" in self.username or _CONTROL.search(self.username)):
            raise PydanticCustomError(
                "wrong_type", '"username" contains a colon or a control character', {"option": "username"}
            )
        token = "" if self.token is None else self.token.get_secret_value()
        if not token.isascii() or _CONTROL.search(token) or token != token.strip():
            raise PydanticCustomError(
                "wrong_type", "token must have printable ASCII characters only, and no blank at its start or end"
            )
        return self


class DeclaredSchema(Model):
    """A schema of the registry, in a file."""

    avro: SmallFile | None = option(
        "File with an Avro schema (.avsc), including all types it names.", default=None, example="user.avsc"
    )
    protobuf: SmallFile | None = option(
        "File written by `protoc --include_imports --descriptor_set_out=FILE` from one .proto file.",
        default=None,
        example="access.desc",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.avro is None) is (self.protobuf is None):
            raise PydanticCustomError("conflict", "a schema needs either `avro` or `protobuf`")
        return self

    def writer_schema(self, schema_id: int) -> WriterSchema:
        """The schema, with its ID."""
        if self.avro is not None:
            return WriterSchema(schema_id, SchemaType.AVRO, self.avro.content)
        assert self.protobuf is not None  # noqa: S101 - for mypy: one of both is given
        return WriterSchema(schema_id, SchemaType.PROTOBUF, self.protobuf.content)


class RegistryOptions(Model):
    """
    The registry that has the schemas of values with the header of Confluent's serializers.

    The driver looks each ID up once, and keeps the schema below `state_dir`.
    """

    url: str | None = option(
        "Address of the registry, with the path of its API: the paths `/schemas/ids/ID` of Confluent follow. Only the "
        "schemas of `schemas` are known without it.",
        default=None,
        example="https://registry.example.org:8081",
    )
    tls: RegistryTls | None = option(
        "Certificates for an https URL; the system's when left out.",
        default=None,
        example={"ca_file": "/etc/ssl/ca.pem"},
    )
    auth: RegistryAuth | None = option(
        "Authentication.", default=None, example={"username": "ingest", "password": "${secret:registry_password}"}
    )
    insecure: bool = option("True allows a registry on another machine without TLS.", default=False)
    schemas: dict[str, DeclaredSchema] = option(
        "ID -> schema in a file; it is used in place of the registry's, also by `explain` and `test`, which ask no "
        "registry.",
        default={},
        example={"7": {"avro": "user.avsc"}},
    )

    @field_validator("schemas")
    @classmethod
    def _ids(cls, schemas: dict[str, DeclaredSchema]) -> dict[str, DeclaredSchema]:
        for name in schemas:
            if not _ID.fullmatch(name) or int(name) > MAX_ID:
                raise PydanticCustomError(
                    "wrong_type", '"{name}" is not the ID of a schema: a whole number up to 2147483647', {"name": name}
                )
        return schemas

    @model_validator(mode="after")
    def _is_protected(self) -> Self:
        if self.url is None:
            for name in ("tls", "auth"):
                if getattr(self, name) is not None:
                    raise PydanticCustomError("missing_field", '"{name}" needs "url"', {"name": name, "option": name})
            if not self.schemas:
                raise PydanticCustomError("missing_field", 'registry needs "url" or "schemas"')
            return self
        about = {"url": self.url, "option": "url"}
        parts = urlsplit(self.url) if is_url(self.url) and not _CONTROL.search(self.url) else None
        if parts is None or parts.query or parts.fragment:
            raise PydanticCustomError("wrong_type", 'url "{url}" is not a URL; write https://HOST:PORT/PATH', about)
        if parts.username is not None or parts.password is not None:
            raise PydanticCustomError(
                "conflict",
                "a URL is printed in messages, so it cannot have a password; write `auth`",
                {"option": "url"},
            )
        if parts.scheme == "http" and self.tls is not None:
            raise PydanticCustomError("conflict", 'url "{url}" has no TLS; write https://', about)
        if parts.scheme == "http" and not self.insecure and not is_this_machine(parts.hostname or ""):
            raise PydanticCustomError(
                "conflict",
                'url "{url}" is on another machine and there is no TLS; write https://, or add insecure: true if the '
                "network is trusted",
                about,
            )
        return self

    def without_login(self) -> Self:
        """The same without certificates and secrets, for what asks no registry."""
        return self.model_copy(update={"tls": None, "auth": None})

    @property
    def declared(self) -> dict[int, WriterSchema]:
        """The schemas of the file, by their IDs."""
        return {int(name): schema.writer_schema(int(name)) for name, schema in self.schemas.items()}
