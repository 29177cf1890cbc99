"""The puts that write rows with the times of their cells."""

from collections.abc import Iterator

from ingest.api import Put, Row


def puts_of(row: Row) -> Iterator[Put]:
    """The puts that write all cells of a row with their times: one for each time."""
    columns: dict[int, dict[bytes, bytes]] = {}
    for family, qualifier, timestamp_ms, value in row.cells:
        columns.setdefault(timestamp_ms, {})[family + b":" + qualifier] = value
    for timestamp_ms, found in columns.items():
        yield Put(row.key, found, timestamp_ms)
