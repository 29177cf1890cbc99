"""
Blocks of a file: a head of 33 bytes, the content, and a checksum of each 16 KiB of both.

The head: 8 bytes magic; 4 length of content and checksums; 4 length of the content before its compression; 8 offset of
the block before of this kind, or -1; 1 kind of checksum; 4 bytes for each checksum; 4 length of head and content.
"""

import struct
import zlib
from enum import Enum
from typing import NamedTuple

from sinks.hbase.hfile.codecs import Codec

CHUNK_BYTES = 16 << 10
"""For each checksum, as `hbase.hstore.bytes.per.checksum`."""
HEAD = struct.Struct(">8siiqbii")
_CRC32 = 1


class Kind(Enum):
    """The magic bytes of a block."""

    DATA = b"DATABLK*"
    LEAF_INDEX = b"IDXLEAF2"
    BLOOM_CHUNK = b"BLMFBLK2"
    ROOT_INDEX = b"IDXROOT2"
    FILE_INFO = b"FILEINF2"
    BLOOM_META = b"BLMFMET2"


class Place(NamedTuple):
    """Where a block is: offset and size in the file, with its head and checksums."""

    offset: int
    size_bytes: int


class BlockWriter:
    """
    Writes the blocks of one file.

    Args:
        codec: of the content of all blocks.

    Attributes:
        parts: what was written.
        size_bytes: of all parts.
        plain_bytes: of all blocks with their heads, before their compression.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._before: dict[Kind, int] = {}
        self.parts: list[bytes] = []
        self.size_bytes = 0
        self.plain_bytes = 0

    def add(self, kind: Kind, content: bytes) -> Place:
        """Write a block."""
        stored = self._codec.compressed(content)
        size = HEAD.size + len(stored)
        chunks = -(-size // CHUNK_BYTES)
        before = self._before.get(kind, -1)
        head = HEAD.pack(kind.value, len(stored) + 4 * chunks, len(content), before, _CRC32, CHUNK_BYTES, size)
        place = Place(self.size_bytes, size + 4 * chunks)
        self.parts += (head, stored, _checksums(head, stored))
        self._before[kind] = place.offset
        self.size_bytes += place.size_bytes
        self.plain_bytes += HEAD.size + len(content)
        return place


def _checksums(head: bytes, content: bytes) -> bytes:
    first = CHUNK_BYTES - HEAD.size
    view = memoryview(content)
    sums = [zlib.crc32(view[:first], zlib.crc32(head))]
    sums += [zlib.crc32(view[at : at + CHUNK_BYTES]) for at in range(first, len(content), CHUNK_BYTES)]
    return struct.pack(f">{len(sums)}I", *sums)
