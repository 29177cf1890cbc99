"""Filters on the row key as ranges."""

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from ingest.spark.datasource.columns import RowKey
from ingest.spark.datasource.filters import ranges_of
from sinks.scanning.partitions import Range

ROW = ("row",)
BINARY, TEXT = RowKey(), RowKey(is_text=True)


@pytest.mark.parametrize(
    ("condition", "ranges"),
    [
        (EqualTo(ROW, b"b"), [(b"b", b"b\x00")]),
        (EqualTo(ROW, bytearray(b"b")), [(b"b", b"b\x00")]),
        (EqualNullSafe(ROW, b"b"), [(b"b", b"b\x00")]),
        (GreaterThan(ROW, b"b"), [(b"b\x00", None)]),
        (GreaterThanOrEqual(ROW, b"b"), [(b"b", None)]),
        (LessThan(ROW, b"b"), [(b"", b"b")]),
        (LessThanOrEqual(ROW, b"b"), [(b"", b"b\x00")]),
        (In(ROW, (b"b", None, b"a", b"b")), [(b"a", b"a\x00"), (b"b", b"b\x00")]),
        (IsNotNull(ROW), [(b"", None)]),
    ],
)
def test_filters_on_the_row_key_are_ranges(condition: Filter, ranges: list[Range]):
    assert ranges_of(condition, BINARY) == ranges


def test_text_is_compared_as_its_bytes():
    assert ranges_of(StringStartsWith(ROW, "ü"), TEXT) == [(b"\xc3\xbc", b"\xc3\xbd")]
    assert ranges_of(EqualTo(ROW, "a"), TEXT) == [(b"a", b"a\x00")]


def test_the_row_key_may_have_another_name():
    assert ranges_of(EqualTo(("id",), b"b"), RowKey("id")) == [(b"b", b"b\x00")]
    assert ranges_of(EqualTo(ROW, b"b"), RowKey("id")) is None


@pytest.mark.parametrize(
    ("condition", "row"),
    [
        (EqualTo(("status",), b"b"), BINARY),
        (EqualTo(("row", "x"), b"b"), BINARY),
        (EqualTo(ROW, "b"), BINARY),
        (EqualTo(ROW, b"b"), TEXT),
        (EqualTo(ROW, None), BINARY),
        (In(ROW, (b"a", 1)), BINARY),
        (IsNull(ROW), BINARY),
        (StringContains(ROW, "b"), TEXT),
        (Not(EqualTo(ROW, b"b")), BINARY),
    ],
)
def test_spark_applies_all_other_filters(condition: Filter, row: RowKey):
    assert ranges_of(condition, row) is None
