"""Feeds in RocksDB, as a service writes them: killed at any write, split and merged, with the row before a change."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pytest

from ingest.api import Delete, FamilySpec, FeedSpec, Mutation, Put, TableSpec
from ingest.clock import now_ms
from sinks.feed.change_feed import MergeRequest, SplitRequest
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.fed_table import FedTable, Splits


class KilledError(BaseException):
    """The process ends here."""


class Killed(RocksDBStore):
    """
    Ends at a write.

    Attributes:
        calls_left: number of writes before the end; None for no end.
    """

    calls_left: int | None = None

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self._end_if_due()
        super().apply(table, mutations)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        self._end_if_due()
        return super().set_property(table, name, before, value)

    def _end_if_due(self) -> None:
        if self.calls_left == 0:
            raise KilledError
        if self.calls_left is not None:
            self.calls_left -= 1


@contextmanager
def opened(folder: Path, spec: TableSpec) -> Iterator[FedTable]:
    settings = RocksDBSettings(path=str(folder / "store"), sync=False)
    store = Killed(settings)
    store.open()
    try:
        reader = RocksDBStore.reader(settings)
        with closing(FedTable(store, spec, incoming=folder / "incoming", reader=reader)) as table:
            yield table
    finally:
        store.calls_left = None
        store.close()


def spec_of(*, before: bool, shards: int = 2) -> TableSpec:
    return TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(3_600_000, shards, before))


def random_splits(random: Random, time_ms: int) -> Splits:
    """Mutations of three splits; a row key is always in the same one."""

    def mutation(rank: int) -> Mutation:
        row = b"row%d%d" % (rank, random.randrange(8))
        if random.random() < 0.2:
            return Delete(row, time_ms, random.choice((None, b"f")))
        return Put(row, {b"f:%d" % random.randrange(3): b"%d" % random.randrange(1_000)}, time_ms)

    return {rank: [mutation(rank) for _ in range(random.randrange(1, 12))] for rank in range(3)}


@pytest.mark.parametrize("before", [False, True], ids=["changes", "before"])
@pytest.mark.parametrize("kills", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_4c9_each_row_has_its_change_and_each_change_its_row_after_kills(
    tmp_path: Path, kills: int, before: bool
) -> None:
    random, spec = Random(7), spec_of(before=before)
    time_ms = now_ms()
    expected: dict[int, Splits] = {}
    killed = 0
    while killed < kills:
        time_ms += 2
        expected[time_ms] = splits = random_splits(random, time_ms)
        attempts = random.randrange(1, 4)
        for attempt in range(attempts):
            with opened(tmp_path, spec) as table:
                table.store.calls_left = random.randrange(3) if attempt + 1 < attempts else None
                try:
                    table.run(time_ms, splits)
                except KilledError:
                    killed += 1
                else:
                    break
    with opened(tmp_path, spec) as table:
        assert table.replica() == table.rows()
        assert {(change.time_ms, change.rank, change.row) for _, change in table.changes()} == {
            (at, rank, mutation.row)
            for at, splits in expected.items()
            for rank, mutations in splits.items()
            for mutation in mutations
        }
        if before:
            _check_before(table)


def _check_before(table: FedTable) -> None:
    """Each change has the cells that the changes of its row before it have left."""
    replica = MemoryStore()
    replica.open()
    replica.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    for _, change in sorted(table.changes(), key=lambda each: each[1].time_ms):
        found = replica.get("t", change.row)
        assert change.before == (() if found is None else found.cells)
        replica.apply("t", change.mutations())


def test_4c13_the_changes_of_a_row_are_in_write_order_through_splits_and_a_merge(tmp_path: Path) -> None:
    random, spec = Random(3), spec_of(before=False, shards=1)
    time_ms = now_ms()
    written: dict[bytes, list[int]] = defaultdict(list)
    requests = {20: SplitRequest(1, b"k5"), 45: SplitRequest(3, b"k8"), 70: MergeRequest((4, 5))}
    number = 0
    with opened(tmp_path, spec) as table:
        for batch in range(100):
            time_ms += 2
            if batch in requests:
                table.request(requests[batch])
            splits: dict[int, list[Mutation]] = {0: [], 1: []}
            for _ in range(100):
                key = random.randrange(100)
                row = b"k%02d" % key
                number += 1
                splits[key % 2].append(Put(row, {b"f:n": b"%d" % number}, time_ms))
                if written[row] and written[row][-1] >> 32 == time_ms:
                    written[row].pop()  # one change for each row, split and micro-batch
                written[row].append(time_ms << 32 | number)
            table.run(time_ms, splits)
        shards = table.feed().shards
        assert [(shard.number, shard.parents, shard.is_open) for shard in shards] == [
            (1, (), False),
            (2, (1,), True),
            (3, (1,), False),
            (4, (3,), False),
            (5, (3,), False),
            (6, (4, 5), True),
        ]
        # a reader reads parents before their children; numbers rise from parents to children
        read: dict[bytes, list[int]] = defaultdict(list)
        for shard, change in sorted(table.changes(), key=lambda each: each[0]):
            assert shards[shard - 1].takes(change.time_ms)
            assert shards[shard - 1].has(change.row)
            (column,) = change.columns
            read[change.row].append(change.time_ms << 32 | int(column.value or b""))
        assert read == written
        assert number == 10_000
        assert table.replica() == table.rows()
