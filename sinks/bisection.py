"""
A refused chunk without its bad rows.

HBase says that a call was refused, not because of which row; the good rows of that call may have been written. All
rows of a chunk carry their times, so any of them may be sent again: halves, quarters and so on, until the rows that
can never be written stand alone. One bad row among n costs about 2 log2(n) further calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingest.api import Mutation, WriteRejectedError
from sinks.buffer import Chunk


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    A row that the store can never write.

    Attributes:
        owners: what was given to the buffer with it: the events behind the row.
        error: the store's reason for this row alone.
    """

    table: str
    mutation: Mutation
    owners: Sequence[object]
    error: WriteRejectedError


def apply_all_but_refused(chunk: Chunk, apply: Callable[[Sequence[Mutation]], None]) -> list[Refusal]:
    """
    Make a chunk durable but for the rows that the store refuses.

    A row that several events were merged into is tried event by event, in their order, so a bad one does not take good
    ones with it.

    Args:
        chunk: in which no row key stands twice, so its rows may be sent in any order.
        apply: sends mutations of the chunk's table.

    Raises:
        StoreError: whatever `apply` raises but a rejection; some rows may have been written.
    """
    refused: list[Refusal] = []

    def halve(indexes: Sequence[int]) -> None:
        try:
            apply([chunk.mutations[index] for index in indexes])
        except WriteRejectedError as error:
            if len(indexes) == 1:
                alone(indexes[0], error)
                return
            for part in _parts(indexes, error.indexes):
                halve(part)

    def alone(index: int, error: WriteRejectedError) -> None:
        mutation = chunk.mutations[index]
        merged = chunk.merged.get(mutation.row)
        if merged is None:
            refused.append(Refusal(chunk.table, mutation, chunk.owners[mutation.row], error))
            return
        for put, owners in merged:
            try:
                apply([put])
            except WriteRejectedError as own_error:
                refused.append(Refusal(chunk.table, put, owners, own_error))

    halve(range(len(chunk.mutations)))
    return refused


def _parts(indexes: Sequence[int], named: Sequence[int] | None) -> list[Sequence[int]]:
    """
    What to try next of a refused call.

    Rows that the store names are tried one by one, each for its own reason, after the others at once.
    """
    if not named:
        middle = len(indexes) // 2
        return [indexes[:middle], indexes[middle:]]
    bad = set(named)
    others = [index for position, index in enumerate(indexes) if position not in bad]
    return [*([others] if others else []), *([indexes[position]] for position in sorted(bad))]
