"""
Bisection of a rejected call: writes its good rows and finds its bad ones.

HBase does not report which row of a call it rejected; the good rows of that call may have been written. All rows have
explicit timestamps, so they may be sent again: in halves, quarters and so on, until each bad row is in a call of its
own. One bad row among n costs about 2 log2(n) further calls.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Mutation, WriteRejectedError


class Refusal(NamedTuple):
    """A mutation that the store can never write, and the store's reason for it."""

    mutation: Mutation
    error: WriteRejectedError


def apply_all_but_refused(mutations: Sequence[Mutation], apply: Callable[[Sequence[Mutation]], None]) -> list[Refusal]:
    """
    Make mutations durable, except for those that the store refuses.

    Args:
        mutations: may be sent in any order.
        apply: sends some of them.

    Returns:
        The refused mutations.

    Raises:
        StoreError: whatever `apply` raises other than a rejection; some may have been written.
    """
    refused: list[Refusal] = []
    pending = [mutations]
    while pending:
        part = pending.pop()
        try:
            apply(part)
        except WriteRejectedError as error:
            if len(part) == 1:
                refused.append(Refusal(part[0], error.without_frames()))
            else:
                pending.extend(reversed(_parts(part, error.indexes)))
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
