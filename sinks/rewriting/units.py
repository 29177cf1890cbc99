"""Units of work of a compaction: as many ranges of a table as about 20 seconds allow, in this process or elsewhere."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ingest.api import Disposition, IngestError
from sinks.rewriting.compaction import UNIT_S, CompactionCounts, CompactionTarget, RangeCompaction, Timer
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck
from sinks.scanning.partitions import Range
from sinks.updates.merging import Merging


class UnitResult(NamedTuple):
    """
    The result of a unit of work.

    Attributes:
        counts: what was done.
        remaining: the ranges, or the rest of them, that are not compacted yet.
        error: why some are not, if the store is unavailable; None if there was no time left.
    """

    counts: CompactionCounts
    remaining: Sequence[Range]
    error: IngestError | None = None


class CompactionEngine(Protocol):
    """Compacts ranges of a table in units of work."""

    def unit(self, target: CompactionTarget, check: LeaseCheck, ranges: Sequence[Range]) -> UnitResult:
        """
        Compact ranges, as far as there is time.

        Raises:
            IngestError: another error than that of an unavailable store.
        """


class InProcess:
    """
    Compacts in this process, one range after the other.

    Args:
        calls: of the store.
        merging: of the table.
        seconds: length of a unit.
        is_cancelled: whether a unit must end soon.
    """

    def __init__(
        self,
        calls: StoreCalls,
        merging: Merging,
        seconds: float = UNIT_S,
        *,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._calls = calls
        self._merging = merging
        self._seconds = seconds
        self._is_cancelled = is_cancelled

    def unit(self, target: CompactionTarget, check: LeaseCheck, ranges: Sequence[Range]) -> UnitResult:
        """Compact as many ranges as there is time for; at least one call to the store is made."""
        compaction = RangeCompaction(self._calls, target, self._merging, check=check)
        timer = Timer(self._seconds)

        def has_time() -> bool:
            return timer() and not self._is_cancelled()

        for index, keys in enumerate(ranges):
            try:
                left = compaction.run(keys, has_time)
            except IngestError as error:
                if error.disposition is not Disposition.RETRY:
                    raise
                rest = (compaction.reached, keys[1])
                return UnitResult(compaction.counts, [rest, *ranges[index + 1 :]], error)
            if left is not None or not has_time():
                return UnitResult(compaction.counts, [*([] if left is None else [left]), *ranges[index + 1 :]])
        return UnitResult(compaction.counts, [])
