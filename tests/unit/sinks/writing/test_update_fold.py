"""The fold of a split's updates: the same result for every processor, and few merges for those that merge all."""

from collections.abc import Sequence

import pytest

from ingest.api import Durability, MappingError, NotMergeableError, Put
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from sinks.updates.processors.max import Max
from sinks.updates.processors.merge_json import MergeJson
from sinks.updates.processors.sum import Sum
from sinks.writing.update_fold import UpdateFold

EVENTS = 1_000
LARGEST = (2**63 - 1).to_bytes(8, "big")
ONE = (1).to_bytes(8, "big")
INT64_SUMS = Merging(Sum(Sum.settings_class()(type="int64")))


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


def put(value: bytes, column: bytes = b"c:n") -> tuple[str, Put]:
    return "t", Put(b"k", {column: value}, 5)


def taken(fold: UpdateFold) -> dict[bytes, bytes]:
    """The columns of the only update row."""
    ((_, mutation),) = fold.take(5, 0)
    assert isinstance(mutation, Put)
    return dict(mutation.columns)


def test_updates_that_can_all_be_merged_are_merged_many_at_once() -> None:
    found = []
    for processor in (Counted(Counted.settings_class()()), OneByOne(OneByOne.settings_class()())):
        fold = UpdateFold({"t": Merging(processor)})
        for number in range(EVENTS):
            fold.add(*put(b'{"%d": 1}' % number))
        found.append((taken(fold), processor.merged_bytes))
    (columns, at_once), (others, one_by_one) = found
    assert columns == others
    assert one_by_one > 20 * at_once


def test_event_whose_update_cannot_be_merged_changes_nothing() -> None:
    fold = UpdateFold({"t": INT64_SUMS})
    fold.add(*put(LARGEST))
    with pytest.raises(MappingError) as refused:
        fold.add(*put(ONE))
    assert refused.value.code == "not_mergeable"
    assert taken(fold) == {b"c:n": LARGEST}


def test_puts_of_one_event_are_checked_one_after_the_other() -> None:
    fold = UpdateFold({"t": INT64_SUMS, "last": Merging(LastN(LastN.settings_class()(n=2)))})
    fold.check([put(LARGEST), put(LARGEST, b"c:m")])
    fold.check([("last", Put(b"k", {b"c:n": b"a"}, 5))] * 2)
    with pytest.raises(MappingError):
        fold.check([put(LARGEST), put(ONE)])
    assert list(fold.take(5, 0)) == []


def test_processor_that_cannot_merge_what_it_should_ends_the_task() -> None:
    fold = UpdateFold({"t": Merging(Broken(Broken.settings_class()()))})
    fold.add(*put(b"{}"))
    fold.add(*put(b"{}"))
    with pytest.raises(NotMergeableError, match='c:n": the processor "merge_json" failed: ZeroDivisionError'):
        taken(fold)


@pytest.mark.parametrize("kind", [Sum, Max])
def test_split_has_nothing_of_the_one_before(kind: type[Sum | Max]) -> None:
    fold = UpdateFold({"t": Merging(kind(kind.settings_class()()))})
    fold.add("t", Put(b"k", {b"c:n": b"1"}, 5, Durability.SYNC))
    fold.withdraw("t", b"gone")
    assert len(list(fold.take(5, 0))) == 2
    fold.add("t", Put(b"l", {b"c:n": b"2"}, 5, Durability.ASYNC))
    fold.add("t", Put(b"l", {b"c:m": b"3"}, 5, Durability.FSYNC))
    fold.add("t", Put(b"l", {b"c:m": b"4"}, 5, Durability.ASYNC))
    ((_, put),) = fold.take(5, 1)
    assert isinstance(put, Put)
    assert (UpdateKey.decoded(put.row).row, put.durability) == (b"l", Durability.FSYNC)
    fold.add("t", Put(b"l", {b"c:n": b"5"}, 5, Durability.SYNC))
    fold.clear()
    assert list(fold.take(5, 2)) == []
