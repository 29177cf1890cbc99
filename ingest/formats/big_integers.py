"""
Whole numbers of any length in two's complement, most significant byte first, and decimals as such numbers and a scale.

Source: `toByteArray` of java.math.BigInteger; org.apache.kafka.connect.data.Decimal, whose value is the unscaled number
of a java.math.BigDecimal.
"""

from collections.abc import Callable
from decimal import Context, Decimal, Inexact

from ingest.api.errors import DecorateError
from ingest.api.event_errors import BadEncodingError, NumberTooLargeError
from ingest.api.notation import shown_start
from ingest.formats.number_notation import number_reader

MAX_SCALE = 100
_MAX_BYTES = 1_024  # 2,466 digits; the conversion to digits takes quadratic time
_read_number = number_reader(".", "")
_EXACT = Context(prec=250, traps=[Inexact])  # a number has 100 digits and an exponent of two


def reader(scale: int) -> Callable[[bytes], bytes]:
    """
    A function from the bytes of an unscaled number to its text, with `scale` digits after the point.

    It raises DecorateError (`bad_encoding`) for no bytes, and for more than 1,024.
    """

    def read(value: bytes) -> bytes:
        if not 0 < len(value) <= _MAX_BYTES:
            message = f"{shown_start(value)} has {len(value)} bytes, a bigint has 1 to {_MAX_BYTES}"
            raise DecorateError(message, code=BadEncodingError.code)
        number = int.from_bytes(value, "big", signed=True)
        if not scale:
            return b"%d" % number
        digits = str(abs(number)).zfill(scale + 1)
        sign = "-" if number < 0 else ""
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}".encode("ascii")

    return read


def writer(scale: int) -> Callable[[bytes], bytes]:
    """
    A function from the text of a number to the fewest bytes that hold its unscaled number.

    It raises DecorateError for text that is not a number (`not_a_number`), and for a number with more than `scale`
    digits after the point (`number_too_large`), which would have to be rounded.
    """

    def write(text: bytes) -> bytes:
        unscaled = Decimal(_read_number(text).decode("ascii")).scaleb(scale, _EXACT)
        number = int(unscaled)
        if number != unscaled:
            message = f"{shown_start(text)} does not fit into {scale} digits after the point without rounding"
            raise DecorateError(message, code=NumberTooLargeError.code, hint="see `scale`")
        bits = (number if number >= 0 else ~number).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return write
