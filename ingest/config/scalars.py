"""Types of unquoted scalars by the YAML 1.2 core schema: `no`, `on`, `1:30` and `2026-01-31` are text."""

import re

Plain = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_MAX_DIGITS = 400  # more than any float has; Python limits the digits of integers
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def resolve(text: str) -> Plain:
    """
    The value of an unquoted scalar.

    Source: YAML 1.2.2, 10.3.2 core schema.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    return _number(text) if text[0] in "+-.0123456789" else text


def _number(text: str) -> int | float | str:
    if len(text) > _MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return int(text[2:], {"o": 8, "x": 16}[text[1]]) if text[1:2] in {"o", "x"} else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if special := _SPECIAL.fullmatch(text):
        return float("nan") if special[3] else float(f"{special[1]}inf")
    return text
