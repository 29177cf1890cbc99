"""Which regions of a table get files."""

from dataclasses import dataclass
from typing import NamedTuple

from ingest.api.bulk_load import NOTHING_CONFIRMED, Confirmed

NAME = "bulk_load"
BEHIND, UP_TO_DATE, ONLY_CHECKED, ONLY_CALLS = b"behind", b"up to date", b"only checked", b"only calls"
"""
What the driver says of an attempt. A further one at a micro-batch, and a replay, write cells again with their times,
perhaps with other values, so they have calls alone. The first attempt may have had files, so a further one is refused
what they may not bypass.
"""
KEPT_CYCLES = 10
"""
Flush cycles of a connection for which a region keeps a mode: each first load after calls flushes the memstore of the
region.
"""


@dataclass(frozen=True, slots=True)
class LoadRule:
    """
    When the rows of a table are loaded as files.

    Attributes:
        rows: of a region in a chunk, from which they are a file for each family.
        size_bytes: the same in bytes; None for any size.
        only_behind: only while the pipeline is behind.
        confirmed: what the files may bypass.
        keeps_calls: whether a region that gets calls keeps them for some flush cycles. Rows that come in the order of
            their keys are few of a region only at its start, so it gets files as soon as they are enough.
    """

    rows: int
    size_bytes: int | None
    only_behind: bool
    confirmed: Confirmed = NOTHING_CONFIRMED
    keeps_calls: bool = True


class _Mode(NamedTuple):
    has_files: bool
    since: int


class RegionModes:
    """
    Files or calls for each region, as one connection writes it; both are right, and change only what HBase does.

    Args:
        rule: of the table.
    """

    def __init__(self, rule: LoadRule) -> None:
        self._rule = rule
        self._cycle = 0
        self._is_behind = False
        self._paused_at = -KEPT_CYCLES
        self._modes: dict[bytes, _Mode] = {}

    def begin(self, *, is_behind: bool) -> None:
        """Start a flush cycle."""
        self._cycle += 1
        self._is_behind = is_behind

    @property
    def may_have_files(self) -> bool:
        """Whether a region may get files in this flush cycle."""
        if self._is_paused:
            return False
        if self._is_behind or not self._rule.only_behind:
            return True
        return any(mode.has_files and self._is_kept(mode) for mode in self._modes.values())

    def wants_files(self, start: bytes, rows: int, size_bytes: int) -> bool:
        """Whether the rows of a region are loaded as files; the same until the region's mode may change."""
        wanted = self._is_enough(rows, size_bytes)
        mode = self._modes.get(start)
        if mode is not None and (mode.has_files == wanted or self._is_kept(mode)):
            if wanted and mode.has_files:  # else the rest of a task, which is few rows, would end it
                self._modes[start] = _Mode(True, self._cycle)
            return mode.has_files
        if wanted or self._rule.keeps_calls:
            self._modes[start] = _Mode(wanted, self._cycle)
        else:
            self._modes.pop(start, None)
        return wanted

    def would_want_files(self, start: bytes, rows: int, size_bytes: int) -> bool:
        """What `wants_files` would answer; no region's mode changes."""
        mode = self._modes.get(start)
        return mode.has_files if mode is not None and self._is_kept(mode) else self._is_enough(rows, size_bytes)

    def _is_enough(self, rows: int, size_bytes: int) -> bool:
        """Whether the rows of a region without a mode are enough for files."""
        if self._is_paused:
            return False
        rule = self._rule
        is_large = rows >= rule.rows or (rule.size_bytes is not None and size_bytes >= rule.size_bytes)
        return is_large and (self._is_behind or not rule.only_behind)

    def refuse_files(self, start: bytes) -> None:
        """Give a region calls, since the store has not loaded its files."""
        self._modes[start] = _Mode(has_files=False, since=self._cycle)

    def pause(self) -> None:
        """
        Give all regions calls for as long as a region keeps a mode, since a load has not ended in time.

        It holds the lock of its region, and a micro-batch that waits for it runs again. If the next one had files too,
        every micro-batch would.
        """
        self._paused_at = self._cycle
        self._modes.clear()

    @property
    def _is_paused(self) -> bool:
        return self._cycle - self._paused_at < KEPT_CYCLES

    def _is_kept(self, mode: _Mode) -> bool:
        return self._cycle - mode.since < KEPT_CYCLES
