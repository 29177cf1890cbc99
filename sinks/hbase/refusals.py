"""
What HBase can never write; found before anything is sent.

A server rejects a region's whole batch for some of these, and does not say because of which row.
"""

from ingest.api import MAX_FAMILY_BYTES, MAX_ROW_KEY_BYTES, MAX_TIME_MS
from ingest.api.cells import ttl_rejection
from ingest.api.notation import shown

NO_CELLS = "put without a cell"


class RefusalError(ValueError):
    """Why a mutation can never be written."""


def check_row(row: bytes) -> None:
    """
    Check a row key.

    Raises:
        RefusalError: it is empty or too long.
    """
    if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
        raise RefusalError(f"row key of {len(row)} bytes; HBase allows 1 to {MAX_ROW_KEY_BYTES}")


def check_time(time_ms: int) -> None:
    """
    Check the timestamp of a cell or a delete.

    Raises:
        RefusalError: it is negative or too late.
    """
    if not 0 <= time_ms <= MAX_TIME_MS:
        raise RefusalError(f"{time_ms} is not a valid timestamp of a cell")


def check_ttl(ttl_ms: int, time_ms: int) -> None:
    """
    Check the time to live of cells with a timestamp.

    Raises:
        RefusalError: it is not positive, or too long.
    """
    if (reason := ttl_rejection(ttl_ms, time_ms)) is not None:
        raise RefusalError(reason)


def check_family(family: bytes) -> None:
    """
    Check the family of a delete.

    Raises:
        RefusalError: no family has such a name.
    """
    if not family or b":" in family or len(family) > MAX_FAMILY_BYTES:
        raise RefusalError(f"{shown(family)} is not a family")


def family_bytes(column: bytes) -> int:
    """
    Length of the family of a column, `family:qualifier`.

    Raises:
        RefusalError: it has no family, no colon, or one that is too long.
    """
    size = column.find(b":")
    if size < 1:  # -1: there is no colon; 0: no family
        raise RefusalError(f"{shown(column)} is not a column; write family:qualifier")
    if size > MAX_FAMILY_BYTES:
        raise RefusalError(f"family of {size} bytes; HBase allows 1 to {MAX_FAMILY_BYTES}")
    return size


def check_cell_bytes(size: int, max_bytes: int) -> None:
    """
    Check the size of a cell.

    Args:
        size: as `RSRpcServices.checkCellSizeLimit` counts it, with row key, column, and 24 bytes of lengths, time and
            type.
        max_bytes: as the store's settings say.

    Raises:
        RefusalError: it is too large.
    """
    if size > max_bytes:
        raise RefusalError(f"cell too large: {size} bytes with row key and column; at most {max_bytes}")
