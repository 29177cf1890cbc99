"""The oldest committed position of the tables of a pipeline, in several stores."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.plan.stores import reading_store_if_exists
from ingest.service.rewriting.table_group import OldestPosition, table_group
from sinks.rewriting.store_calls import StoreCalls, one_at_a_time
from tests.support.counters import FILE, T, commit, opened
from tests.support.updated_table import TABLE, UpdateWriter

CATALOG = Catalog()
STORES = {"stores: {local: {rocksdb: {path: ./data}}}": "stores: {near: {rocksdb: {path: ./near}}, local: "
          "{rocksdb: {path: ./data}}}", "processor: sum}}\n  plain": "processor: sum}, store: near}\n  plain",
          "{families: {c: {}}}\n  unw": "{families: {c: {}}, store: local}\n  unw",
          "processor: sum}}\npipe": "processor: sum}, store: local}\npipe",
          "table: counters,": "table: counters, store: near,"}  # fmt: skip
SECOND = """\
      - hbase: {table: unwritten, store: local, row_key: {template: x}, cells: [{family: c, qualifier: n, value: "1"}]}
"""


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """A pipeline that writes a table in the store near, and another one in the store local."""
    monkeypatch.chdir(tmp_path)
    text = FILE
    for before, after in STORES.items():
        assert before in text
        text = text.replace(before, after)
    Path("p.yaml").write_text(text + SECOND)
    return load("p.yaml", env={}, lookup=CATALOG)


def oldest(configuration: Configuration, table: UpdateWriter, name: str = TABLE) -> OldestPosition | None:
    with ExitStack() as stack:
        calls: dict[str, StoreCalls] = {"near": table.calls}
        beside, exists = stack.enter_context(reading_store_if_exists(configuration.stores["local"], CATALOG))
        if exists:
            calls["local"] = StoreCalls(one_at_a_time(beside))
        group = table_group(configuration, configuration.pipelines["hits"], calls)
        return group.oldest_committed(name)


def test_committed_positions_of_all_stores_count(configuration: Configuration):
    table = UpdateWriter()
    assert oldest(configuration, table) is None
    table.commit(T)
    assert oldest(configuration, table) == OldestPosition(TABLE, T)  # the other store does not exist yet
    commit(T - 1, "unwritten")
    assert oldest(configuration, table) == OldestPosition("unwritten", T - 1)
    commit(T + 1, "unwritten")
    assert oldest(configuration, table) == OldestPosition(TABLE, T)


def test_table_without_a_committed_position_has_no_oldest_committed_position(configuration: Configuration):
    commit(T, "unwritten")
    with opened():
        assert oldest(configuration, UpdateWriter()) is None
