"""
Whole numbers of any length in two's complement, most significant byte first, and decimals as such numbers and a scale.

Source: `toByteArray` of java.math.BigInteger; org.apache.kafka.connect.data.Decimal, whose value is the unscaled number
of a java.math.BigDecimal; `Bytes.toBytes(BigDecimal)` of HBase, which is the scale in four bytes before that number.
"""

from collections.abc import Callable
from decimal import Context, Decimal, Inexact

from ingest.api.errors import DecorateError
from ingest.api.event_errors import BadEncodingError, NumberTooLargeError
from ingest.api.notation import shown_start
from ingest.formats.number_notation import number_reader

MAX_SCALE = 100
_SCALE_BYTES = 4
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
        return _unscaled(Decimal(_read_number(text).decode("ascii")), scale, text)

    return write


def decimal_reader(value: bytes) -> bytes:
    """
    The text of a decimal from its scale, in four bytes, and its unscaled number.

    Raises:
        DecorateError: `bad_encoding` for other bytes, and for a scale beyond 100.
    """
    scale = int.from_bytes(value[:_SCALE_BYTES], "big", signed=True)
    if len(value) <= _SCALE_BYTES or abs(scale) > MAX_SCALE:
        message = f"{shown_start(value)} is no decimal: 4 bytes of a scale up to {MAX_SCALE}, then its unscaled number"
        raise DecorateError(message, code=BadEncodingError.code)
    digits = _readers[max(scale, 0)](value[_SCALE_BYTES:])
    return digits if scale >= 0 or digits == b"0" else digits + b"0" * -scale


def decimal_writer(scale: int | None) -> Callable[[bytes], bytes]:
    """
    A function from the text of a number to its scale, in four bytes, and its unscaled number.

    Args:
        scale: digits after the point; None for as many as the number needs. The function raises as that of `writer`.
    """

    def write(text: bytes) -> bytes:
        number = Decimal(_read_number(text).decode("ascii"))
        own = -int(number.as_tuple().exponent) if scale is None else scale
        if abs(own) > MAX_SCALE:
            message = f"{shown_start(text)} has a scale of {own}, a bigdecimal has at most {MAX_SCALE}"
            raise DecorateError(message, code=NumberTooLargeError.code, hint="see `scale`")
        return own.to_bytes(_SCALE_BYTES, "big", signed=True) + _unscaled(number, own, text)

    return write


def _unscaled(decimal: Decimal, scale: int, text: bytes) -> bytes:
    """The fewest bytes that hold the unscaled number."""
    unscaled = decimal.scaleb(scale, _EXACT)
    number = int(unscaled)
    if number != unscaled:
        message = f"{shown_start(text)} does not fit into {scale} digits after the point without rounding"
        raise DecorateError(
            message,
            code=NumberTooLargeError.code,
            hint=f"round it before, as in `%{{round(price, {scale})}}`, or choose a larger `scale`",
        )
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


_readers = [reader(scale) for scale in range(MAX_SCALE + 1)]
