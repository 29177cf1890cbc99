"""What reads of a table know of how its rows are stored: its record, and its row keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.api.store import Store


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    The record of a table.

    Attributes:
        buckets: number of buckets of its row keys; None if they are stored as they are.
        properties: of the table; of those of a feature, the one with its name says how rows are stored.
    """

    buckets: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store[Any], table: str) -> "Recorded":
        """The record in an open store."""
        buckets, properties = store.record(table)
        return cls(buckets, properties)


class RowKeys:
    """The row keys of a table as they are stored, without buckets; here they are the logical ones."""

    def logical(self, key: bytes) -> bytes:
        """
        The logical row key of a stored one.

        Raises:
            ValueError: no row of the table is stored with this key.
        """
        return key

    def range_of(self, start: bytes, stop: bytes | None) -> tuple[bytes, bytes | None]:
        """The range [start, stop) of stored row keys of a range of logical ones; a stop of None is the end."""
        return start, stop

    def whole(self, cut: bytes) -> bytes:
        """A cut between stored row keys, moved to the start of the logical row that it would divide."""
        return cut
