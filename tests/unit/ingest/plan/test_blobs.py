"""Which large values the tasks of a plan move."""

from pathlib import Path

from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed, unpacked
from sinks.blobs.blob_options import BlobCompression, BlobOptions
from sinks.blobs.large_values import LargeValues

FILE = """\
version: 1
stores: {s: {hbase: {host: localhost}}, other: {hbase: {host: localhost}}}
tables:
  moved: {store: s, families: {f: {}}, blobs: {threshold: 2MiB, compression: zstd, name: large, sweep_after: 1h}}
  other_table: {store: s, families: {f: {}}, blobs: {threshold: 1MiB}}
  by_command: {store: s, families: {f: {}}, blobs: {}}
  elsewhere: {store: other, families: {f: {}}, blobs: {threshold: 1MiB}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators:
      - value: {attribute: 2hb_, value: '%{topic}-%{offset}'}
      - value: {attribute: '2hb_f:q', value: v}
    sinks: [{attr2hbase: {store: s, table: moved}}]
"""


def test_tables_with_a_threshold_in_the_stores_of_the_sinks(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(FILE)
    configuration = load(path, env={}, lookup=Catalog())
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    options = BlobOptions(compression=BlobCompression.ZSTD, sweep_after_s=3600)
    assert plan.features == {"s": {"moved": {"blobs": LargeValues("large", options, 2 << 20)}}}
    assert unpacked(packed(plan)).features == plan.features
    path.write_text(FILE.replace("table: moved", "table: '%{host}'"))
    configuration = load(path, env={}, lookup=Catalog())
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    assert plan.features["s"].keys() == {"moved", "other_table"}
