"""
Row keys of update rows: `encoded logical row key ‖ start ‖ end`, start and end as signed 64-bit big-endian numbers.

- Both are update ids: `batch time in ms << 20 | split`, where the split is the rank of a split in its micro-batch. So
  a micro-batch that runs again writes the same keys, and no two updates of a row share one.
- An end of 0 marks an update as a task wrote it; a merged row covers the update ids from `start` to `end`.
- The update rows of a logical row are in order of their starts. A raw update precedes a merged row with its start.
- Logical row keys are encoded so that none is a prefix of another: 00 becomes 00 ff, and 00 ends the key. The order of
  the logical row keys is kept, because the byte after the end is the first of a start, at most 7f.

Source: HBaseHUT's HutRowKeyUtil, with an encoding of the logical row key and finer update ids.
"""

from struct import Struct
from typing import NamedTuple

from ingest.api import MAX_ROW_KEY_BYTES
from ingest.api.sink import MAX_SPLITS

SPLIT_BITS = MAX_SPLITS.bit_length() - 1
MAX_BATCH_TIME_MS = (2**63 - 1) >> SPLIT_BITS
"""The latest time of a micro-batch that writes updates, in the year 2248."""
MAX_UPDATED_ROW_BYTES = MAX_ROW_KEY_BYTES - 17
"""Length of a logical row key, each byte 00 counted twice; one byte ends it, 16 are start and end."""

_TIMES = Struct(">qq")
TIMES_BYTES = _TIMES.size
"""Number of bytes after the encoded logical row key."""
_ID = Struct(">q")
LAST_UPDATE_ID = 2**63 - 1
"""No update id is after it."""


class UpdateKey(NamedTuple):
    """
    The row key of an update row.

    Attributes:
        row: the logical row key.
        start: first update id that the row covers; positive.
        end: last update id that it covers; 0 for an update as a task wrote it.
    """

    row: bytes
    start: int
    end: int = 0

    @property
    def is_merged(self) -> bool:
        """Whether the row was merged of others."""
        return self.end != 0

    @property
    def last(self) -> int:
        """The last update id that the row covers."""
        return self.end or self.start

    def encoded(self) -> bytes:
        """The row key as bytes."""
        return encoded_row(self.row) + _TIMES.pack(self.start, self.end)

    @classmethod
    def decoded(cls, key: bytes) -> "UpdateKey":
        """
        The parts of a row key.

        Raises:
            ValueError: it is not the key of an update row.
        """
        return cls(*_parts_of(key))


def update_id_of(time_ms: int, split: int) -> int:
    """The id of the updates of one split of a micro-batch."""
    return time_ms << SPLIT_BITS | split


def time_of(update_id: int) -> int:
    """The batch time of an update id, in ms."""
    return update_id >> SPLIT_BITS


def split_of(update_id: int) -> int:
    """The rank of the split of an update id in its micro-batch."""
    return update_id & (MAX_SPLITS - 1)


def last_update_id_of(time_ms: int) -> int:
    """The last update id that a micro-batch of this time can write."""
    return update_id_of(time_ms, MAX_SPLITS - 1)


def encoded_row(row: bytes) -> bytes:
    """A logical row key, encoded: the prefix of its update rows and of no other."""
    return row.replace(b"\x00", b"\x00\xff") + b"\x00"


def logical_of(key: bytes) -> bytes:
    """
    The logical row key of an update row.

    Raises:
        ValueError: it is not the key of an update row.
    """
    return _parts_of(key)[0]


def update_id_in(key: bytes) -> int:
    """The first update id in the row key of an update row, which is not checked further."""
    first: int = _ID.unpack(key[-TIMES_BYTES:][: _ID.size].rjust(_ID.size, b"\x00"))[0]
    return first


def rows_of(row: bytes, first: int = 1, last: int = LAST_UPDATE_ID) -> tuple[bytes, bytes]:
    """The range [start, stop) of keys of the update rows of a logical row that start from `first` to `last`."""
    prefix = encoded_row(row)
    stop = prefix + b"\x80" if last == LAST_UPDATE_ID else prefix + _ID.pack(last + 1)
    return prefix + _ID.pack(first), stop


def range_of(start: bytes, stop: bytes | None) -> tuple[bytes, bytes | None]:
    """The range [start, stop) of keys of the update rows of a range of logical row keys."""
    return encoded_row(start) if start else b"", None if stop is None else encoded_row(stop)


def divided_row(key: bytes) -> bytes | None:
    """The logical row that has update rows both before a key and from it on; None if there is no such row."""
    at = key.find(b"\x00")
    while at >= 0 and key[at + 1 : at + 2] == b"\xff":
        at = key.find(b"\x00", at + 2)
    return None if at < 0 or at + 1 == len(key) else _decoded_row(key[:at])


def whole_row_start(key: bytes) -> bytes:
    """A key, moved to the first one of the logical row whose update rows it would divide."""
    row = divided_row(key)
    return key if row is None else encoded_row(row)


def _parts_of(key: bytes) -> tuple[bytes, int, int]:
    row = key[: -TIMES_BYTES - 1]
    if len(key) > TIMES_BYTES and key[len(row)] == 0:
        start, end = _TIMES.unpack_from(key, len(key) - TIMES_BYTES)
        if start > 0 and (end == 0 or end >= start):
            return _decoded_row(row) if 0 in row else row, start, end
    raise ValueError("the row key is not the key of an update row")


def _decoded_row(encoded: bytes) -> bytes:
    if encoded.count(b"\x00") != encoded.count(b"\x00\xff"):
        raise ValueError("the row key is not the key of an update row")
    return encoded.replace(b"\x00\xff", b"\x00")
