"""Whether two tables have the same rows, cells and times; both may be in stores of different kinds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ingest.api import Row
from sinks.dumps.checksum import TableChecksum, no_rows
from sinks.scanning.paired_rows import paired

MAX_DIFFERING = 100_000
"""Row keys that are kept to be compared again; with more, the tables were not written from the same changes."""
_REPORTED_ROWS = 10_000


@dataclass(slots=True)
class Comparison:
    """
    The result of a comparison.

    Attributes:
        source: checksum of the table that was copied.
        target: checksum of the copy.
        differing: keys of rows that one table lacks, or has with other cells; at most 100,000.
        is_cut: there are more such rows.
    """

    source: TableChecksum = field(default_factory=no_rows)
    target: TableChecksum = field(default_factory=no_rows)
    differing: list[bytes] = field(default_factory=list)
    is_cut: bool = False


def compared(source: Iterable[Row], target: Iterable[Row]) -> Comparison:
    """
    Compare all rows of two tables; memory is bounded.

    Args:
        source: all rows of one, in the order of their logical keys.
        target: all rows of the other.
    """
    found = Comparison()
    for one, other in paired(iter(source), iter(target)):
        if one is not None:
            found.source.add(one)
        if other is not None:
            found.target.add(other)
        if one != other:
            present = one or other
            if present is None or len(found.differing) == MAX_DIFFERING:
                found.is_cut = True
            else:
                found.differing.append(present.key)
    return found


def counting(rows: Iterable[Row], on_rows: Callable[[int], object]) -> Iterator[Row]:
    """The same rows; a function is called with their number after each 10,000."""
    for number, row in enumerate(rows, start=1):
        yield row
        if number % _REPORTED_ROWS == 0:
            on_rows(number)
