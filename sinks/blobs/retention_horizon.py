"""
What may name blobs to which no cell of the table points any more: dumps, and changes of the feed.

Each of them is a copy of what cells had at or after a time T. A sweep deletes a blob only if one at T could have
deleted it as well: if nothing had referred to it for `sweep_after` before T. No copy is read. This is enough, because:

- While a cell has a pointer, its blob has the reference of the cell: it is written before the pointer, and a sweep
  removes it only after it has read the cell without the pointer.
- Before it removes the last reference, a sweep writes the present time as the one since which the blob is unreferenced.
  So a blob whose pointer was read from a cell at a time t >= T is unreferenced since a time >= t.
- A dump reads cells after its start, T. The changes of a feed that can still be read have batch times from T on, and a
  task reads the row before a change after the batch time. A micro-batch that runs again keeps that time and what it has
  read, or reads the row later.
- The age of a blob is measured at the time at which the sweep began to look for copies. What it did not see then has
  read its cells later, so it names no blob that was unreferenced before.
- The clocks of the processes differ, and readers of an embedded store are behind, by less than `sweep_after`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.api import Store
from ingest.api.feeds import FEED, MARGIN_S, feed_table
from ingest.clock import now_ms
from sinks.dumps.existing import oldest_with_pointers
from sinks.feed.change_feed import ChangeFeed
from sinks.files.root import Root


class Copy(NamedTuple):
    """
    What may have pointers that the table had.

    Attributes:
        name: for people.
        since_ms: it has none that all cells had lost before this time, ms since the epoch.
    """

    name: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class RetentionHorizon:
    """
    How far back the copies of a table reach that a sweep has found.

    Attributes:
        at_ms: when it began to look for them, ms since the epoch.
        oldest: the copy that reaches back the furthest: what another one names, it may name as well; None without one.
    """

    at_ms: int
    oldest: Copy | None = None

    @classmethod
    def of_dumps(cls, roots: Iterable[Root], table: str, *, clock_ms: Callable[[], int] = now_ms) -> "RetentionHorizon":
        """
        The oldest dump of a table in some roots, also one that is not complete.

        Args:
            roots: that may have dumps of the table.
            table: its name.
            clock_ms: milliseconds since the epoch.

        Raises:
            StoreUnavailableError: the file system of a root does not answer, or the root may not be read.
        """
        found = cls(clock_ms())
        dumps = (oldest_with_pointers(root, table) for root in roots)
        return found._with(Copy(f"dump {dump.path}", dump.start_ms) for dump in dumps if dump is not None)

    def with_feed(self, store: Store[Any], table: str) -> "RetentionHorizon":
        """
        The same with the change feed of the table, if feed rows may be left; also those of a feed that was closed.

        Raises:
            IntegrityError: the change feed of the table cannot be read.
            StoreError: the store is unavailable.
        """
        kept_ms = _feed_kept_ms(store, table)
        return self if kept_ms is None else self._with([Copy(f"change feed of table {table}", self.at_ms - kept_ms)])

    def keeping(self, unreferenced_since_ms: int, sweep_after_ms: int) -> Copy | None:
        """The oldest copy, if it may name a blob; else no copy does."""
        may_name = self.oldest is not None and unreferenced_since_ms + sweep_after_ms > self.oldest.since_ms
        return self.oldest if may_name else None

    def _with(self, copies: Iterable[Copy]) -> "RetentionHorizon":
        known = [] if self.oldest is None else [self.oldest]
        return RetentionHorizon(self.at_ms, min([*known, *copies], key=lambda copy: copy.since_ms, default=None))


def _feed_kept_ms(store: Store[Any], table: str) -> int | None:
    """How long feed rows of a table stay, by their batch times; None if it has none."""
    described = store.describe_table(feed_table(table))
    if described is None:
        return None
    kept_s = [family.ttl_s for family in described.families if family.ttl_s is not None]
    text = store.properties(table).get(FEED)
    if text is not None:
        kept_s.append(ChangeFeed.of(text, table).expiration_ms // 1000 + MARGIN_S)
    return max(kept_s) * 1000 if kept_s else None
