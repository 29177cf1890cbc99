"""How the text of a template becomes the bytes of a cell."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from ingest.expressions import phoenix
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
    PHOENIX_TINYINT = "phoenix_tinyint"
    PHOENIX_SMALLINT = "phoenix_smallint"
    PHOENIX_INTEGER = "phoenix_integer"
    PHOENIX_BIGINT = "phoenix_bigint"
    PHOENIX_FLOAT = "phoenix_float"
    PHOENIX_DOUBLE = "phoenix_double"
    PHOENIX_DECIMAL = "phoenix_decimal"
    PHOENIX_BOOLEAN = "phoenix_boolean"
    PHOENIX_DATE = "phoenix_date"
    PHOENIX_TIME = "phoenix_time"
    PHOENIX_TIMESTAMP = "phoenix_timestamp"
    PHOENIX_UNSIGNED_TINYINT = "phoenix_unsigned_tinyint"
    PHOENIX_UNSIGNED_SMALLINT = "phoenix_unsigned_smallint"
    PHOENIX_UNSIGNED_INT = "phoenix_unsigned_int"
    PHOENIX_UNSIGNED_LONG = "phoenix_unsigned_long"
    PHOENIX_UNSIGNED_FLOAT = "phoenix_unsigned_float"
    PHOENIX_UNSIGNED_DOUBLE = "phoenix_unsigned_double"
    PHOENIX_UNSIGNED_DATE = "phoenix_unsigned_date"
    PHOENIX_UNSIGNED_TIME = "phoenix_unsigned_time"
    PHOENIX_UNSIGNED_TIMESTAMP = "phoenix_unsigned_timestamp"
    HEX = "hex"
    BASE64 = "base64"


ENCODERS: Mapping[Encoding, Encode | None] = MappingProxyType(
    {
        Encoding.UTF8: None,
        Encoding.RAW: None,
        Encoding.INT32: WRITE["int32"],
        Encoding.INT64: WRITE["int64"],
        Encoding.FLOAT64: WRITE["float64"],
        **{Encoding(f"phoenix_{kind}"): write for kind, write in phoenix.WRITE.items()},
        Encoding.HEX: READ["hex"],
        Encoding.BASE64: READ["base64"],
    }
)
"""What each encoding does; None leaves the bytes as they are."""
