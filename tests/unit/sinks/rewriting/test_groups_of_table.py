"""Pages of update rows, and ranges of a table that divide no original row."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.rewriting.groups_of_table import ranges_of, rows_in_pages
from sinks.rowkeys.distribution import Distribution
from sinks.updates.keys import UpdateKey, encoded_row, rows_of
from tests.support.update_rows import VALUE
from tests.support.updated_table import TABLE, UpdatedTable

KEYS = st.binary(max_size=4) | st.lists(st.sampled_from([0, 1, 255, 97]), max_size=5).map(bytes)


@given(st.lists(KEYS, min_size=1), st.lists(KEYS | st.binary(max_size=24), max_size=6), st.sampled_from([None, 1, 4]))
def test_no_original_row_is_divided(rows: list[bytes], splits: list[bytes], buckets: int | None):
    distribution = Distribution.of(buckets)
    keys = [UpdateKey(row, start, end).encoded() for row in rows for start, end in ((1, 0), (2**40, 2**62))]
    cuts = {*splits, *keys} - {b""}
    if distribution is not None:
        cuts = {distribution.bucket(b"x") + cut for cut in cuts} | {*distribution.splits()}
    ranges = ranges_of(cuts, distribution)
    for before, after in pairwise(ranges):
        assert before[1] is not None
        assert before[1] <= after[0]
    for row in rows:
        bucket = b"" if distribution is None else distribution.bucket(row)
        first, last = (bucket + UpdateKey(row, *times).encoded() for times in ((1, 0), (2**62, 2**63 - 1)))
        found = [[start <= key and (stop is None or key < stop) for start, stop in ranges] for key in (first, last)]
        assert found[0] == found[1]
        assert sum(found[0]) == 1


def test_a_region_that_starts_within_a_row_starts_before_it():
    split = UpdateKey(b"b\x00", 5).encoded()
    assert ranges_of([split], None) == [(b"", b"b\x00\xff\x00"), (b"b\x00\xff\x00", None)]
    assert ranges_of([split, b"b\x00\xff\x00"], None) == ranges_of([split], None)
    assert ranges_of([b"m"], None) == [(b"", b"m"), (b"m", None)]


@pytest.mark.parametrize("buckets", [None, 2])
@pytest.mark.parametrize(("page_rows", "page_bytes"), [(1, 1 << 20), (2, 1 << 20), (100, 1), (100, 4), (100, 1 << 20)])
def test_pages(buckets: int | None, page_rows: int, page_bytes: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sinks.rewriting.groups_of_table.PAGE_ROWS", page_rows)
    monkeypatch.setattr("sinks.rewriting.groups_of_table.PAGE_BYTES", page_bytes)
    table = UpdatedTable(buckets=buckets)
    for row in (b"a", b"b"):
        for start in (1, 2, 3):
            table.add(row, start, {VALUE: b"1"})
    found = [
        row.key
        for keys in ranges_of((), Distribution.of(buckets))
        for row in rows_in_pages(table.calls, TABLE, keys, Distribution.of(buckets))
    ]
    assert sorted(found) == sorted(UpdateKey(row, start) for row in (b"a", b"b") for start in (1, 2, 3))


@given(KEYS, KEYS)
def test_after_group(row: bytes, other: bytes):
    end = rows_of(row)[1]
    assert UpdateKey(row, 2**63 - 1, 2**63 - 1).encoded() < end
    if encoded_row(other) > encoded_row(row):
        assert UpdateKey(other, 1).encoded() >= end
