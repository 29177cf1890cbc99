"""
Durations and sizes with units, as logs have them, to numbers.

Source: of durations Go's `time.ParseDuration`, and d and w as in Prometheus; of sizes IEC 80000-13 for KiB and so on,
SI for kB and so on. A unit with two meanings, such as K, M and Mb, is none.
"""

import re
from decimal import Context, Decimal, Inexact

from ingest.api.errors import DecorateError
from ingest.api.event_errors import NotANumberError
from ingest.api.notation import shown_start
from ingest.formats.number_notation import plain_digits

_EXACT = Context(prec=100, traps=[Inexact])  # a number has 40 digits, its unit at most 19
_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}"
_SECONDS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),  # the micro sign
    "\u03bcs": Decimal("1e-6"),  # the Greek letter
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3_600),
    "d": Decimal(86_400),
    "w": Decimal(604_800),
}
_MAX_PIECES = 20
_PIECE = rf"({_NUMBER}) ?({'|'.join(sorted(_SECONDS, key=len, reverse=True))}) ?"
_PIECES = re.compile(_PIECE)
_DURATION = re.compile(rf"([+-]?)((?:{_PIECE}){{1,{_MAX_PIECES}}})")

_BYTES = {"B": Decimal(1), "kB": Decimal(1_000)}
for _power, _letter in enumerate("KMGTPE", 1):
    _BYTES[f"{_letter}B"] = Decimal(1_000) ** _power
    _BYTES[f"{_letter}iB"] = Decimal(1_024) ** _power
_SIZE = re.compile(rf"({_NUMBER})(?: ?({'|'.join(_BYTES)}))?")


def seconds_of(text: bytes) -> bytes:
    """
    The seconds of a duration such as `1h2m3.5s`, `5.4 ms`, `-167µs` and `0`.

    Raises:
        DecorateError: it is not a duration.
    """
    content = text.decode(errors="replace").strip()
    if content == "0":
        return b"0"
    found = _DURATION.fullmatch(content)
    if found is None:
        raise _error(text, "a duration with units, such as 1h2m3.5s or 5.4ms")
    seconds = Decimal(0)
    for number, unit in _PIECES.findall(found[2]):
        seconds = _EXACT.fma(Decimal(number), _SECONDS[unit], seconds)
    return plain_digits(seconds.copy_negate() if found[1] == "-" else seconds)


def bytes_of(text: bytes) -> bytes:
    """
    The bytes of a size such as `2.5 MB`, `1GiB` and `512`.

    Raises:
        DecorateError: it is not a size.
    """
    found = _SIZE.fullmatch(text.decode(errors="replace").strip())
    if found is None:
        raise _error(text, "a size in B, kB, KiB, MB, MiB and so on")
    return plain_digits(_EXACT.multiply(Decimal(found[1]), _BYTES[found[2] or "B"]))


def _error(text: bytes, what: str) -> DecorateError:
    return DecorateError(f"{shown_start(text)} is not {what}", code=NotANumberError.code)
