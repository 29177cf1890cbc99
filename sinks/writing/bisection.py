"""
Bisection of a rejected call: writes its good rows and finds its bad ones.

HBase does not report which row of a call it rejected; the good rows of that call may have been written. All rows have
explicit timestamps, so they may be sent again: in halves, quarters and so on, until each bad row is in a call of its
own. One bad row among n costs about 2 log2(n) further calls.

A refusal may also concern a region or the whole table (`UnclearRefusalError`). Then a row is refused only if
other rows of its region were written meanwhile; else the call is blocked.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Mutation, UnclearRefusalError, WriteRejectedError
from ingest.api.notation import shown

MAX_UNCLEAR = 16
"""
Rejected rows of a region of which no row is written, after which no other is tried: in a table that refuses all rows
each would cost a call in every attempt.
"""


class Refusal(NamedTuple):
    """A mutation that the store can never write, and the store's reason for it."""

    mutation: Mutation
    error: WriteRejectedError


class Judge:
    """
    Decides for the calls of one bisection whether a row is at fault that the store refuses for an unclear reason.

    Args:
        table: its name.
        region_starts: see `Store.region_starts`; called once, if there is such a refusal.
        physical_key: logical row key -> physical row key; None if they are the same.
    """

    def __init__(
        self,
        table: str,
        region_starts: Callable[[], Sequence[bytes]],
        physical_key: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._table = table
        self._region_starts = region_starts
        self._physical_key = physical_key
        self._starts: Sequence[bytes] | None = None
        self._written: set[int] = set()
        self._refused: Counter[int] = Counter()
        self._last: dict[int, tuple[Mutation, UnclearRefusalError]] = {}

    def doubt(self) -> None:
        """The store has refused some rows for an unclear reason: from now on it matters which ones it writes."""
        if self._starts is None:
            self._starts = self._region_starts()

    def written(self, mutations: Sequence[Mutation]) -> None:
        """Some rows were written."""
        if self._starts is not None:
            self._written.update(map(self._region, mutations))

    def refused(self, mutation: Mutation, error: UnclearRefusalError) -> None:
        """
        The store has refused a row that was in a call of its own.

        Raises:
            UnclearRefusalError: it has refused many of this region, and written none.
        """
        region = self._region(mutation)
        self._refused[region] += 1
        self._last[region] = mutation, error
        if self._refused[region] >= MAX_UNCLEAR:
            self._check(region)

    def check(self) -> None:
        """
        Check at the end that a row of each region with rejected rows was written.

        Raises:
            UnclearRefusalError: none was, so the fault may be the region's.
        """
        for region in self._refused:
            self._check(region)

    def _check(self, region: int) -> None:
        if region in self._written:
            return
        mutation, error = self._last[region]
        count = self._refused[region]
        which = f"row {shown(mutation.row)}" if count == 1 else f"{count} rows, the last one {shown(mutation.row)},"
        raise UnclearRefusalError(
            f'table "{self._table}" refuses {which} and no other row of the region was written with it, so the fault '
            f"may be the region's or the table's: {error.message}",
            hint="correct what the reason names; if the row itself is at fault, drop its event with the decorator "
            "`filter`, and reload the file",
        ) from error

    def _region(self, mutation: Mutation) -> int:
        row = mutation.row if self._physical_key is None else self._physical_key(mutation.row)
        return bisect_right(self._starts or (), row)


def apply_all_but_refused(
    mutations: Sequence[Mutation], apply: Callable[[Sequence[Mutation]], None], judge: Judge | None = None
) -> list[Refusal]:
    """
    Make mutations durable, except for those that the store refuses.

    Args:
        mutations: may be sent in any order.
        apply: sends some of them.
        judge: of refusals for unclear reasons; None if these rows are known to be at fault.

    Returns:
        The refused mutations.

    Raises:
        UnclearRefusalError: the fault may be a region's or the table's.
        StoreError: whatever `apply` raises other than a rejection; some may have been written.
    """
    refused: list[Refusal] = []
    pending = [mutations]
    while pending:
        part = pending.pop()
        try:
            apply(part)
        except (WriteRejectedError, UnclearRefusalError) as error:
            if isinstance(error, UnclearRefusalError) and judge is not None:
                judge.doubt()
            if len(part) > 1:
                pending.extend(reversed(_parts(part, error.indexes)))
                continue
            if isinstance(error, UnclearRefusalError):
                if judge is not None:
                    judge.refused(part[0], error)
                error = WriteRejectedError(error.message)
            refused.append(Refusal(part[0], error.without_frames()))
        else:
            if judge is not None:
                judge.written(part)
    if judge is not None:
        judge.check()
    return refused


def _parts(mutations: Sequence[Mutation], named: Sequence[int] | None) -> list[Sequence[Mutation]]:
    """
    The parts of a rejected call to send next.

    Mutations that the store did not name come first, in one call; those it named follow one by one, so each gets its
    own reason.
    """
    if not named:
        middle = len(mutations) // 2
        return [mutations[:middle], mutations[middle:]]
    bad = set(named)
    others = [mutation for index, mutation in enumerate(mutations) if index not in bad]
    return [*([others] if others else []), *([mutations[index]] for index in sorted(bad))]
