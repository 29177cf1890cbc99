"""Numbers in the notations that people and programs use."""

import re
from collections.abc import Callable
from decimal import Decimal

from ingest.api.errors import DecorateError
from ingest.api.event_errors import NotANumberError
from ingest.api.notation import shown_start

_PLAIN_NUMBER = re.compile(rb"[+-]?(?:[0-9]{1,50}(?:\.[0-9]{0,50})?|\.[0-9]{1,50})(?:[eE][+-]?[0-9]{1,2})?")
_HEX_NUMBER = re.compile(rb"([+-]?)0[xX]([0-9a-fA-F]{1,32})")


def number_reader(decimal: str, grouping: str) -> Callable[[bytes], bytes]:
    """
    A function from a number in any notation to its plain digits: `+1,234.50` becomes `1234.5`, `0x1f` becomes `31`.

    It raises DecorateError (`not_a_number`) for other text.

    Args:
        decimal: the decimal separator, one character.
        grouping: characters that are ignored between two digits.
    """
    characters = b"|".join(re.escape(character.encode()) for character in grouping)
    ungroup = re.compile(rb"(?<=[0-9])(?:" + characters + rb")(?=[0-9])").sub
    before_fraction = decimal.encode()

    def read(value: bytes) -> bytes:
        text = value.strip()
        if characters:
            text = ungroup(b"", text)
        if before_fraction != b".":
            if b"." in text:
                raise _number_error(value)
            text = text.replace(before_fraction, b".")
        if _PLAIN_NUMBER.fullmatch(text) is None:
            hexadecimal = _HEX_NUMBER.fullmatch(text)
            if hexadecimal is None:
                raise _number_error(value)
            return b"%d" % int(hexadecimal[1] + hexadecimal[2], 16)
        return plain_digits(Decimal(text.decode("ascii")))

    return read


def plain_digits(number: Decimal) -> bytes:
    """The digits of a number, without an exponent and needless zeros."""
    plain = f"{number:f}" if number else "0"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain).encode("ascii")


def _number_error(value: bytes) -> DecorateError:
    return DecorateError(f"{shown_start(value)} is not a number", code=NotANumberError.code)
