"""Numbers and byte arrays as Hadoop's `WritableUtils` and HBase's `Bytes` write them."""

_ONE_BYTE_MAX = 127
_POSITIVE = 144
"""Of the first byte of a number above 127, without the number of bytes that follow: -112, unsigned."""


def vint(value: int) -> bytes:
    """A number of at least 0."""
    if value <= _ONE_BYTE_MAX:
        return bytes((value,))
    size = (value.bit_length() + 7) // 8
    return bytes((_POSITIVE - size,)) + value.to_bytes(size, "big")


def byte_array(value: bytes) -> bytes:
    """Bytes with their length before them."""
    return vint(len(value)) + value
