"""The replacement of a cell, for stores that one process writes."""

from typing import TYPE_CHECKING, Any

from ingest.api.cells import Put
from ingest.api.errors import NotFoundError
from ingest.api.store_errors import NoTableError

if TYPE_CHECKING:
    from ingest.api.store import Store


def check_replacement(before: bytes | None, value: bytes) -> None:
    """
    Check the values of a replacement.

    Raises:
        ValueError: one is empty.
    """
    if before == b"" or not value:
        raise ValueError("a cell is replaced by an empty value, or an empty value is expected")


def replace_as_only_writer(
    store: "Store[Any]", table: str, row: bytes, column: bytes, before: bytes | None, value: bytes, now_ms: int
) -> bool:
    """
    `Store.replace_cell` as a read and a write, for a store that one thread of one process writes.

    Args:
        store: open for writing.
        table: as there, and so are the next four.
        row: the physical row key.
        column: of the cell.
        before: the expected value.
        value: the new value.
        now_ms: the current time.
    """
    check_replacement(before, value)
    try:
        found = store.get(table, row, columns=[column])
    except NotFoundError as error:
        raise NoTableError(error.message) from error
    present = None if found is None else found.cells[0]
    if present is not None and present.value == value:
        return True
    if (None if present is None else present.value) != before:
        return False
    at_ms = now_ms if present is None else max(now_ms, present.timestamp_ms)
    store.apply(table, [Put(row, {column: value}, at_ms)])
    return True
