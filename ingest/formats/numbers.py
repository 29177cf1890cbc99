"""
Numbers as the text that attributes hold, the same for the same number, whatever format it comes from.

Whole numbers have all their digits. A float has as few as tell it from every other float of its width, laid out as
Python does: `0.1`, `16777216.0`, `1e-45`. What is no number is `nan`, `inf` or `-inf`, where a format lets it pass.
"""

from struct import Struct

_pack = Struct(">f").pack
_SMALLEST_NORMAL = 2.0**-126  # below it a float of 32 bits has less than the six digits it can always keep (IEEE 754)
_FORMS = ("%.6g", "%.7g", "%.8g", "%.9g")  # nine digits always suffice
_FORMS_OF_SMALL = tuple(f"%.{digits}g" for digits in range(1, 10))


def number_text(number: float) -> bytes:
    """A whole number or a float of 64 bits as text, which reads back as the same."""
    return repr(number).encode("ascii")


def float32(number: float) -> float:
    """Of all numbers that become this one in 32 bits the one with the fewest digits; its text is that of the float."""
    try:
        wanted = _pack(number)
    except OverflowError:
        return number  # it has never been of 32 bits
    for form in _FORMS if abs(number) >= _SMALLEST_NORMAL else _FORMS_OF_SMALL:
        near = float(form % number)
        if _pack(near) == wanted:
            return near
    return number  # no number at all
