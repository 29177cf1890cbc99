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
from typing import Any, NamedTuple

from ingest.api import Mutation, Store, UnclearRefusalError, WriteRejectedError
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
    Decides for the parts of one call whether a row is at fault that the store refuses for an unclear reason.

    Args:
        table: its name.
        physical_key: logical row key -> physical row key; None if they are the same.

    Attributes:
        starts: see `Store.region_starts`; to be set at the first such refusal, since from then on it matters which rows
            are written.
    """

    def __init__(self, table: str, physical_key: Callable[[bytes], bytes] | None = None) -> None:
        self._table = table
        self._physical_key = physical_key
        self.starts: Sequence[bytes] | None = None
        self._written: set[int] = set()
        self._refused: Counter[int] = Counter()
        self._last: dict[int, tuple[Mutation, UnclearRefusalError]] = {}

    def written(self, mutations: Sequence[Mutation]) -> None:
        """Some rows were written."""
        if self.starts is not None:
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
        return bisect_right(self.starts or (), row)


class Bisection:
    """
    The parts of a call, sent one after the other until all its rows are written or refused.

    Order: `next_part`, then `written` or `rejected` for it, until there is none; then `refused`.

    Args:
        mutations: may be sent in any order.
        judge: of refusals for unclear reasons; None if these rows are known to be at fault.
    """

    def __init__(self, mutations: Sequence[Mutation], judge: Judge | None = None) -> None:
        self._pending = [mutations]
        self._judge = judge
        self._refused: list[Refusal] = []

    def next_part(self) -> Sequence[Mutation] | None:
        """What to send next; None if nothing is left."""
        return self._pending.pop() if self._pending else None

    def written(self, part: Sequence[Mutation]) -> None:
        """A part was written."""
        if self._judge is not None:
            self._judge.written(part)

    def rejected(self, part: Sequence[Mutation], error: WriteRejectedError | UnclearRefusalError) -> None:
        """
        A part was rejected; some of it may have been written.

        Raises:
            UnclearRefusalError: the fault may be a region's or the table's.
        """
        if len(part) > 1:
            self._pending.extend(reversed(_parts(part, error.indexes)))
            return
        if isinstance(error, UnclearRefusalError):
            if self._judge is not None:
                self._judge.refused(part[0], error)
            error = WriteRejectedError(error.message)
        self._refused.append(Refusal(part[0], error.without_frames()))

    def refused(self) -> list[Refusal]:
        """
        The refused mutations; all others are durable.

        Raises:
            UnclearRefusalError: the fault may be a region's or the table's.
        """
        if self._judge is not None:
            self._judge.check()
        return self._refused


def apply_all_but_refused(store: Store[Any], table: str, mutations: Sequence[Mutation]) -> list[Refusal]:
    """
    Make mutations with physical row keys durable, except for those that the store refuses; returns these.

    Raises:
        UnclearRefusalError: the fault may be a region's or the table's.
        StoreError: as `Store.apply`; some may have been written.
    """
    judge = Judge(table)
    bisection = Bisection(mutations, judge)
    while (part := bisection.next_part()) is not None:
        try:
            store.apply(table, part)
        except (WriteRejectedError, UnclearRefusalError) as error:
            if judge.starts is None and isinstance(error, UnclearRefusalError):
                judge.starts = store.region_starts(table)
            bisection.rejected(part, error)
        else:
            bisection.written(part)
    return bisection.refused()


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
