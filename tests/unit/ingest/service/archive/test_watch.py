"""Metrics of archived tables."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.service.archive.watch import ArchiveWatch
from ingest.service.archived_tables import archived_table
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from tests.support.archives import DAY_MS, START_S, Writer, event, files_of

FILE = """
version: 1
pipelines:
  p:
    source: {kafka: {topics: [t], brokers: localhost:1}}
    sinks:
      - archive: {root: ./archive, table: customer}
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(FILE)
    return SimpleNamespace(configuration=load("p.yaml", env={}, lookup=Catalog()))


def rendered(shared: Any) -> dict[str, float]:
    metrics = Metrics(process=False)
    ArchiveWatch(lambda: shared, metrics).check()
    lines = [line for line in metrics.render()[1].decode().splitlines() if line.startswith("attr2hbase_archive_")]
    return {name.partition("{")[0]: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_sizes_of_a_table(shared: Any):
    assert rendered(shared) == {
        "attr2hbase_archive_files": 0,
        "attr2hbase_archive_superseded_bytes": 0,
        "attr2hbase_archive_incomplete_versions": 0,
    }
    root = archived_table(shared.configuration, "customer").root
    Writer(root).run(DAY_MS, [event(1)], [event(2)])
    partition = Partition(root, "dt=20151210")
    old = sum(len(root.read(partition.path(START_S, name))) for name in files_of(root, partition, START_S))
    partition.create(START_S, "failed")
    with Rewrite(partition, "test") as rerun:
        rerun.finish()
    Writer(root).run(DAY_MS + 1, [event(3)])
    assert rendered(shared) == {
        "attr2hbase_archive_files": 1,
        "attr2hbase_archive_superseded_bytes": old,
        "attr2hbase_archive_incomplete_versions": 1,
    }


def test_archive_that_cannot_be_listed_is_left_out(shared: Any, tmp_path: Path):
    (tmp_path / "archive").write_bytes(b"a file")
    assert rendered(shared) == {}


def test_nothing_is_watched_before_the_pipelines_are_built():
    assert rendered(None) == {}
