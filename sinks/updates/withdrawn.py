"""
The batch times of a table with deferred updates whose updates were withdrawn: a property of the table.

A process that was killed may have sent a call, or a load of files, which the store executes after the withdrawal. Its
updates would count beside those of the micro-batch that runs in their place. So they are orphaned updates, whenever
they are written: no read counts them, and a compaction deletes them. No micro-batch gets one of these times again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ingest.durable.record import Record
from sinks.updates.intervals import Interval, is_in, joined
from sinks.updates.keys import UpdateKey, last_update_id_of, time_of

WITHDRAWN = "withdrawn"
"""Name of the property."""
MAX_INTERVALS = 1_000
"""Of the newest withdrawals: what was sent before the oldest of these was executed long ago."""


@dataclass(frozen=True)
class Withdrawn(Record, kind="record of the withdrawn batch times of table"):
    """
    The value of the property.

    Attributes:
        intervals: disjoint and in order.
    """

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def in_properties(cls, properties: Mapping[str, str], table: str) -> "Withdrawn":
        """
        Those of a table with these properties.

        Raises:
            IntegrityError: the property cannot be read.
        """
        text = properties.get(WITHDRAWN)
        return NOTHING if text is None else cls.of(text, table)

    @property
    def last_ms(self) -> int:
        """The latest of the times; -1 for none."""
        return self.intervals[-1].last_ms if self.intervals else -1

    @cached_property
    def last_id(self) -> int:
        """No later update id was withdrawn: nearly all update rows need no further look. Negative for none."""
        return last_update_id_of(self.last_ms)

    def has_time(self, time_ms: int) -> bool:
        """Whether the updates of a batch time were withdrawn."""
        return is_in(self.intervals, time_ms)

    def has(self, key: UpdateKey) -> bool:
        """Whether an update row was withdrawn; a merged row never has such updates."""
        return key.start <= self.last_id and not key.is_merged and self.has_time(time_of(key.start))

    def with_added(self, intervals: Iterable[Interval]) -> "Withdrawn":
        """These and others, without the oldest if they are too many."""
        return Withdrawn(tuple(joined([*self.intervals, *intervals])[-MAX_INTERVALS:]))


NOTHING = Withdrawn()
