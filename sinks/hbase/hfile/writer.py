"""The file of one family: sorted rows of cells in, pieces of the file out."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from sinks.hbase.hfile.blocks import BlockWriter, Kind
from sinks.hbase.hfile.bloom import bloom_meta
from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.index import MAX_BYTES, Entry, Root, index_of
from sinks.hbase.protobuf import data, number, varint

DEFAULT_BLOCK_BYTES = 64 << 10
LENGTH_BYTES = 8
"""Of a cell: the lengths of key and value."""
_TRAILER = b'TRABLK"$'
_TRAILER_BYTES = 4096
_VERSION = b"\3\0\0\3"
"""Minor version 3 in the first byte, major version 3 in the others."""
_PBUF = b"PBUF"
_COMPARATOR = b"org.apache.hadoop.hbase.KeyValue$KVComparator"
"""The name that every version of HBase since 0.96 writes, for reading by older ones."""


@dataclass(frozen=True, slots=True)
class HFileFormat:
    """
    How a file is written.

    Attributes:
        codec: of its blocks.
        block_bytes: a data block ends with the row that reaches this size.
        has_bloom: whether it has a bloom filter of its row keys.
        index_bytes: of the entries of one index block.
    """

    codec: Codec = Codec.NONE
    block_bytes: int = DEFAULT_BLOCK_BYTES
    has_bloom: bool = True
    index_bytes: int = MAX_BYTES


@dataclass(slots=True)
class Summary:
    """
    What a file says of all its cells.

    Attributes:
        cells: their number.
        key_bytes: of all keys: from the length of the row key to the type.
        earliest_ms: the earliest time of a cell; 0 with a marker that deletes all cells up to its time.
        latest_ms: the latest one.
        earliest_put_ms: the earliest time of a put; None without one.
        family_deletes: number of markers that delete a family.
    """

    cells: int
    key_bytes: int
    earliest_ms: int
    latest_ms: int
    earliest_put_ms: int | None
    family_deletes: int = 0


class FileWriter:
    """
    Writes the file of one family, block by block, so that no more than a block of its rows is there twice.

    Order: `add` for each row, in the order of the row keys, each once; then `finish`, after at least one row.

    Args:
        form: the file's format.
    """

    def __init__(self, form: HFileFormat) -> None:
        self._form = form
        self._block_bytes = form.block_bytes
        self._blocks = BlockWriter(form.codec)
        self._entries: list[Entry] = []
        self._rows: list[bytes] = []
        self._block: list[bytes] = []
        self._size = 0  # of the block
        self._cell_bytes = 0
        self._last = b""

    def add(self, row: bytes, cells: bytes) -> None:
        """Add the cells of a row, one KeyValue after the other in HBase's order."""
        self._rows.append(row)
        self._block.append(cells)
        self._size += len(cells)
        if self._size >= self._block_bytes:
            self._end_block()

    def finish(self, summary: Summary, created_ms: int) -> list[bytes]:
        """
        The file, in pieces.

        Args:
            summary: of all rows.
            created_ms: when the file is made, in milliseconds since the epoch.
        """
        if self._block:
            self._end_block()
        form, blocks, entries = self._form, self._blocks, self._entries
        meta = bloom_meta(self._rows, blocks) if form.has_bloom else None
        root = index_of(entries, blocks, form.index_bytes)
        root_offset = blocks.add(Kind.ROOT_INDEX, root.content).offset
        blocks.add(Kind.ROOT_INDEX, b"")  # of meta blocks, of which there are none
        info = _file_info(summary, self._last, created_ms)
        if meta is not None:
            info |= {b"BLOOM_FILTER_TYPE": b"ROW", b"LAST_BLOOM_KEY": self._rows[-1]}
        value_bytes = self._cell_bytes - summary.key_bytes - LENGTH_BYTES * summary.cells
        info |= {
            b"hfile.AVG_KEY_LEN": struct.pack(">i", summary.key_bytes // summary.cells),
            b"hfile.AVG_VALUE_LEN": struct.pack(">i", value_bytes // summary.cells),
        }
        info_offset = blocks.add(Kind.FILE_INFO, _map_of(info)).offset
        if meta is not None:
            blocks.add(Kind.BLOOM_META, meta)
        trailer = _trailer(summary.cells, form, root, entries, (root_offset, info_offset), blocks.plain_bytes)
        return [*blocks.parts, trailer]

    def _end_block(self) -> None:
        place = self._blocks.add(Kind.DATA, b"".join(self._block))
        self._entries.append(Entry(_key_at(self._block[0], 0), place))
        self._cell_bytes += self._size
        self._last = self._block[-1]
        self._block, self._size = [], 0


def _key_at(cells: bytes, at: int) -> bytes:
    """The key of the cell that begins there."""
    begin = at + LENGTH_BYTES
    return cells[begin : begin + int.from_bytes(cells[at : at + 4], "big")]


def _last_key(cells: bytes) -> bytes:
    at = end = 0
    while end < len(cells):
        at = end
        end = at + LENGTH_BYTES + sum(struct.unpack_from(">II", cells, at))
    return _key_at(cells, at)


def _file_info(summary: Summary, last: bytes, created_ms: int) -> dict[bytes, bytes]:
    """
    What HBase reads of a store file.

    `BULKLOAD_TIMESTAMP` says that its cells have the sequence id of the load. Without `BULKLOAD_SOURCE_TASK` HBase's
    cleaner of MOB files takes the file for one of an old version, and removes no file of the table's MOB families.
    """
    created = struct.pack(">q", created_ms)
    info = {
        b"hfile.LASTKEY": _last_key(last),
        b"hfile.CREATE_TIME_TS": created,
        b"BULKLOAD_TIMESTAMP": created,
        b"BULKLOAD_SOURCE_TASK": b"attr2hbase",
        b"TIMERANGE": _PBUF + number(1, summary.earliest_ms) + number(2, summary.latest_ms),
        b"DELETE_FAMILY_COUNT": struct.pack(">q", summary.family_deletes),
        b"MAJOR_COMPACTION_KEY": b"\0",
        b"EXCLUDE_FROM_MINOR_COMPACTION": b"\0",
    }
    if summary.earliest_put_ms is not None:
        info[b"EARLIEST_PUT_TS"] = struct.pack(">q", summary.earliest_put_ms)
    return info


def _map_of(info: Mapping[bytes, bytes]) -> bytes:
    """A FileInfoProto: map_entry 1, a BytesBytesPair of first 1 and second 2; sorted by name."""
    pairs = b"".join(data(1, data(1, name) + data(2, value)) for name, value in sorted(info.items()))
    return _PBUF + varint(len(pairs)) + pairs


def _trailer(
    cells: int, form: HFileFormat, root: Root, entries: list[Entry], offsets: tuple[int, int], plain_bytes: int
) -> bytes:
    """A FileTrailerProto, as long as every trailer of this version."""
    root_offset, info_offset = offsets
    numbers = {
        1: info_offset,
        2: root_offset,
        3: root.leaf_bytes + len(root.content),
        4: plain_bytes + _TRAILER_BYTES,
        5: root.entries,
        6: 0,  # of meta blocks
        7: cells,
        8: root.levels,
        9: entries[0].place.offset,
        10: entries[-1].place.offset,
    }
    message = b"".join(number(field, value) for field, value in numbers.items())
    message += data(11, _COMPARATOR) + number(12, form.codec.value)
    content = _TRAILER + varint(len(message)) + message
    return content.ljust(_TRAILER_BYTES - len(_VERSION), b"\0") + _VERSION
