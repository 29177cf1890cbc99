"""Row keys of a dry run, over the regions of the file or of the store."""

import json
from pathlib import Path

import pytest

from ingest.api import FamilySpec, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.test_cases import Given
from ingest.dry_run import DryRun
from ingest.dry_run.row_keys import RowKeySample
from ingest.dry_run.spread import analyses
from ingest.plan.assemble import plan_of
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore


@pytest.fixture
def configuration(tmp_path: Path):
    content = {
        "version": 1,
        "stores": {"logs": {"rocksdb": {"path": str(tmp_path / "data")}}},
        "tables": {"t": {"families": {"f": {}}, "splits": ["m"]}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in"}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{body}"}},
                    {"value": {"attribute": "2hb_f:q", "value": "v"}},
                ],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }
    file = tmp_path / "pipeline.yaml"
    file.write_text(json.dumps(content))
    return load(str(file), env={}, lookup=Catalog())


@pytest.fixture
def sample(configuration):
    made = RowKeySample()
    made.add(
        DryRun(plan_of(configuration, configuration.pipelines["p"], Catalog()), configuration.tables.values()),
        [Given(body=body) for body in ("a", "b", "x")],
    )
    return made


def test_regions_are_those_of_the_file(configuration, sample):
    [found] = analyses(configuration, Catalog(), sample, regions=2, prefixes=[b"a"])
    assert (found.store, found.table, found.is_from_store) == ("logs", "t", False)
    assert found.keys.current.writes == (2, 1)
    assert (found.keys.prefixes[0].prefix, found.keys.prefixes[0].rows) == (b"a", 1)


def test_regions_of_an_existing_table_are_those_of_its_store(configuration, sample, tmp_path: Path):
    # the store that the first write creates has no regions yet
    [found] = analyses(configuration, Catalog(), sample, regions=2, connect=True)
    assert not found.is_from_store
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data")))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    store.close()
    [found] = analyses(configuration, Catalog(), sample, regions=2, connect=True)
    assert found.is_from_store
    distribution = found.keys.current.layout.distribution
    assert distribution is not None
    assert distribution.buckets == 4
