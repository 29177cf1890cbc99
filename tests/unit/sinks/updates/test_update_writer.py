"""The fold of a split's updates: the same result for every processor, and few merges for those that merge all."""

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.api import Delete, Durability, MappingError, Mutation, NotMergeableError, Processor, Put, WriteCounts
from ingest.api.table_writer import FlushCycle, Reason, TableWriter
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from sinks.updates.processors.max import Max
from sinks.updates.processors.merge_json import MergeJson
from sinks.updates.processors.sum import Sum
from sinks.updates.update_writer import UpdateWriter

EVENTS = 1_000
LARGEST = (2**63 - 1).to_bytes(8, "big")
ONE = (1).to_bytes(8, "big")
INT64_SUM = Sum(Sum.settings_class()(type="int64"))


class Counted(MergeJson):
    """Counts the bytes that it merges."""

    merged_bytes = 0

    def merge(self, updates: Sequence[bytes]) -> bytes:
        self.merged_bytes += sum(map(len, updates))
        return super().merge(updates)


class OneByOne(Counted):
    """A processor that says nothing of what it can merge."""

    merges_all = False


class Broken(MergeJson):
    """Merges nothing, whatever it says."""

    def merge(self, updates: Sequence[bytes]) -> bytes:
        raise ZeroDivisionError


class Sent(TableWriter):
    """The next writer: keeps what it gets."""

    def __init__(self) -> None:
        self.mutations: list[Mutation] = []

    def begin(self, cycle: FlushCycle) -> None:
        """Keep what is there."""

    def split_start(self, rank: int) -> None:
        """Keep what is there."""

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Everything can be added."""

    def add(self, table: str, mutation: Mutation) -> None:
        self.mutations.append(mutation)

    def split_end(self) -> None:
        """Keep what is there."""

    def send(self) -> None:
        """Keep what is there."""

    def flush(self) -> None:
        """Keep what is there."""

    def take_refused(self, table: str) -> dict[bytes, Reason]:
        return {}


class Updated(UpdateWriter):
    """The writer of one table, in a split; `taken` ends it and starts the next one."""

    def __init__(self, processor: Processor[Any]) -> None:
        self.sent = Sent()
        super().__init__(self.sent, "t", Merging(processor), store_name="s", withdraws=True)
        refused = {("t", b"gone"): ("write_rejected", "too bad")}
        self.begin(FlushCycle(5, WriteCounts(), refused))
        self.split_start(0)

    def taken(self) -> list[Mutation]:
        self.split_end()
        found, self.sent.mutations = self.sent.mutations, []
        self.split_start(1)
        return found

    def columns(self) -> dict[bytes, bytes]:
        """The columns of the only update row."""
        (mutation,) = self.taken()
        assert isinstance(mutation, Put)
        return dict(mutation.columns)


def put(value: bytes, column: bytes = b"c:n") -> Put:
    return Put(b"k", {column: value}, 5)


def test_updates_that_can_all_be_merged_are_merged_many_at_once() -> None:
    found = []
    for processor in (Counted(Counted.settings_class()()), OneByOne(OneByOne.settings_class()())):
        table = Updated(processor)
        for number in range(EVENTS):
            table.add("t", put(b'{"%d": 1}' % number))
        found.append((table.columns(), processor.merged_bytes))
    (columns, at_once), (others, one_by_one) = found
    assert columns == others
    assert one_by_one > 20 * at_once


def test_event_whose_update_cannot_be_merged_changes_nothing() -> None:
    table = Updated(INT64_SUM)
    table.add("t", put(LARGEST))
    with pytest.raises(MappingError) as refused:
        table.add("t", put(ONE))
    assert refused.value.code == "not_mergeable"
    assert table.columns() == {b"c:n": LARGEST}


def test_event_whose_cells_have_a_time_to_live_changes_nothing() -> None:
    table = Updated(INT64_SUM)
    table.add("t", put(ONE))
    with pytest.raises(MappingError) as refused:
        table.add("t", Put(b"k", {b"c:n": ONE}, 5, ttl_ms=5))
    assert refused.value.code == "ttl_refused"
    assert table.columns() == {b"c:n": ONE}


def test_puts_of_one_event_are_checked_one_after_the_other() -> None:
    table, last = Updated(INT64_SUM), Updated(LastN(LastN.settings_class()(n=2)))
    table.check("t", [put(LARGEST), put(LARGEST, b"c:m")])
    last.check("t", [Put(b"k", {b"c:n": b"a"}, 5)] * 2)
    with pytest.raises(MappingError):
        table.check("t", [put(LARGEST), put(ONE)])
    assert table.taken() == last.taken() == []


def test_processor_that_cannot_merge_what_it_should_ends_the_task() -> None:
    table = Updated(Broken(Broken.settings_class()()))
    table.add("t", put(b"{}"))
    table.add("t", put(b"{}"))
    with pytest.raises(NotMergeableError, match='c:n": the processor "merge_json" failed: ZeroDivisionError'):
        table.taken()


@pytest.mark.parametrize("kind", [Sum, Max])
def test_split_has_nothing_of_the_one_before(kind: type[Sum | Max]) -> None:
    table = Updated(kind(kind.settings_class()()))
    table.add("t", Put(b"k", {b"c:n": b"1"}, 5, Durability.SYNC))
    with pytest.raises(MappingError, match="too bad"):
        table.add("t", Put(b"gone", {b"c:n": b"1"}, 5))
    update, withdrawn = table.taken()
    assert isinstance(update, Put)
    assert isinstance(withdrawn, Delete)
    assert UpdateKey.decoded(withdrawn.row).row == b"gone"
    table.add("t", Put(b"l", {b"c:n": b"2"}, 5, Durability.ASYNC))
    table.add("t", Put(b"l", {b"c:m": b"3"}, 5, Durability.FSYNC))
    table.add("t", Put(b"l", {b"c:m": b"4"}, 5, Durability.ASYNC))
    (update,) = table.taken()
    assert isinstance(update, Put)
    assert (UpdateKey.decoded(update.row).row, update.durability) == (b"l", Durability.FSYNC)
    table.add("t", Put(b"l", {b"c:n": b"5"}, 5, Durability.SYNC))
    table.split_start(2)
    assert table.taken() == []
