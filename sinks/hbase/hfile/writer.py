"""The file of one family: sorted rows of cells in, bytes out."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sinks.hbase.hfile.blocks import BlockWriter, Kind
from sinks.hbase.hfile.bloom import bloom_meta
from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.index import MAX_BYTES, Entry, Root, index_of
from sinks.hbase.rpc.wire import data, number, varint

DEFAULT_BLOCK_BYTES = 64 << 10
_TRAILER = b'TRABLK"$'
_TRAILER_BYTES = 4096
_VERSION = b"\3\0\0\3"
"""Minor version 3 in the first byte, major version 3 in the others."""
_PBUF = b"PBUF"
_COMPARATOR = b"org.apache.hadoop.hbase.KeyValue$KVComparator"
"""The name that every version of HBase since 0.96 writes, for reading by older ones."""


@dataclass(frozen=True, slots=True)
class FileFormat:
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
class FamilyRows:
    """
    The rows of one family, as `cells` makes them.

    Attributes:
        rows: row key and its cells, one KeyValue after the other in HBase's order; sorted by row key, each once.
        cells: number of all cells.
        key_bytes: of the keys of all cells: from the length of the row key to the type.
        earliest_ms: the earliest time of a cell; 0 with a marker that deletes all cells up to its time.
        latest_ms: the latest one.
        earliest_put_ms: the earliest time of a put; None without one.
        family_deletes: number of markers that delete a family.
    """

    rows: list[tuple[bytes, bytes]]
    cells: int
    key_bytes: int
    earliest_ms: int
    latest_ms: int
    earliest_put_ms: int | None
    family_deletes: int = 0


def hfile(rows: FamilyRows, form: FileFormat, created_ms: int) -> bytes:
    """
    A file to be loaded.

    Args:
        rows: of one family of one region; at least one.
        form: the file's format.
        created_ms: when the file is made, in milliseconds since the epoch.
    """
    blocks = BlockWriter(form.codec)
    entries = list(_data_blocks(rows.rows, form.block_bytes, blocks))
    meta = bloom_meta([row for row, _ in rows.rows], blocks) if form.has_bloom else None
    root = index_of(entries, blocks, form.index_bytes)
    root_offset = blocks.add(Kind.ROOT_INDEX, root.content).offset
    blocks.add(Kind.ROOT_INDEX, b"")  # of meta blocks, of which there are none
    info = _file_info(rows, created_ms)
    if meta is not None:
        info |= {b"BLOOM_FILTER_TYPE": b"ROW", b"LAST_BLOOM_KEY": rows.rows[-1][0]}
    info |= {
        b"hfile.AVG_KEY_LEN": struct.pack(">i", rows.key_bytes // rows.cells),
        b"hfile.AVG_VALUE_LEN": struct.pack(">i", _value_bytes(rows) // rows.cells),
    }
    info_offset = blocks.add(Kind.FILE_INFO, _map_of(info)).offset
    if meta is not None:
        blocks.add(Kind.BLOOM_META, meta)
    trailer = _trailer(rows, form, root, entries, (root_offset, info_offset), blocks.plain_bytes)
    return b"".join((*blocks.parts, trailer))


def _data_blocks(rows: Iterable[tuple[bytes, bytes]], block_bytes: int, blocks: BlockWriter) -> Iterable[Entry]:
    cells: list[bytes] = []
    size = 0
    for _, own in rows:
        cells.append(own)
        size += len(own)
        if size >= block_bytes:
            yield _data_block(cells, blocks)
            cells, size = [], 0
    if cells:
        yield _data_block(cells, blocks)


def _data_block(cells: list[bytes], blocks: BlockWriter) -> Entry:
    return Entry(_key_at(cells[0], 0), blocks.add(Kind.DATA, b"".join(cells)))


def _key_at(cells: bytes, at: int) -> bytes:
    """The key of the cell that begins there."""
    return cells[at + 8 : at + 8 + int.from_bytes(cells[at : at + 4], "big")]


def _last_key(cells: bytes) -> bytes:
    at = end = 0
    while end < len(cells):
        at = end
        end = at + 8 + sum(struct.unpack_from(">II", cells, at))
    return _key_at(cells, at)


def _value_bytes(rows: FamilyRows) -> int:
    return sum(len(cells) for _, cells in rows.rows) - rows.key_bytes - 8 * rows.cells


def _file_info(rows: FamilyRows, created_ms: int) -> dict[bytes, bytes]:
    """What HBase reads of a store file; `BULKLOAD_TIMESTAMP` says that its cells have the sequence id of the load."""
    created = struct.pack(">q", created_ms)
    info = {
        b"hfile.LASTKEY": _last_key(rows.rows[-1][1]),
        b"hfile.CREATE_TIME_TS": created,
        b"BULKLOAD_TIMESTAMP": created,
        b"TIMERANGE": _PBUF + number(1, rows.earliest_ms) + number(2, rows.latest_ms),
        b"DELETE_FAMILY_COUNT": struct.pack(">q", rows.family_deletes),
        b"MAJOR_COMPACTION_KEY": b"\0",
        b"EXCLUDE_FROM_MINOR_COMPACTION": b"\0",
    }
    if rows.earliest_put_ms is not None:
        info[b"EARLIEST_PUT_TS"] = struct.pack(">q", rows.earliest_put_ms)
    return info


def _map_of(info: Mapping[bytes, bytes]) -> bytes:
    """A FileInfoProto: map_entry 1, a BytesBytesPair of first 1 and second 2; sorted by name."""
    pairs = b"".join(data(1, data(1, name) + data(2, value)) for name, value in sorted(info.items()))
    return _PBUF + varint(len(pairs)) + pairs


def _trailer(
    rows: FamilyRows, form: FileFormat, root: Root, entries: list[Entry], offsets: tuple[int, int], plain_bytes: int
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
        7: rows.cells,
        8: root.levels,
        9: entries[0].place.offset,
        10: entries[-1].place.offset,
    }
    message = b"".join(number(field, value) for field, value in numbers.items())
    message += data(11, _COMPARATOR) + number(12, form.codec.value)
    content = _TRAILER + varint(len(message)) + message
    return content.ljust(_TRAILER_BYTES - len(_VERSION), b"\0") + _VERSION
