"""
Bisection of a refused call: its good rows are written, its bad rows are found.

HBase does not say which row of a call it refused; the good rows of that call may have been written. All rows carry
their times, so any of them may be sent again: halves, quarters and so on, until the rows that can never be written
stand alone. One bad row among n costs about 2 log2(n) further calls.
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
        mutations: which may be sent in any order.
        apply: sends some of them.

    Returns:
        The refused mutations.

    Raises:
        StoreError: whatever `apply` raises other than a rejection; some may have been written.
    """
    refused: list[Refusal] = []
    waiting = [mutations]
    while waiting:
        part = waiting.pop()
        try:
            apply(part)
        except WriteRejectedError as error:
            if len(part) == 1:
                refused.append(Refusal(part[0], error.without_frames()))
            else:
                waiting.extend(reversed(_parts(part, error.indexes)))
    return refused


def _parts(mutations: Sequence[Mutation], named: Sequence[int] | None) -> list[Sequence[Mutation]]:
    """
    The parts of a refused call to try next.

    The mutations that the store does not name are tried first, in one call; those it names follow one by one, each for
    its own reason.
    """
    if not named:
        middle = len(mutations) // 2
        return [mutations[:middle], mutations[middle:]]
    bad = set(named)
    others = [mutation for index, mutation in enumerate(mutations) if index not in bad]
    return [*([others] if others else []), *([mutations[index]] for index in sorted(bad))]
