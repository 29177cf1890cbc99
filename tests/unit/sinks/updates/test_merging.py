"""How columns of update rows are merged."""

import pytest

from ingest.api import MappingError
from sinks.updates.merging import MergedColumns, Merging, Unmerged
from sinks.updates.processors.merge_json import MergeJson
from sinks.updates.processors.sum import Sum
from tests.support.update_rows import SUM


def sums(**settings: str) -> Sum:
    return Sum(Sum.settings_class()(**settings))


def int64(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


LARGEST = int64(2**63 - 1)


@pytest.mark.parametrize(
    ("columns", "applies", "not_applies"),
    [
        ([], [b"f:a", b"g:"], []),
        ([b"f"], [b"f:a", b"f:"], [b"g:a", b"ff:a"]),
        ([b"f:a", b"g"], [b"f:a", b"g:a"], [b"f:b", b"f:"]),
        ([b"f:"], [b"f:"], [b"f:a"]),
    ],
    ids=["all", "a family", "a column and a family", "an empty qualifier"],
)
def test_columns_of_the_processor(columns: list, applies: list, not_applies: list) -> None:
    merging = Merging(sums(), columns)
    assert [column for column in (*applies, *not_applies) if merging.applies_to(column)] == applies


def test_of_other_columns_the_newest_value_wins() -> None:
    merging = Merging(sums(), [b"f"])
    rows = [{b"f:a": b"1", b"g:a": b"1", b"g:b": b"x"}, {b"g:a": b"2"}, {b"f:a": b"3"}]
    assert merging.merged(rows) == MergedColumns({b"f:a": b"4", b"g:a": b"2", b"g:b": b"x"})


def test_values_of_an_event_become_updates() -> None:
    merging = Merging(sums(), [b"f"])
    assert merging.updates({b"f:a": b"+1.50", b"g:a": b"+1.50"}) == {b"f:a": b"1.50", b"g:a": b"+1.50"}
    with pytest.raises(MappingError, match='"f:a": "many" is not a number') as refused:
        merging.updates({b"f:a": b"many"})
    assert refused.value.code == "not_a_number"


def test_a_column_that_cannot_be_merged_shows_its_newest_update() -> None:
    merged = SUM.merged([{b"f:a": b"1", b"f:b": b"1"}, {b"f:a": b"x"}, {b"f:a": b"3", b"f:b": b"4"}])
    assert merged.columns == {b"f:a": b"3", b"f:b": b"5"}
    assert merged.unmerged == (Unmerged(b"f:a", '"x" is not a number in decimal digits'),)


def test_a_single_update_is_not_merged() -> None:
    assert SUM.merged([{b"f:a": b"x"}]) == MergedColumns({b"f:a": b"x"})


def test_any_number_of_updates_are_merged() -> None:
    merger = SUM.merger()
    for number in range(1_000):
        merger.add({b"f:a": b"%d" % number})
    assert merger.merged() == MergedColumns({b"f:a": b"499500"})
    merger.add({b"f:a": b"500"})
    assert merger.merged() == MergedColumns({b"f:a": b"500000"})


def test_a_sum_beyond_64_bits_may_return() -> None:
    """Whether the updates fit depends on their sum alone, not on their order."""
    merger = Merging(sums(type="int64")).merger()
    for number in [LARGEST, *[int64(1)] * 300]:
        merger.add({b"f:a": number})
    assert [unmerged.column for unmerged in merger.merged().unmerged] == [b"f:a"]
    merger.add({b"f:a": int64(-301)})
    assert merger.merged() == MergedColumns({b"f:a": int64(2**63 - 2)})


class Buggy(Sum):
    """A processor of a plugin, with bugs."""

    kind = "buggy"

    def merge(self, updates):
        return len(updates) if b"7" in updates else updates[9]

    def result(self, update):
        raise KeyError(update)


def test_a_bug_of_a_processor_costs_only_its_columns() -> None:
    merging = Merging(Buggy(Sum.settings_class()()), [b"f"])
    rows = [{b"f:a": b"1", b"f:b": b"7", b"g:a": b"1"}, {b"f:a": b"2", b"f:b": b"8", b"g:a": b"2"}, {b"f:c": b"3"}]
    columns, unmerged = merging.results(merging.merged(rows))
    assert columns == {b"f:a": b"2", b"f:b": b"8", b"f:c": b"3", b"g:a": b"2"}
    assert [(column, reason.partition(" (")[0]) for column, reason in unmerged] == [
        (b"f:a", 'the processor "buggy" failed: IndexError: list index out of range'),
        (b"f:b", 'the processor "buggy" failed: TypeError: merge returned 2; it must return bytes'),
        (b"f:c", "the processor \"buggy\" failed: KeyError: b'3'"),
    ]


def test_lack_of_memory_is_no_bug_of_a_processor() -> None:
    class Exhausted(Sum):
        def merge(self, updates):
            raise MemoryError

    with pytest.raises(MemoryError):
        Merging(Exhausted(Sum.settings_class()())).merged([{b"f:a": b"1"}, {b"f:a": b"1"}])


def test_a_read_returns_the_results_of_updates() -> None:
    merging = Merging(MergeJson(MergeJson.settings_class()()), [b"f"])
    merged = merging.merged([{b"f:a": b'{"x":1}', b"g:a": b'{"x":null}', b"f:b": b"1"}, {b"f:a": b'{"x":null}'}])
    assert merged == MergedColumns({b"f:a": b'{"x":null}', b"g:a": b'{"x":null}', b"f:b": b"1"})
    columns, unmerged = merging.results(merged)
    assert columns == {b"f:a": b"{}", b"g:a": b'{"x":null}', b"f:b": b"1"}
    assert unmerged == (Unmerged(b"f:b", '"1" is not a JSON object, nor an array of some'),)
