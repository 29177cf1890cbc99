"""Asks a registry for schemas."""

import socket

import pytest

from ingest.api import Disposition
from ingest.api.schemas import SchemaType, WriterSchema
from ingest.registry.client import RegistryClient, RegistryRefusedError, RegistryUnavailableError, UnusableSchemaError
from ingest.registry.options import RegistryOptions
from tests.support.authority import Authority
from tests.support.registry import Registry, serving_registry

USER = '{"type":"record","name":"User","fields":[{"name":"id","type":"int"}]}'


def client_of(registry, **options):
    return RegistryClient(RegistryOptions.model_validate({"url": registry.url, **options}))


def test_schema_of_an_id(registry):
    schema_id = registry.register(USER, id=2**31 - 1)
    assert client_of(registry).schema(schema_id) == WriterSchema(2**31 - 1, SchemaType.AVRO, USER.encode())


def test_unknown_id_is_none(registry):
    assert client_of(registry).schema(7) is None


def test_references_precede_what_names_them(registry):
    registry.register("A", subject="a/b c")
    registry.register("B", subject="b", references=[("a", "a/b c", 1)])
    schema_id = registry.register("C", references=[("b", "b", 1), ("a", "a/b c", 1)])
    found = client_of(registry).schema(schema_id)
    assert found is not None
    assert found.references == (b"A", b"B")
    assert "/subjects/a%2Fb%20c/versions/1?deleted=true" in registry.requests


def test_references_in_a_circle_end(registry):
    registry.register("A", subject="a", references=[("b", "b", 1)])
    registry.register("B", subject="b", references=[("a", "a", 1)])
    found = client_of(registry).schema(1)
    assert found is not None
    assert found.references == (b"A", b"B")


def test_references_are_limited(registry):
    for number in range(101):
        registry.register("A", subject=f"s{number}")
    schema_id = registry.register("B", references=[(f"r{number}", f"s{number}", 1) for number in range(101)])
    with pytest.raises(UnusableSchemaError, match="more than 100 references"):
        client_of(registry).schema(schema_id)


def test_json_schemas_are_known_as_such(registry):
    found = client_of(registry).schema(registry.register("{}", type="JSON"))
    assert found == WriterSchema(1, SchemaType.JSON, b"{}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "XML"}, 'its type "XML" is none of AVRO, PROTOBUF, JSON'),
        ({"references": [("a", "absent", 1)]}, 'the registry has no version 1 of subject "absent", which it names'),
        ({"type": "PROTOBUF", "references": [("../a.proto", "t-value", 1)]}, "not the name of a file"),
    ],
)
def test_schema_that_cannot_be_used(registry, options, message):
    with pytest.raises(UnusableSchemaError, match=message):
        client_of(registry).schema(registry.register("{}", **options))


def test_schema_that_is_too_large(registry):
    with pytest.raises(UnusableSchemaError, match="more than 1024 KiB"):
        client_of(registry).schema(registry.register("x" * (1 << 20)))


@pytest.mark.parametrize(
    ("broken", "error", "message"),
    [
        ((503, b""), RegistryUnavailableError, "answered 503 Service Unavailable"),
        ((429, b""), RegistryUnavailableError, "answered 429"),
        ((404, b"<html>"), RegistryRefusedError, "answered: 404 Not Found; check `url`"),
        ((404, b'{"error_code": 40401}'), RegistryRefusedError, "404 Not Found"),
        ((403, b""), RegistryRefusedError, "403 Forbidden; check `auth`"),
        ((301, b"/"), RegistryRefusedError, "301 Moved Permanently"),
        ((200, b"<html>"), RegistryRefusedError, "not that of a schema registry"),
        ((200, b"[]"), RegistryRefusedError, "not that of a schema registry"),
    ],
)
def test_answer_that_says_nothing_about_the_schema(registry, broken, error, message):
    """Events must not fail for it: the pipeline is blocked until the registry is corrected."""
    registry.broken = broken
    with pytest.raises(error, match=message) as raised:
        client_of(registry).schema(7)
    assert raised.value.disposition is Disposition.RETRY


def test_answer_without_a_text(registry):
    registry.broken = 200, b'{"schema": 5}'
    with pytest.raises(UnusableSchemaError, match="no text"):
        client_of(registry).schema(7)


def test_registry_that_does_not_answer():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = RegistryClient(RegistryOptions(url=f"http://127.0.0.1:{unused.getsockname()[1]}"))
        with pytest.raises(RegistryUnavailableError, match="refused"):
            client.schema(7)


@pytest.mark.parametrize(
    ("auth", "login"),
    [
        ({"username": "ann", "password": "größe"}, "Basic YW5uOmdyw7bDn2U="),
        ({"token": "t0k3n"}, "Bearer t0k3n"),
    ],
)
def test_login(registry, auth, login):
    registry.login = login
    assert client_of(registry, auth=auth).check() == "schemas of JSON, PROTOBUF, AVRO"
    with pytest.raises(RegistryRefusedError, match="401") as raised:
        client_of(registry).check()
    assert "t0k3n" not in str(raised.value)


def test_path_before_that_of_the_api(registry):
    registry.broken = 200, b'["AVRO"]'
    client_of(registry, url=f"{registry.url}/apis/ccompat/v7/").check()
    assert registry.requests == ["/apis/ccompat/v7/schemas/types"]


def test_tls(tmp_path):
    certificates = Authority(tmp_path / "authority")
    with serving_registry(Registry(), certificate=certificates.issue("registry")) as registry:
        trusted = {"tls": {"ca_file": str(certificates.certificate)}}
        assert client_of(registry, **trusted).check()
        with pytest.raises(RegistryUnavailableError, match="certificate verify failed"):
            client_of(registry).check()
        with pytest.raises(RegistryRefusedError, match=r'"/absent.pem" cannot be used.*`tls` under `registry`'):
            client_of(registry, tls={"ca_file": "/absent.pem"}).check()
