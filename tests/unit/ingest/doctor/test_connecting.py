"""Connections that `validate --connect` and `doctor` check."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.doctor.connecting import checks
from tests.support.registry import Registry, serving_registry

PIPELINE = """version: 1
registry: {{url: {url}}}
stores: {{s: memory}}
pipelines:
  p:
    source: {{files: {{path: in}}}}
    decorators: [avro: {{header: confluent}}]
    sinks: [{{attr2hbase: {{table: t}}}}]
"""


@pytest.fixture
def registry():
    with serving_registry(Registry()) as served:
        yield served


def test_registry_is_asked(tmp_path, registry):
    file = tmp_path / "p.yaml"
    file.write_text(PIPELINE.format(url=registry.url))
    catalog = Catalog()

    def check():
        found = checks(load(file, env={}, lookup=catalog), catalog)
        return next(each for each in found if each.what == "schema registry")

    assert (check().found, check().error) == ("schemas of JSON, PROTOBUF, AVRO", None)
    registry.broken = 403, b""
    assert check().error.code == "registry_refused"
    assert check().location == f"{file}:2:11"
