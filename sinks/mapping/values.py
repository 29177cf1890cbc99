"""Bytes of a cell for the priority and the time of an event."""

import struct

from ingest.api import Priority
from sinks.mapping.guards import BadTimestampError

PRIORITY_BYTES = {priority: priority.value.encode() for priority in Priority}

_pack = struct.Struct(">q").pack


def time_bytes(timestamp_ms: int) -> bytes:
    """
    A time as 8 bytes, big-endian, as HBase's own tools write a long.

    Raises:
        MappingError: it does not fit.
    """
    try:
        return _pack(timestamp_ms)
    except struct.error as error:
        message = f"the time {timestamp_ms} ms does not fit into 64 bits"
        raise BadTimestampError(message, hint="set a time that fits") from error
