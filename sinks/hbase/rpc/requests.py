"""
Parts that messages of several calls have.

Source: HBase.proto, Client.proto.
"""

from collections.abc import Sequence

from ingest.api import ALL_TIMES, Durability, TimeRange, split_column
from sinks.hbase.protobuf import data, number

MUTATION_PUT, MUTATION_DELETE = 2, 3
"""MutationType of a MutationProto."""
DURABILITIES = {Durability.SKIP: 1, Durability.ASYNC: 2, Durability.SYNC: 3, Durability.FSYNC: 4}
"""Durability of a MutationProto; 0 is that of the table."""


def region_specifier(name: bytes) -> bytes:
    """A RegionSpecifier of HBase.proto with the region's name."""
    return number(1, 1) + data(2, name)


def columns_message(field: int, columns: Sequence[bytes] | None) -> bytes:
    """
    Columns as `repeated Column` of a Get or Scan; a family that is named as a whole has no qualifiers.

    HBase returns only the column if a request names a family and one of its columns.
    """
    families: dict[bytes, list[bytes] | None] = {}
    for column in columns or ():
        family, qualifier = split_column(column)
        wanted = families.setdefault(family, [])
        if qualifier is None or wanted is None:
            families[family] = None
        else:
            wanted.append(qualifier)
    return b"".join(
        data(field, data(1, family) + b"".join(data(2, qualifier) for qualifier in qualifiers or ()))
        for family, qualifiers in families.items()
    )


def time_range_message(field: int, times: TimeRange) -> bytes:
    """A range of timestamps as `optional TimeRange` of a Get or Scan; no bytes for all timestamps."""
    return b"" if times == ALL_TIMES else data(field, number(1, times.from_ms) + number(2, times.to_ms))
