"""
Reads a file of HBase's format, as the Java classes read it: a second implementation, for tests of the writer.

It is strict: what it does not expect is an AssertionError.
"""

import struct
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

_HEAD = struct.Struct(">8siiqbii")
_GZ, _NONE = 1, 2


class StoredCell(NamedTuple):
    """A cell of a file."""

    row: bytes
    family: bytes
    qualifier: bytes
    time_ms: int
    kind: int
    value: bytes


class Block(NamedTuple):
    """A block of a file."""

    offset: int
    size: int
    magic: bytes
    content: bytes


@dataclass
class StoredFile:
    """
    The content of a file.

    Attributes:
        cells: of all data blocks, in order.
        data_blocks: their number.
        levels: of the index.
        indexed_keys: of the data blocks.
        middle_key: of the data block in the middle, as a root index of two levels has it.
        info: of the file.
        bloom: bits of each chunk with its first row key.
        trailer: field -> number or bytes.
    """

    cells: list[StoredCell] = field(default_factory=list)
    data_blocks: int = 0
    levels: int = 1
    indexed_keys: list[bytes] = field(default_factory=list)
    middle_key: bytes | None = None
    info: dict[bytes, bytes] = field(default_factory=dict)
    bloom: list[tuple[bytes, bytes]] = field(default_factory=list)
    hashes: int = 0
    trailer: dict[int, int | bytes] = field(default_factory=dict)

    def may_have(self, row: bytes) -> bool:
        """What the bloom filter says of a row key."""
        chunks = [bits for first, bits in self.bloom if first <= row]
        if not chunks or row > self.info[b"LAST_BLOOM_KEY"]:
            return False
        bits = chunks[-1]
        first = _murmur3(row, 0)
        step = _murmur3(row, first)
        for number in range(self.hashes):
            place = abs(_signed(first + number * step)) % (len(bits) * 8)
            if not bits[place // 8] >> place % 8 & 1:
                return False
        return True


def read_hfile(content: bytes) -> StoredFile:
    """The content of a file."""
    assert content[-4:] == b"\x03\x00\x00\x03"
    trailer = content[-4096:]
    assert trailer.startswith(b'TRABLK"$')
    size, at = _varint(trailer, 8)
    fields = _message(trailer[at : at + size])
    assert fields[11] == b"org.apache.hadoop.hbase.KeyValue$KVComparator"
    found = StoredFile(trailer=fields, levels=_number(fields, 8))
    blocks = _blocks(content[:-4096], _number(fields, 12))
    assert _number(fields, 4) == sum(33 + len(block.content) for block in blocks.values()) + 4096
    load_on_open = [block for block in blocks.values() if block.offset >= _number(fields, 2)]
    magics = [block.magic for block in load_on_open]
    assert magics in (
        [b"IDXROOT2", b"IDXROOT2", b"FILEINF2"],
        [b"IDXROOT2", b"IDXROOT2", b"FILEINF2", b"BLMFMET2"],
    )
    assert load_on_open[1].content == b""
    assert load_on_open[2].offset == _number(fields, 1)
    places = _index(found, load_on_open[0].content, blocks, _number(fields, 5))
    data = [block for block in blocks.values() if block.magic == b"DATABLK*"]
    assert [(block.offset, block.size) for block in data] == places
    assert (data[0].offset, data[-1].offset) == (_number(fields, 9), _number(fields, 10))
    found.data_blocks = len(data)
    for block, key in zip(data, found.indexed_keys, strict=True):
        first = int.from_bytes(block.content[:4], "big")
        assert block.content[8 : 8 + first] == key
        found.cells += _cells(block.content)
    assert len(found.cells) == _number(fields, 7)
    found.info = _info(load_on_open[2].content)
    if len(load_on_open) > 3:
        _read_bloom(found, load_on_open[3].content, blocks)
    return found


def _blocks(content: bytes, codec: int) -> dict[int, Block]:
    blocks: dict[int, Block] = {}
    before: dict[bytes, int] = {}
    at = 0
    while at < len(content):
        magic, stored, plain, previous, kind, chunk, size = _HEAD.unpack_from(content, at)
        assert previous == before.get(magic, -1)
        assert (kind, chunk) == (1, 16384)
        whole = content[at : at + size]
        sums = content[at + size : at + 33 + stored]
        chunks = [whole[begin : begin + chunk] for begin in range(0, size, chunk)]
        assert sums == b"".join(zlib.crc32(each).to_bytes(4, "big") for each in chunks)
        body = whole[33:]
        decoded = _decompressed(body, codec)
        assert len(decoded) == plain
        before[magic] = at
        blocks[at] = Block(at, 33 + stored, magic, decoded)
        at += 33 + stored
    return blocks


def _decompressed(body: bytes, codec: int) -> bytes:
    if codec == _NONE:
        return body
    if codec == _GZ:
        return zlib.decompress(body, wbits=31)
    total = int.from_bytes(body[:4], "big")
    at, out = 4, b""
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        piece = body[at + 4 : at + 4 + size]
        assert len(piece) == size
        out += _PIECES[codec](piece)
        at += 4 + size
    assert len(out) == total
    return out


def _snappy(piece: bytes) -> bytes:
    size, _ = _varint(piece, 0)
    return bytes(pa.Codec("snappy").decompress(piece, decompressed_size=size, asbytes=True))


def _zstd(piece: bytes) -> bytes:
    return bytes(pa.CompressedInputStream(pa.BufferReader(piece), "zstd").read())


def _lz4(piece: bytes) -> bytes:
    """A raw block of LZ4: sequences of literals, and of copies of what was decoded before."""
    out = bytearray()
    at = 0
    while at < len(piece):
        literals, matched = piece[at] >> 4, piece[at] & 15
        literals, at = _extended(piece, at + 1, literals)
        out += piece[at : at + literals]
        at += literals
        if at == len(piece):
            break
        back = int.from_bytes(piece[at : at + 2], "little")
        matched, at = _extended(piece, at + 2, matched)
        for _ in range(matched + 4):
            out.append(out[-back])
    return bytes(out)


def _extended(piece: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            length, at = length + piece[at], at + 1
            if piece[at - 1] != 255:
                break
    return length, at


_PIECES = {3: _snappy, 4: _lz4, 6: _zstd}


def _index(found: StoredFile, root: bytes, blocks: dict[int, Block], count: int) -> list[tuple[int, int]]:
    entries, at = _root_entries(root, count)
    if found.levels == 1:
        assert at == len(root)
        found.indexed_keys = [key for _, _, key in entries]
        return [(offset, size) for offset, size, _ in entries]
    places = []
    leaves = {}
    for offset, size, key in entries:
        leaf = blocks[offset]
        assert (leaf.magic, leaf.size) == (b"IDXLEAF2", size)
        own = _leaf_entries(leaf.content)
        assert own[0][2] == key
        leaves[offset] = own
        found.indexed_keys += [each[2] for each in own]
        places += [each[:2] for each in own]
    middle, size, entry = struct.unpack_from(">qii", root, at)
    assert at + 16 == len(root)
    assert blocks[middle].size == size
    found.middle_key = leaves[middle][entry][2]
    return places


def _root_entries(root: bytes, count: int) -> tuple[list[tuple[int, int, bytes]], int]:
    entries, at = [], 0
    for _ in range(count):
        offset, size = struct.unpack_from(">qi", root, at)
        length, at = _vint(root, at + 12)
        entries.append((offset, size, root[at : at + length]))
        at += length
    return entries, at


def _leaf_entries(leaf: bytes) -> list[tuple[int, int, bytes]]:
    (count,) = struct.unpack_from(">i", leaf)
    places = struct.unpack_from(f">{count + 1}i", leaf, 4)
    base = 4 * (count + 2)
    assert base + places[-1] == len(leaf)
    return [
        (*struct.unpack_from(">qi", leaf, base + begin), leaf[base + begin + 12 : base + end])
        for begin, end in pairwise(places)
    ]


def _cells(content: bytes) -> list[StoredCell]:
    cells, at = [], 0
    while at < len(content):
        key_bytes, value_bytes, row_bytes = struct.unpack_from(">IIH", content, at)
        key = content[at + 8 : at + 8 + key_bytes]
        family_bytes = key[2 + row_bytes]
        family_at = 3 + row_bytes
        time_ms, kind = struct.unpack(">QB", key[-9:])
        value = content[at + 8 + key_bytes : at + 8 + key_bytes + value_bytes]
        family = key[family_at : family_at + family_bytes]
        cells.append(
            StoredCell(key[2 : 2 + row_bytes], family, key[family_at + family_bytes : -9], time_ms, kind, value)
        )
        at += 8 + key_bytes + value_bytes
    assert at == len(content)
    return cells


def _info(content: bytes) -> dict[bytes, bytes]:
    assert content[:4] == b"PBUF"
    size, at = _varint(content, 4)
    assert at + size == len(content)
    info = {}
    while at < len(content):
        key, at = _varint(content, at)
        assert key == 10
        length, at = _varint(content, at)
        pair = _message(content[at : at + length])
        info[bytes(pair[1])] = bytes(pair.get(2, b""))
        at += length
    return info


def _read_bloom(found: StoredFile, meta: bytes, blocks: dict[int, Block]) -> None:
    version, total_bytes, hashes, kind, keys, _, count = struct.unpack_from(">iqiiqqi", meta)
    assert (version, kind, meta[40]) == (3, 2, 0)
    entries, at = _root_entries(meta[41:], count)
    assert at + 41 == len(meta)
    found.hashes = hashes
    for offset, size, row in entries:
        chunk = blocks[offset]
        assert (chunk.magic, chunk.size) == (b"BLMFBLK2", size)
        found.bloom.append((row, chunk.content))
    assert total_bytes == sum(len(bits) for _, bits in found.bloom)
    assert keys == len({cell.row for cell in found.cells})


def _message(content: bytes) -> dict[int, int | bytes]:
    fields: dict[int, int | bytes] = {}
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        value, at = _varint(content, at)
        if key & 7 == 2:
            fields[key >> 3] = content[at : at + value]
            at += value
        else:
            assert key & 7 == 0
            fields[key >> 3] = value
    return fields


def _number(fields: dict[int, int | bytes], number: int) -> int:
    value = fields[number]
    assert isinstance(value, int)
    return value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _vint(content: bytes, at: int) -> tuple[int, int]:
    first = struct.unpack_from("b", content, at)[0]
    if first >= -112:
        assert first >= 0
        return first, at + 1
    size = -112 - first
    return int.from_bytes(content[at + 1 : at + 1 + size], "big"), at + 1 + size


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _murmur3(key: bytes, seed: int) -> int:
    """MurmurHash3_x86_32, from its public description."""

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & 0xFFFFFFFF

    def mixed(word: int) -> int:
        return rotated(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    found = seed & 0xFFFFFFFF
    end = len(key) // 4 * 4
    for at in range(0, end, 4):
        found = rotated(found ^ mixed(int.from_bytes(key[at : at + 4], "little")), 13)
        found = found * 5 + 0xE6546B64 & 0xFFFFFFFF
    found ^= mixed(int.from_bytes(key[end:], "little")) ^ len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ found >> shift) * factor & 0xFFFFFFFF
    return _signed(found ^ found >> 16)
