"""Compression of single blocks, by the codecs of pyarrow: LZ4 frames and Zstandard frames."""

from sinks.blobs.blob_options import BlobCompression


def compressed(data: bytes, compression: BlobCompression) -> bytes:
    """A block as it is stored."""
    if compression is BlobCompression.NONE:
        return data
    import pyarrow  # noqa: ICN001 - takes 0.1 s and 40 MB, which only compressed blobs need

    return bytes(pyarrow.compress(data, codec=compression.value, asbytes=True))


def decompressed(data: bytes, compression: BlobCompression, length: int) -> bytes:
    """
    A block as it was before its compression.

    Args:
        data: as stored.
        compression: of the blob.
        length: of the block.

    Raises:
        ValueError: the data is not such a block.
    """
    if compression is BlobCompression.NONE:
        found = data
    else:
        import pyarrow  # noqa: ICN001

        try:
            found = bytes(pyarrow.decompress(data, decompressed_size=length, codec=compression.value, asbytes=True))
        except (OSError, pyarrow.ArrowException) as error:
            raise ValueError(str(error)) from error
    if len(found) != length:
        raise ValueError(f"it has {len(found)} bytes instead of {length}")
    return found
