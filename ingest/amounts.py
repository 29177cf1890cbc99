"""Sizes and numbers as text."""

from collections.abc import Mapping, Sequence

_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size(count: float) -> str:
    """Bytes with a unit, as in `6.40 GiB`."""
    for unit, factor in _UNITS:
        if abs(count) >= factor:
            return f"{count / factor:,.2f} {unit}"
    return f"{count:.0f} B"


def number(value: float) -> str:
    """A number with at most two decimals, without trailing zeros."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as in `1 table`, `2,000 tables`; `plural` if it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def total_of(value: int | Mapping[str, int] | Sequence[str]) -> int:
    """How many there are: a number, the sum of numbers by name, or the length of a list."""
    if isinstance(value, int):
        return value
    return sum(value.values()) if isinstance(value, Mapping) else len(value)


def counts_of(counts: Mapping[str, int]) -> str:
    """Numbers by name, as in `filter 3, no_row_key 1`."""
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items()))
