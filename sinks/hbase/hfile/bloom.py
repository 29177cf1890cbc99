"""
Bloom filter of the row keys of a file: it says of most row keys that the file lacks them.

It has chunks, each for a range of row keys: an array of bits, in which `HASHES` bits are set for each key. Their places
follow from two hashes of the key, the second with the first as its seed. A chunk for few keys is smaller, by powers of
two, as HBase folds it.
"""

import struct
from collections.abc import Sequence
from math import exp, log

from sinks.hbase.hfile.blocks import BlockWriter, Kind
from sinks.hbase.hfile.index import Entry, root_content
from sinks.hbase.hfile.numbers import byte_array

HASHES = 7
MURMUR3 = 2
"""Of HBase's `Hash`; a file names its own, whatever `hbase.hash.type` is."""
_VERSION = 3
_CHUNK_BYTES = 128 << 10
"""As `io.storefile.bloom.block.size`."""
_ERROR_RATE = 0.01
"""As `io.storefile.bloom.error.rate`."""
_MIN_CHUNK_BYTES = 8


def max_keys(chunk_bytes: int) -> int:
    """How many keys a chunk may have, so that it says of one key in a hundred wrongly that it may be there."""
    return int(-chunk_bytes * 8 / HASHES * log(1 - exp(log(_ERROR_RATE) / HASHES)))


def bloom_meta(rows: Sequence[bytes], blocks: BlockWriter, chunk_bytes: int = _CHUNK_BYTES) -> bytes:
    """
    The content of the block that says where the chunks are; writes the chunks.

    Args:
        rows: the row keys, sorted, each once; at least one.
        blocks: of the file.
        chunk_bytes: of a full chunk, a power of two.
    """
    most = max_keys(chunk_bytes)
    entries = []
    total_bytes = total_keys = 0
    for at in range(0, len(rows), most):
        part = rows[at : at + most]
        size = chunk_bytes
        while size > _MIN_CHUNK_BYTES and max_keys(size // 2) >= len(part):
            size //= 2
        entries.append(Entry(part[0], blocks.add(Kind.BLOOM_CHUNK, chunk(part, size))))
        total_bytes += size
        total_keys += max_keys(size)
    head = struct.pack(">iqiiqqi", _VERSION, total_bytes, HASHES, MURMUR3, len(rows), total_keys, len(entries))
    return head + byte_array(b"") + root_content(entries)  # without the name of a comparator: keys are bytes


def chunk(rows: Sequence[bytes], size_bytes: int) -> bytes:
    """The bits of some row keys in an array of a size, which is a power of two."""
    import mmh3
    import numpy as np

    bits = size_bytes * 8
    digest = mmh3.hash
    first = [digest(row) for row in rows]
    second = [digest(row, seed & 0xFFFF_FFFF) for row, seed in zip(rows, first, strict=True)]
    place = np.array(first, np.int32)
    step = np.array(second, np.int32)
    found = np.zeros(bits, np.uint8)
    for _ in range(HASHES):
        found[np.abs(place.astype(np.int64)) % bits] = 1
        place = place + step  # it overflows, as in Java
    return np.packbits(found, bitorder="little").tobytes()
