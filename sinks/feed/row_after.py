"""The cells of a row after mutations that its store does not have yet."""

from collections.abc import Iterable, Sequence

from ingest.api import Cell, Delete, Mutation, Put, split_column


def cells_after(cells: Iterable[Cell], mutations: Sequence[Mutation]) -> tuple[Cell, ...]:
    """
    The newest cells of a row after mutations, by HBase's rules: a delete hides cells up to its time, also later puts.

    Args:
        cells: the newest ones before; a delete of exactly such a version uncovers none of the older ones.
        mutations: of this row, in the order of their writes; their row keys are not used.
    """
    values = {(cell.family, cell.qualifier, cell.timestamp_ms): cell.value for cell in cells}
    for mutation in mutations:
        if isinstance(mutation, Put):
            for column, value in mutation.columns.items():
                family, qualifier = split_column(column)
                values[family, qualifier or b"", mutation.timestamp_ms] = value
    deletes = [mutation for mutation in mutations if isinstance(mutation, Delete)]
    newest: dict[tuple[bytes, bytes], Cell] = {}
    for (family, qualifier, time_ms), value in sorted(values.items()):
        cell = Cell(family, qualifier, time_ms, value)
        if not any(_hides(delete, cell) for delete in deletes):
            newest[family, qualifier] = cell
    return tuple(newest.values())


def _hides(delete: Delete, cell: Cell) -> bool:
    if delete.family is not None and delete.family != cell.family:
        return False
    if delete.qualifier is not None and delete.qualifier != cell.qualifier:
        return False
    return cell.timestamp_ms == delete.timestamp_ms if delete.exact else cell.timestamp_ms <= delete.timestamp_ms
