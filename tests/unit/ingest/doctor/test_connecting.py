"""Connections that `validate --connect` and `doctor` check."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.doctor.connecting import checks
from ingest.plan.stores import owned_store
from sinks.blobs.declared import blobs_in
from sinks.bulk_load.feature import BulkLoad
from sinks.table_records import ensure_declared
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


TABLES = """version: 1
stores: {{s: {{rocksdb: {{path: {folder}}}}}}}
tables: {{t: {{families: {{f: {{}}}}, blobs: {{compression: {compression}}}}}}}
pipelines:
  p:
    source: {{files: {{path: in}}}}
    decorators: [value: {{attribute: 2hb_, value: '%{{offset}}'}}, value: {{attribute: '2hb_f:q', value: v}}]
    sinks: [{{attr2hbase: {{table: t}}}}]
"""


def test_features_look_at_the_stores_of_their_tables(tmp_path):
    file, catalog = tmp_path / "p.yaml", Catalog()

    def declared(compression):
        file.write_text(TABLES.format(folder=tmp_path / "data", compression=compression))
        return load(file, env={}, lookup=catalog)

    configuration = declared("none")
    with owned_store(configuration.stores["s"], catalog) as store:
        for table in configuration.tables.values():
            ensure_declared(store, table.spec())
        blobs_in(store, configuration.tables["t"]).prepare()
    assert next(check.error for check in checks(configuration, catalog)) is None
    assert next(check.error.code for check in checks(declared("zstd"), catalog) if check.error) == "blobs_differ"


class Told(BulkLoad):
    """Bulk load that says the same of a table in a store without files."""

    def check(self, options, table, file):
        """Every store may have it."""

    def check_store(self, store, table):
        return "" if self.planned(table) is None else "files of {tables} are seen"


class WithTold(Catalog):
    def table_features(self):
        return (Told(), *(each for each in super().table_features() if each.name != Told.name))


LOADED = """version: 1
stores: {{s: {{rocksdb: {{path: {folder}}}}}}}
tables:
  t: {{families: {{f: {{}}}}, bulk_load: {modes[0]}}}
  u: {{families: {{f: {{}}}}, bulk_load: {modes[1]}}}
pipelines:
  p:
    source: {{files: {{path: in}}}}
    decorators: [value: {{attribute: 2hb_, value: '%{{offset}}'}}, value: {{attribute: '2hb_f:q', value: v}}]
    sinks: [{{attr2hbase: {{table: t}}}}]
"""


@pytest.mark.parametrize(
    ("modes", "clause"),
    [
        (("never", "never"), ""),
        (("auto", "never"), "; files of 1 table are seen"),
        (("auto", "auto"), "; files of 2 tables are seen"),
    ],
)
def test_what_features_found_is_told_once_with_the_number_of_tables(tmp_path, modes, clause):
    file, catalog = tmp_path / "p.yaml", WithTold()
    file.write_text(LOADED.format(folder=tmp_path / "data", modes=modes))
    configuration = load(file, env={}, lookup=catalog)
    with owned_store(configuration.stores["s"], catalog) as store:
        for table in configuration.tables.values():
            ensure_declared(store, table.spec())
    check = next(iter(checks(configuration, catalog)))
    assert (check.error, check.found) == (None, f"2 tables{clause}")
