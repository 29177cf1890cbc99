"""How the row keys of a table spread its writes over regions, from a sample of writes in their order."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from ingest.api.notation import shown
from sinks.rowkeys.layout import Layout, Spread
from sinks.rowkeys.prefixes import PrefixCount, Prefixes

COMPARED_BUCKETS = (8, 16, 32)
NEWEST = 0.1  # of the writes, at the end of the sample
_HOT = 0.5  # of the newest writes: more in one region or row is a warning
_HOT_OF_EQUAL = 1.5  # times an equal part: half of the writes is no warning if there are two regions
_COMPARED_RANGES = 8  # of equally many writes, on which increasing keys show whatever the regions are
_FEW_WRITES = 100  # a tenth of fewer says nothing
_MOST_PREFIXES = 10
_MIN_PREFIX = 0.1  # of all writes


class WarningKind(StrEnum):
    """What is wrong with row keys."""

    INCREASING_KEYS = "increasing_keys"
    HOT_REGION = "hot_region"
    HOT_ROW = "hot_row"
    FEW_WRITES = "few_writes"


@dataclass(frozen=True, slots=True)
class KeyWarning:
    """A problem of row keys, and how to solve it."""

    kind: WarningKind
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class KeyLengths:
    """Lengths of the distinct row keys, in bytes."""

    shortest: int
    median: int
    longest: int


@dataclass(frozen=True, slots=True)
class KeyAnalysis:
    """
    The result for one table.

    Attributes:
        writes: puts and deletes in the sample.
        rows: distinct row keys in it.
        current: over the table's own regions.
        even: over regions with equally many writes of the sample each; of a salted table, one region for each bucket.
        salted: over one region for each bucket, for several numbers of buckets.
        prefixes: requested ones first, then those with the most writes.
    """

    writes: int
    rows: int
    lengths: KeyLengths
    current: Spread
    even: Spread
    salted: tuple[Spread, ...]
    prefixes: tuple[PrefixCount, ...]
    warnings: tuple[KeyWarning, ...]

    @property
    def recommended_splits(self) -> tuple[bytes, ...]:
        """Split points that divide the writes better than the present ones; empty if none do."""
        kinds = {warning.kind for warning in self.warnings}
        if kinds - {WarningKind.HOT_REGION} or self.even.busiest >= self.current.busiest:
            return ()
        return self.even.layout.splits


def analyse(keys: Sequence[bytes], current: Layout, *, regions: int = 8, prefixes: Iterable[bytes] = ()) -> KeyAnalysis:
    """
    Analyse the row keys of a table.

    Args:
        keys: logical row key of each write, oldest write first; at least one.
        current: regions of the table.
        regions: number of those with equally many writes each.
        prefixes: to count the rows of.
    """
    writes = Counter(keys)
    newest = Counter(keys[-max(1, round(NEWEST * len(keys))) :])
    spread_now = current.spread(writes, newest)
    if current.distribution is None:
        even, compared = even_layout(writes, regions), even_layout(writes, _COMPARED_RANGES)
    else:
        even = compared = Layout.salted(current.distribution.buckets)
    counts = Prefixes(writes)
    wanted = [counts.count(prefix) for prefix in dict.fromkeys(prefixes)]
    hottest = [count for count in counts.hottest(_MOST_PREFIXES, _MIN_PREFIX) if count not in wanted]
    return KeyAnalysis(
        writes=len(keys),
        rows=len(writes),
        lengths=_lengths(writes),
        current=spread_now,
        even=even.spread(writes, newest),
        salted=tuple(Layout.salted(buckets).spread(writes, newest) for buckets in COMPARED_BUCKETS),
        prefixes=(*wanted, *hottest),
        warnings=tuple(_warnings(writes, newest, spread_now, compared.spread(writes, newest))),
    )


def even_layout(writes: Counter[bytes], regions: int) -> Layout:
    """
    Regions of an unsalted table with equally many writes each; fewer if single rows have more writes than that.

    Each split point is the shortest one between two row keys.
    """
    keys = sorted(writes)
    before = [0, *accumulate(writes[key] for key in keys)]
    splits: dict[bytes, None] = {}
    number = 0
    for region in range(1, regions):
        wanted = before[-1] * region / regions
        while number < len(keys) and before[number] < wanted:
            number += 1
        # the boundary before or after the row that holds the wanted write, whichever is nearer
        nearest = number - 1 if number and wanted - before[number - 1] < before[number] - wanted else number
        if 0 < nearest < len(keys):
            splits[_between(keys[nearest - 1], keys[nearest])] = None
    return Layout(tuple(splits))


def _between(left: bytes, right: bytes) -> bytes:
    """The shortest key above `left` and not above `right`."""
    return next(right[:length] for length in range(1, len(right) + 1) if right[:length] > left)


def _lengths(keys: Iterable[bytes]) -> KeyLengths:
    lengths = sorted(map(len, keys))
    return KeyLengths(lengths[0], lengths[len(lengths) // 2], lengths[-1])


def _warnings(
    writes: Counter[bytes], newest: Counter[bytes], current: Spread, compared: Spread
) -> Iterator[KeyWarning]:
    total, total_newest = writes.total(), newest.total()
    if total < _FEW_WRITES:
        yield KeyWarning(
            WarningKind.FEW_WRITES,
            f"a sample of {total} writes does not show how row keys spread",
            f"give {_FEW_WRITES * 10:,} events or more",
        )
        return
    row, of_row = newest.most_common(1)[0]
    if of_row > _HOT * total_newest:
        yield KeyWarning(
            WarningKind.HOT_ROW,
            f"the row {shown(row)} receives {of_row / total_newest:.0%} of the newest {NEWEST:.0%} of the writes",
            "a row is in one region, whatever the split points or buckets: divide its cells among several rows",
        )
        return
    if _is_hot(compared):
        yield KeyWarning(
            WarningKind.INCREASING_KEYS,
            f"of {compared.layout.regions} ranges of row keys with equally many writes, one receives "
            f"{compared.busiest_of_newest:.0%} of the newest {NEWEST:.0%}: row keys increase with time, so one region "
            "receives most writes, whatever the split points",
            "start the row key with a part that varies between events, or salt the table",
        )
    elif _is_hot(current):
        yield KeyWarning(
            WarningKind.HOT_REGION,
            f"one of {current.layout.regions} regions receives {current.busiest_of_newest:.0%} of the newest "
            f"{NEWEST:.0%} of the writes",
            "use split points that divide the writes",
        )


def _is_hot(spread: Spread) -> bool:
    """Whether one of several regions receives most of the newest writes."""
    regions = spread.layout.regions
    return regions > 1 and spread.busiest_of_newest > max(_HOT, _HOT_OF_EQUAL / regions)
