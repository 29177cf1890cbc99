"""
Canonical text of numbers in attributes, independent of the format they come from.

Whole numbers have all their digits. A float has the fewest digits that distinguish it from every other float of its
width, in Python's notation: `0.1`, `16777216.0`, `1e-45`; `nan`, `inf` or `-inf` if the format has such values.
"""

from struct import Struct

_pack = Struct(">f").pack
_SMALLEST_NORMAL = 2.0**-126  # smaller 32-bit floats have a precision of less than six digits (IEEE 754)
_FORMS = ("%.6g", "%.7g", "%.8g", "%.9g")  # nine digits always suffice
_FORMS_OF_SMALL = tuple(f"%.{digits}g" for digits in range(1, 10))


def number_text(number: float) -> bytes:
    """The text of a whole number or a 64-bit float, which parses back to the same number."""
    return repr(number).encode("ascii")


def float32(number: float) -> float:
    """The number with the fewest digits that rounds to the same 32-bit float; so its text is the canonical one."""
    try:
        wanted = _pack(number)
    except OverflowError:
        return number  # not a 32-bit float
    for form in _FORMS if abs(number) >= _SMALLEST_NORMAL else _FORMS_OF_SMALL:
        near = float(form % number)
        if _pack(near) == wanted:
            return near
    return number  # NaN
