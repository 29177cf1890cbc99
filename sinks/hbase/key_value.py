"""
A cell of HBase as a KeyValue, which a block of cells and a file both have.

Source: `org.apache.hadoop.hbase.KeyValue`; CellType of Cell.proto. All numbers are big-endian::

    4  length of the key: all from the row key's length to the type
    4  length of the value
    2  length of the row key
       row key
    1  length of the family
       family
       qualifier
    8  timestamp in ms
    1  type
       value

`assembling` joins the cells of a put.
"""

import struct

from ingest.api import Delete
from sinks.hbase import refusals

PUT, DELETE, DELETE_COLUMN, DELETE_FAMILY = 4, 8, 12, 14
"""Types of a cell: a value; a marker that hides one version, one for all older versions, and one for a family."""

FIXED_KEY_BYTES = 12
"""Of a key: the lengths of row key and family, timestamp and type."""
STAMP = struct.Struct(">QB")
"""Timestamp in ms, and type."""


def stamp(time_ms: int, kind: int) -> bytes:
    """
    Timestamp and type.

    Raises:
        RefusalError: HBase allows no such time.
    """
    refusals.check_time(time_ms)
    return STAMP.pack(time_ms, kind)


def marker_kind(delete: Delete) -> int:
    """The type of the marker that a delete is in a family."""
    if delete.qualifier is None:
        return DELETE_FAMILY
    return DELETE if delete.exact else DELETE_COLUMN
