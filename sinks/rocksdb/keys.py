"""
How rows, columns and times become keys whose byte order is the order of cells in HBase.

One RocksDB column family holds one table, so the table is not in the key::

    text(row) text(family) 0x00 inverted(time)                                           delete of a family in a row
    text(row) text(family) 0x01 text(qualifier) 0x00 inverted(time)                      delete of a column in a row
    text(row) text(family) 0x01 text(qualifier) 0x01 inverted(time + 1) inverted(time)   delete of a version
    text(row) text(family) 0x01 text(qualifier) 0x01 inverted(time)                      a cell

The value of a cell's key is the cell's value, that of a delete the time at which it was written. The delete of a
version sorts between the cell of the next millisecond, whose key it continues, and the cell that it hides.

`text` ends with 0x00 0x01 and escapes 0x00 as 0x00 0xFF: so no text is a prefix of another, and texts sort as their
bytes do. Inverted times are 8 bytes, big-endian, 2**64 - 1 minus the time: the newest comes first, and a delete before
all that it hides.

Source: the escaping of ordered strings in Google's Orderly and FoundationDB's tuple layer.
"""

from struct import Struct

from ingest.formats.byte_numbers import NUL

END = b"\x00\x01"
COLUMNS = 1
CELL = 1

CELL_TAIL_BYTES = 9
"""Of a cell's key after its column; the key of a version delete is longer."""

_TIME = Struct(">Q")
_INVERT = (1 << 64) - 1


def encode_text(data: bytes) -> bytes:
    """Bytes in a form that keeps their order whatever follows."""
    return (data.replace(b"\x00", b"\x00\xff") if NUL in data else data) + END


def decode_text(data: bytes) -> bytes:
    """The original bytes of a text without its end."""
    return data.replace(b"\x00\xff", b"\x00")


def encode_time(timestamp_ms: int) -> bytes:
    """A time as bytes, so that later ones sort first."""
    return _TIME.pack(_INVERT - timestamp_ms)


def decode_time(key: bytes) -> int:
    """The time at the end of a key."""
    inverted: int = _TIME.unpack_from(key, len(key) - 8)[0]
    return _INVERT - inverted


def cell_column(column: bytes) -> bytes:
    """The part of a cell's key between row and time, for a column `family:qualifier`."""
    family, _, qualifier = column.partition(b":")
    return encode_text(family) + b"\x01" + encode_text(qualifier) + b"\x01"


def column_delete_suffix(family: bytes, qualifier: bytes, timestamp_ms: int) -> bytes:
    """The part of a column delete's key after the row."""
    return encode_text(family) + b"\x01" + encode_text(qualifier) + b"\x00" + encode_time(timestamp_ms)


def version_delete_suffix(family: bytes, qualifier: bytes, timestamp_ms: int) -> bytes:
    """The part of a version delete's key after the row."""
    return encode_text(family) + b"\x01" + encode_text(qualifier) + version_start(timestamp_ms)


def version_start(timestamp_ms: int) -> bytes:
    """The part of the keys after the column at which those of a version start: the key of its delete."""
    return b"\x01" + encode_time(timestamp_ms + 1) + encode_time(timestamp_ms)


def family_delete_suffix(family: bytes, timestamp_ms: int) -> bytes:
    """The part of a family delete's key after the row."""
    return encode_text(family) + b"\x00" + encode_time(timestamp_ms)


def row_head(key: bytes) -> bytes:
    """The row of a key, with the end of the text."""
    return key[: key.index(END) + len(END)]


def family_head(rest: bytes) -> bytes:
    """The family at the start of a key without its row, with the end of the text."""
    return rest[: rest.index(END) + len(END)]


def column_head(rest: bytes) -> bytes:
    """The qualifier at the start of a key without row and family, with the end of the text."""
    return rest[: rest.index(END, 1) + len(END)]


def after(head: bytes) -> bytes:
    """The first key after all keys that begin with a text."""
    return head[:-1] + b"\x02"
