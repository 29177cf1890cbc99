"""The benchmarks of counters: what they write, and what they compare."""

from collections import Counter
from contextlib import closing

import pytest

from ingest.api import Scan
from ingest.catalog import Catalog
from ingest.config import load
from ingest.pipeline.splits import first_places, ranked
from sinks.hbase.protobuf import Message
from sinks.rewriting.update_readers import MergedReader
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.bench import compaction, counting, killed_compaction
from tests.bench.compaction import MERGING, Figures, Size, create_updated, measured, write
from tests.bench.workload import written


class Address:
    """Names an HBase that does not run."""

    def store_options(self, _protocol):
        return {"bootstrap_servers": "localhost:1"}


def test_each_event_adds_one_to_the_counter_of_its_page(tmp_path):
    plan = counting.plan_for("t", Address(), tmp_path, updates=False)
    ((first, *_), _) = counting.micro_batches(100)
    (put,) = counting.puts_of(plan, [first], 5)
    assert (put.row, put.columns, put.timestamp_ms) == (first.value.split()[0], {b"c:hits": b"\0" * 7 + b"\1"}, 5)


def test_compacted_table_is_recorded_as_its_file_declares_it(tmp_path):
    file = written({"version": 1, **killed_compaction.content(Address(), "t")}, tmp_path)
    table = load(file, env={}, lookup=Catalog()).tables["t"]
    assert table.spec().updates == compaction.IDENTITY


def test_micro_batches_are_the_same_in_every_run_and_have_two_splits():
    batches = counting.micro_batches(2_000)
    assert batches == counting.micro_batches(2_000)
    assert [len(batch) for batch in batches] == [1_000, 1_000]
    for batch in batches:
        assert len(ranked(first_places(batch))) == counting.PARTITIONS
        assert len({record.place for record in batch}) == len(batch)


def test_pages_follow_zipfs_law():
    (records, _) = counting.micro_batches(100_000)
    hits = Counter(record.value.split()[0] for record in records)
    (first, second) = (hits[b"/shop/item/%05d" % rank] for rank in (0, 1))
    assert len(hits) <= counting.KEYS
    assert first / second == pytest.approx(2, rel=0.1)


def test_gets_of_a_call_name_the_region_the_rows_and_the_column():
    (region,) = Message(counting.gets(b"t,,1.", [b"a", b"b"])).messages(1)
    actions = region.messages(3)
    assert region.message(1).data(2) == b"t,,1."
    assert [(action.number(1), action.message(3).data(1)) for action in actions] == [(0, b"a"), (1, b"b")]
    assert {action.message(3).message(2).data(1) for action in actions} == {b"c"}


@pytest.fixture
def store(tmp_path):
    with closing(RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))) as opened:
        opened.open()
        yield opened


def test_compaction_and_scans_of_a_store_are_measured(store):
    figures = measured(store, store.flush_removed, Size(keys=20, updates=3), runs=1)
    assert min(figures) > 0


def test_compaction_is_compared_with_a_scan_and_a_write_of_as_many_rows():
    figures = Figures(write_per_s=100.0, scan_per_s=50.0, compaction_per_s=25.0, plain_us=1.0, merged_us=1.0)
    assert figures.compaction_share == pytest.approx(0.75)


def test_merged_rows_are_those_of_the_plain_table(store):
    size = Size(keys=5, updates=4)
    create_updated(store, "t", size)
    write(store, "t", size.puts())
    found = {row.key: int.from_bytes(row.cells[0].value) for row in MergedReader.of(store, "t", MERGING).scan(Scan())}
    assert found == {compaction.row_of(key): size.total(key) for key in range(5)}
    assert [put.row for put in size.merged()] == list(found)


def test_sums_after_a_kill_are_compared(store):
    size = Size(keys=5, updates=4)
    create_updated(store, "t", size)
    puts = list(size.puts())
    write(store, "t", puts[:-1])
    with pytest.raises(RuntimeError, match="row b'/shop/item/00000004' is not exact"):
        killed_compaction.check_sums(store, "t", size)
    write(store, "t", puts[-1:])
    killed_compaction.check_sums(store, "t", size)
    with pytest.raises(RuntimeError, match="the scan returned 5 of 6 rows"):
        killed_compaction.check_sums(store, "t", Size(keys=6, updates=4))


def test_growth_of_memory_leaves_out_the_start():
    assert killed_compaction.growth([1, 1, 100, 100, 105, 105, 110, 110]) == pytest.approx(0.1)
    with pytest.raises(RuntimeError, match="too short"):
        killed_compaction.growth([1, 2, 3, 4, 5, 6, 7])


def test_table_with_other_rows_is_refused(store):
    create_updated(store, "t", Size(1, 1))
    with pytest.raises(RuntimeError, match="the scan returned 0 of 1 rows"):
        compaction.check_rows(store, "t", 1)
