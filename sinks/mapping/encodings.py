"""How the text of a template becomes the bytes of a cell."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from ingest.expressions.encodings import READ, WRITE

Encode = Callable[[bytes], bytes]
"""Raises ExpressionError for text that the encoding has no bytes for."""


class Encoding(StrEnum):
    """Encodings of a value."""

    UTF8 = "utf8"
    RAW = "raw"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    HEX = "hex"
    BASE64 = "base64"


ENCODERS: Mapping[Encoding, Encode | None] = MappingProxyType(
    {
        Encoding.UTF8: None,
        Encoding.RAW: None,
        Encoding.INT32: WRITE["int32"],
        Encoding.INT64: WRITE["int64"],
        Encoding.FLOAT64: WRITE["float64"],
        Encoding.HEX: READ["hex"],
        Encoding.BASE64: READ["base64"],
    }
)
"""What each encoding does; None leaves the bytes as they are."""
