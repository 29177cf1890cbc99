"""
A refused call without its bad rows.

HBase says that a call was refused, not because of which row; the good rows of that call may have been written. All
rows carry their times, so any of them may be sent again: halves, quarters and so on, until the rows that can never be
written stand alone. One bad row among n costs about 2 log2(n) further calls.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Mutation, WriteRejectedError


class Refusal(NamedTuple):
    """A mutation that the store can never write, and its reason for this one alone."""

    mutation: Mutation
    error: WriteRejectedError


def apply_all_but_refused(mutations: Sequence[Mutation], apply: Callable[[Sequence[Mutation]], None]) -> list[Refusal]:
    """
    Make mutations durable but for those that the store refuses.

    Args:
        mutations: which may be sent in any order.
        apply: sends some of them.

    Returns:
        What was refused.

    Raises:
        StoreError: whatever `apply` raises but a rejection; some may have been written.
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
    What to try next of a refused call.

    Mutations that the store names are tried one by one, each for its own reason, after the others at once.
    """
    if not named:
        middle = len(mutations) // 2
        return [mutations[:middle], mutations[middle:]]
    bad = set(named)
    others = [mutation for index, mutation in enumerate(mutations) if index not in bad]
    return [*([others] if others else []), *([mutations[index]] for index in sorted(bad))]
