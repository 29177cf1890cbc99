"""The row keys of a table with deferred updates, for its readers."""

from ingest.api.table_reader import RowKeys
from sinks.updates.keys import logical_of, range_of, whole_row_start


class UpdateRowKeys(RowKeys):
    """Those of update rows: a logical row has several, side by side."""

    def logical(self, key: bytes) -> bytes:
        """The logical row key of an update row; raises ValueError if the key is of none."""
        return logical_of(key)

    def range_of(self, start: bytes, stop: bytes | None) -> tuple[bytes, bytes | None]:
        """All update rows of the logical rows."""
        return range_of(start, stop)

    def whole(self, cut: bytes) -> bytes:
        """The cut before the first update row of a logical row."""
        return whole_row_start(cut)
