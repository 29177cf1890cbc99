"""
Compression of a block, as the codecs of Hadoop and HBase read it.

gz is a stream of its own. The others have the frame of Hadoop's `BlockCompressorStream`: 4 bytes with the length of the
block, then for each piece of it 4 bytes with the compressed length, and the piece in the raw format of the library.
"""

import zlib
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import cast

PIECE_BYTES = 128 << 10
"""Of a block, compressed by itself: the decoders of Hadoop have buffers of 256 KiB."""
_GZIP = 31
"""`wbits` of zlib for the largest window and the head of gzip."""
_GZIP_LEVEL = 1
"""Level 6 takes three times as long for files that are a fifth smaller, and a compaction compresses again."""


class Codec(Enum):
    """A compression; its value is the ordinal of HBase's `Compression.Algorithm`, which a trailer has."""

    GZ = 1
    NONE = 2
    SNAPPY = 3
    LZ4 = 4
    ZSTD = 6
    """As HBase's own codecs frame it. Hadoop's native one, the default of HBase, has no frame: it cannot read this."""

    def compressed(self, block: bytes) -> bytes:
        """A block, compressed; itself with `NONE`."""
        if self is Codec.NONE:
            return block
        if self is Codec.GZ:
            return zlib.compress(block, _GZIP_LEVEL, wbits=_GZIP)
        return _framed(block, _compressor(_ARROW[self]))


_ARROW = {Codec.SNAPPY: "snappy", Codec.LZ4: "lz4_raw", Codec.ZSTD: "zstd"}


@cache
def _compressor(name: str) -> Callable[[bytes], bytes]:
    import pyarrow  # noqa: ICN001 - takes 0.1 s and 40 MB, which only compressed files need

    compress = pyarrow.Codec(name).compress
    return lambda data: cast("bytes", compress(data, asbytes=True))


def _framed(block: bytes, compress: Callable[[bytes], bytes]) -> bytes:
    parts = [len(block).to_bytes(4, "big")]
    for at in range(0, max(len(block), 1), PIECE_BYTES):
        piece = compress(block[at : at + PIECE_BYTES])
        parts += (len(piece).to_bytes(4, "big"), piece)
    return b"".join(parts)
