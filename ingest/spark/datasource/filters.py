"""Filters of Spark on the row key, as ranges of row keys."""

from collections.abc import Callable

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from ingest.api import next_key
from ingest.spark.datasource.columns import RowKey
from sinks.scanning.partitions import EVERYTHING, Range, point, prefixed

_COMPARISONS: dict[type[Filter], Callable[[bytes], Range]] = {
    EqualTo: point,
    EqualNullSafe: point,
    GreaterThan: lambda key: (next_key(key), None),
    GreaterThanOrEqual: lambda key: (key, None),
    LessThan: lambda key: (b"", key),
    LessThanOrEqual: lambda key: (b"", next_key(key)),
    StringStartsWith: prefixed,
}


def ranges_of(condition: Filter, row: RowKey) -> list[Range] | None:
    """
    The row keys that satisfy a filter, as disjoint ranges in byte order; None if it is no such filter.

    The result is exact: Spark compares text and bytes in byte order, too.
    """
    if getattr(condition, "attribute", None) != (row.name,):
        return None
    if isinstance(condition, IsNotNull):
        return [EVERYTHING]
    if isinstance(condition, In):
        keys = [_key(value, row) for value in condition.value if value is not None]
        return None if None in keys else [point(key) for key in sorted({key for key in keys if key is not None})]
    comparison = _COMPARISONS.get(type(condition))
    key = _key(getattr(condition, "value", None), row)
    return None if comparison is None or key is None else [comparison(key)]


def _key(value: object, row: RowKey) -> bytes | None:
    if row.is_text:
        return value.encode() if isinstance(value, str) else None
    return bytes(value) if isinstance(value, bytes | bytearray) else None
