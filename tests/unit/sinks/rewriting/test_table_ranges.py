"""Ranges of a table that divide no logical row, and their rows in pages."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.rewriting.table_ranges import rows_in_pages, whole_row_ranges
from sinks.rowkeys.distribution import Distribution
from sinks.updates.keys import UpdateKey, encoded_row, rows_of
from tests.support.update_rows import VALUE
from tests.support.updated_table import TABLE, UpdateWriter

KEYS = st.binary(max_size=4) | st.lists(st.sampled_from([0, 1, 255, 97]), max_size=5).map(bytes)


@given(st.lists(KEYS, min_size=1), st.lists(KEYS | st.binary(max_size=24), max_size=6), st.sampled_from([None, 1, 4]))
def test_no_logical_row_is_divided(rows: list[bytes], splits: list[bytes], buckets: int | None):
    distribution = Distribution.of(buckets)
    keys = [UpdateKey(row, start, end).encoded() for row in rows for start, end in ((1, 0), (2**40, 2**62))]
    cuts = {*splits, *keys} - {b""}
    if distribution is not None:
        cuts = {distribution.bucket(b"x") + cut for cut in cuts} | {*distribution.splits()}
    ranges = whole_row_ranges(cuts, distribution)
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
    assert whole_row_ranges([split], None) == [(b"", b"b\x00\xff\x00"), (b"b\x00\xff\x00", None)]
    assert whole_row_ranges([split, b"b\x00\xff\x00"], None) == whole_row_ranges([split], None)
    assert whole_row_ranges([b"m"], None) == [(b"", b"m"), (b"m", None)]


@pytest.mark.parametrize(
    ("page_rows", "page_bytes", "pages"),
    [
        (1, 1 << 20, [1, 1, 1, 1, 1, 1, 0]),
        (2, 1 << 20, [2, 2, 2, 0]),
        (100, 1, [1, 1, 1, 1, 1, 1, 0]),
        (100, 4, [4, 2]),
        (100, 1 << 20, [6]),
    ],
)
def test_pages_end_at_a_number_of_rows_or_bytes(
    page_rows: int, page_bytes: int, pages: list[int], monkeypatch: pytest.MonkeyPatch
):
    set_pages(monkeypatch, page_rows, page_bytes)
    table, sizes = with_rows(None), []

    def calls(action):
        page, is_last = table.calls(action)
        sizes.append(len(page))
        return page, is_last

    found = [row.key for row in rows_in_pages(calls, TABLE, (b"", None), None)]
    assert found == [UpdateKey(row, start) for row in (b"a", b"b") for start in (1, 2, 3)]
    assert sizes == pages


@pytest.mark.parametrize("page_rows", [1, 2, 100])
def test_pages_of_a_bucket_have_logical_keys(page_rows: int, monkeypatch: pytest.MonkeyPatch):
    set_pages(monkeypatch, page_rows, 1 << 20)
    table, distribution = with_rows(2), Distribution(2)
    found = [
        [row.key for row in rows_in_pages(table.calls, TABLE, keys, distribution)]
        for keys in whole_row_ranges((), distribution)
    ]
    assert len(found) == 2
    assert all(keys == sorted(keys) for keys in found)
    assert sorted(key for keys in found for key in keys) == [
        UpdateKey(row, start) for row in (b"a", b"b") for start in (1, 2, 3)
    ]


def set_pages(monkeypatch: pytest.MonkeyPatch, rows: int, size: int) -> None:
    monkeypatch.setattr("sinks.rewriting.table_ranges.PAGE_ROWS", rows)
    monkeypatch.setattr("sinks.rewriting.table_ranges.PAGE_BYTES", size)


def with_rows(buckets: int | None) -> UpdateWriter:
    table = UpdateWriter(buckets=buckets)
    for row in (b"a", b"b"):
        for start in (1, 2, 3):
            table.add(row, start, {VALUE: b"1"})
    return table


@given(KEYS, KEYS)
def test_after_group(row: bytes, other: bytes):
    end = rows_of(row)[1]
    assert UpdateKey(row, 2**63 - 1, 2**63 - 1).encoded() < end
    if encoded_row(other) > encoded_row(row):
        assert UpdateKey(other, 1).encoded() >= end
