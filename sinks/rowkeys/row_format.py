"""How the rows of a table are stored: with or without buckets, as values or as deferred updates."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from ingest.api.table_reader import Recorded
from sinks.rowkeys.distribution import Distribution
from sinks.updates.keys import logical_of

UPDATES = "updates"
"""Name of the property of a table that says how its updates are merged."""


class HasRecords(Protocol):
    """What has the records of tables: a store, or a staging writer for one."""

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """As `Store.record`."""


class RowFormat(NamedTuple):
    """
    The row format of a table.

    Attributes:
        buckets: number of buckets of the row keys; None if they are stored as they are.
        updates: how deferred updates are merged, as `TableSpec.updates`; "" for a table of values.
    """

    buckets: int | None = None
    updates: str = ""

    @classmethod
    def recorded(cls, store: HasRecords, table: str) -> "RowFormat":
        """The row format in the record of a table."""
        buckets, properties = store.record(table)
        return cls.of(Recorded(buckets, properties))

    @classmethod
    def of(cls, recorded: Recorded) -> "RowFormat":
        """The row format of a table with this record."""
        return cls(recorded.buckets, recorded.properties.get(UPDATES, ""))

    def physical_key(self) -> Callable[[bytes], bytes] | None:
        """
        The function from a logical row key to the physical one; None if they are the same.

        The row key of an update row is in the bucket of its logical row key, with all other update rows of that row.
        """
        distribution = Distribution.of(self.buckets)
        if distribution is None:
            return None
        if not self.updates:
            return distribution.physical
        bucket = distribution.bucket
        return lambda key: bucket(logical_of(key)) + key
