"""Decompresses the record batches of Kafka piece by piece, and compresses them, by pyarrow; knows no client."""

import struct
from collections.abc import Iterator
from enum import IntEnum

from ingest.api import SourceError

MAX_BATCH_BYTES = 256 * 1024 * 1024
"""Decompressed size above which a Python client of this product refuses a record batch; brokers limit the other one."""

_PIECE_BYTES = 1024 * 1024
_XERIAL_HEADER = b"\x82SNAPPY\x00"  # then two versions, each of four bytes; source: the library snappy-java
_XERIAL_HEADER_BYTES = len(_XERIAL_HEADER) + 8
_MAX_SNAPPY_RATIO = 22  # three bytes copy at most 64; source: format description of snappy
_MAX_LENGTH_BYTES = 5  # of the length before a snappy block, below 2^32


class RecordBatchDamagedError(SourceError):
    """A record batch of a topic cannot be decompressed."""

    code = "record_batch_damaged"
    remedy = "Delete it: `kafka-delete-records.sh` deletes up to an offset."


class RecordBatchTooLargeError(SourceError):
    """A record batch of a topic takes too much memory when it is decompressed; its records are in the topic only."""

    code = "record_batch_too_large"
    remedy = (
        "Set a smaller `batch.size` at its producer. To run the records of a dead letter, raise "
        "`max_decompressed_bytes` of the source, then replay it."
    )


class Codec(IntEnum):
    """The codec of a record batch, as in the lowest three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def pieces(codec: int, data: bytes | memoryview) -> Iterator[bytes]:
    """
    The content of compressed records in order, so that a caller may stop before all of it is in memory.

    Args:
        codec: of the record batch.
        data: the part of the batch after its header.

    Yields:
        At most 1 MiB; with snappy one of its blocks, at most 22 times as large as it was compressed.

    Raises:
        SourceError: code `record_batch_damaged`: the data is not of this codec, or it ends too early.
    """
    match codec:
        case Codec.NONE:
            yield bytes(data)
        case Codec.SNAPPY:
            yield from _snappy(bytes(data))
        case Codec.GZIP | Codec.LZ4 | Codec.ZSTD:
            yield from _streamed(Codec(codec).name.lower(), data)
        case _:
            raise _damaged(f"its codec is {codec}, which Kafka does not have")


def decompressed(codec: int, data: bytes | memoryview, max_bytes: int = MAX_BATCH_BYTES) -> bytes:
    """
    The whole content of compressed records.

    Raises:
        SourceError: code `record_batch_damaged` as `pieces`, or `record_batch_too_large`: it has more than `max_bytes`.
    """
    found, size = [], 0
    for piece in pieces(codec, data):
        size += len(piece)
        if size > max_bytes:
            raise RecordBatchTooLargeError(
                f"record batch of {len(data)} bytes has more than {max_bytes} when it is decompressed",
                hint="its producer should send smaller batches: less batch.size",
            )
        found.append(piece)
    return b"".join(found)


def zstd_compressed(data: bytes) -> bytes:
    """The content of a record batch as `Codec.ZSTD`."""
    import pyarrow as pa

    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def _streamed(name: str, data: bytes | memoryview) -> Iterator[bytes]:
    import pyarrow as pa  # takes 0.1 s and 40 MB, which only compressed batches need

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), name) as content:
            while piece := content.read(_PIECE_BYTES):
                yield piece
    except (pa.ArrowException, OSError) as error:
        raise _damaged(f"it is no {name}: {error}") from error


def _snappy(data: bytes) -> Iterator[bytes]:
    """Blocks with their lengths, as Java's clients write them, or a single block, as others do."""
    if not data.startswith(_XERIAL_HEADER):
        yield _snappy_block(data)
        return
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        if at + 4 > len(data):
            raise _damaged("it is no snappy: it ends within a length")
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 < size <= len(data) - at:
            raise _damaged(f"it is no snappy: a block of {size} bytes")
        yield _snappy_block(data[at : at + size])
        at += size


def _snappy_block(data: bytes) -> bytes:
    import pyarrow as pa

    size = _snappy_length(data)
    if size > _MAX_SNAPPY_RATIO * len(data):  # pyarrow would allocate the memory before it finds out
        raise _damaged(f"it is no snappy: {len(data)} bytes say that they are {size}")
    try:
        return bytes(pa.decompress(data, decompressed_size=size, codec="snappy", asbytes=True))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(f"it is no snappy: {error}") from error


def _snappy_length(data: bytes) -> int:
    length = 0
    for number, byte in enumerate(data[:_MAX_LENGTH_BYTES]):
        length |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:  # noqa: PLR2004 - the highest bit: another byte follows
            return length
    raise _damaged("it is no snappy: it has no length")


def _damaged(reason: str) -> SourceError:
    return RecordBatchDamagedError(f"record batch cannot be decompressed: {reason}")
