"""The part `registry` of a file."""

import pytest

from ingest.api import ConfigInvalidError
from ingest.api.schemas import SchemaType, WriterSchema
from ingest.catalog import Catalog
from ingest.config import load
from ingest.registry.options import RegistryOptions

PIPELINE = """version: 1
registry: {registry}
stores: {{s: {{rocksdb: {{path: store}}}}}}
tables: {{t: {{families: {{f: {{}}}}}}}}
pipelines:
  p:
    source: {{files: {{path: "in"}}}}
    decorators: [{decorator}]
    sinks: [{{attr2hbase: {{table: t}}}}]
"""


def problems(tmp_path, registry, decorator="avro: {header: confluent}", env=None):
    """The problems of a file: line and column, and message."""
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE.format(registry=registry, decorator=f"{{{decorator}}}"))
    env = {"PASSWORD": "s3cret"} if env is None else env
    try:
        configuration = load(path, env=env, lookup=Catalog())
    except ConfigInvalidError as error:
        return [f"{each.location.line}:{each.location.column}: {each.message}" for each in error.report.errors]
    return [f"{each.location.line}: {each.message}" for each in configuration.report.warnings]


@pytest.mark.parametrize(
    "registry",
    [
        "{url: 'https://registry:8081'}",
        "{url: 'http://localhost:8081/apis/ccompat/v7'}",
        "{url: 'http://registry:8081', insecure: true}",
        "{url: 'https://registry', auth: {username: ann, password: '${PASSWORD}'}, tls: {}}",
        "{url: 'https://registry', auth: {token: '${PASSWORD}'}}",
    ],
)
def test_valid(tmp_path, registry):
    assert problems(tmp_path, registry) == []


@pytest.mark.parametrize(
    ("registry", "message"),
    [
        ("{}", '2:1: registry needs "url" or "schemas"'),
        ("{url: registry:8081}", '2:17: url "registry:8081" is not a URL; write https://HOST:PORT/PATH'),
        ("{url: 'https://r/?a=b'}", '2:17: url "https://r/?a=b" is not a URL; write https://HOST:PORT/PATH'),
        ("{url: 'https://ann:x@r'}", "2:17: a URL is printed in messages, so it cannot have a password; write `auth`"),
        ("{url: 'http://localhost', tls: {}}", '2:17: url "http://localhost" has no TLS; write https://'),
        ("{url: 'https://r', auth: {username: ann}}", '2:30: auth needs "password" too'),
        (
            "{url: 'https://r', auth: {}}",
            "2:30: auth needs either `username` and `password`, or `token`",
        ),
        (
            "{url: 'https://r', auth: {username: 'a:b', password: '${PASSWORD}'}}",
            '2:47: "username" contains a colon or a control character',
        ),
        ("{url: 'https://r', auth: {token: opensesame}}", "2:44: a secret of registry is in plain text in the file"),
        ("{tls: {}}", '2:17: "tls" needs "url"'),
        ("{schemas: {a: {avro: x}}}", None),
        ("{url: 'https://r', schemas: {a: {}}}", "2:40: a schema needs either `avro` or `protobuf`"),
        ("{schemas: {7: {avro: absent.avsc}}}", '2:32: cannot use "absent.avsc"'),
    ],
)
def test_invalid(tmp_path, registry, message):
    (found,) = problems(tmp_path, registry)
    assert message is None or message in found


def test_url_of_another_machine_needs_tls(tmp_path):
    (found,) = problems(tmp_path, "{url: 'http://registry:8081'}")
    assert found.startswith(
        '2:17: url "http://registry:8081" is on another machine and there is no TLS; write https://'
    )


def test_decorator_without_registry(tmp_path):
    path = tmp_path / "pipeline.yaml"
    text = PIPELINE.format(registry="", decorator="{avro: {header: confluent}}").replace("registry: ", "state_dir: x")
    path.write_text(text)
    with pytest.raises(
        ConfigInvalidError, match=r"8:19: missing-field: avro has no schema, and the file has no registry"
    ):
        load(path, env={}, lookup=Catalog())


def test_registry_without_a_decorator(tmp_path):
    assert problems(tmp_path, "{url: 'https://r'}", "json: {header: confluent}") == [
        "2: no decorator uses the registry"
    ]


def test_declared_schemas(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    options = RegistryOptions.model_validate(
        {"schemas": {"7": {"avro": str(tmp_path / "a")}, "8": {"protobuf": str(tmp_path / "a")}}}
    )
    assert options.declared == {
        7: WriterSchema(7, SchemaType.AVRO, b"text"),
        8: WriterSchema(8, SchemaType.PROTOBUF, b"text"),
    }


@pytest.mark.parametrize("name", ["07", "-1", "2147483648", "x", ""])
def test_ids_of_declared_schemas(tmp_path, name):
    (tmp_path / "a").write_bytes(b"text")
    schemas = f"{{'{name}': {{avro: '{tmp_path / 'a'}'}}}}"
    assert "is not the ID of a schema" in problems(tmp_path, f"{{schemas: {schemas}}}")[0]


def test_printed_configuration_has_no_secret(tmp_path):
    path = tmp_path / "pipeline.yaml"
    registry = "{url: 'https://r', auth: {username: ann, password: '${PASSWORD}'}}"
    path.write_text(PIPELINE.format(registry=registry, decorator="avro: {header: confluent}"))
    configuration = load(path, env={"PASSWORD": "s3cret-text"}, lookup=Catalog())
    assert "s3cret-text" not in repr(configuration) + repr(configuration.effective)
