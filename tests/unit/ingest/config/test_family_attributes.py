"""Attributes of families by HBase's names."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {c: {hbase: OPTIONS}}
tables:
  t: {families: {f: {attributes: ATTRIBUTES}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    sinks: [{attr2hbase: {table: t}}]
"""
NATIVE = '{bootstrap_servers: "localhost:16000"}'


@pytest.fixture
def written(tmp_path):
    def made(attributes, options=NATIVE):
        path = tmp_path / "p.yaml"
        path.write_text(FILE.replace("ATTRIBUTES", attributes).replace("OPTIONS", options))
        return path

    return made


def test_values_are_as_hbase_keeps_them(written):
    path = written("{DATA_BLOCK_ENCODING: fast_diff, REPLICATION_SCOPE: 1, IN_MEMORY: true, BLOCKSIZE: 8192}")
    assert load(path, env={}, lookup=Catalog()).tables["t"].spec().attributes == (
        (b"f", "DATA_BLOCK_ENCODING", "FAST_DIFF"),
        (b"f", "REPLICATION_SCOPE", "1"),
        (b"f", "IN_MEMORY", "true"),
        (b"f", "BLOCKSIZE", "8192"),
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("{DATA_BLOCK_ENCODING: SLOW_DIFF}", 'DATA_BLOCK_ENCODING cannot be "SLOW_DIFF"'),
        ("{DATA_BLOK_ENCODING: DIFF}", '"DATA_BLOK_ENCODING" is no attribute of a family'),
        ("{VERSIONS: 3}", "write the option `versions` in place of VERSIONS"),
        ("{BLOCKSIZE: 64KB}", 'BLOCKSIZE cannot be "64KB"'),
        ("{IN_MEMORY: 1}", 'IN_MEMORY cannot be "1"'),
        ("{REPLICATION_SCOPE: 2}", 'REPLICATION_SCOPE cannot be "2"'),
        ("[IN_MEMORY]", "attributes must be a mapping, not a list"),
    ],
)
def test_what_hbase_would_not_understand_is_refused(written, attributes, message):
    """With a wrong value HBase changes the table, and then opens none of its regions."""
    (problem,) = problems_of(written(attributes))
    assert message in str(problem)


def test_store_without_attributes_is_a_warning(written):
    path = written("{IN_MEMORY: true}")
    path.write_text(path.read_text().replace("hbase: " + NATIVE, "rocksdb: {path: ./data}"))
    found = load(path, env={}, lookup=Catalog()).report.warnings
    (warning,) = (each for each in found if "attributes" in each.message)
    assert warning.message == "attributes of families have no effect: the store has none"
    assert (warning.location.line, warning.location.column) == (4, 34)


@pytest.mark.parametrize("options", ["{host: localhost}", "{}"])
def test_attributes_that_a_thrift_server_has_not_are_refused(written, options):
    path = written("{IN_MEMORY: true, BLOCKSIZE: 8192, BLOCKCACHE: false}", options)
    (problem,) = (each for each in problems_of(path) if "attribute" in each)
    assert problem == (
        "4:63: conflict: the hbase store is reached through a Thrift server, which has no attribute BLOCKSIZE; give "
        "the store `site`, `bootstrap_servers` or `zookeeper` in place of `host` and `port`"
    )
    assert not [each for each in problems_of(written("{IN_MEMORY: true}", options)) if "4:" in each[:2]]
