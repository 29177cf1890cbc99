"""What the driver says of the tables that a task or a probe writes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

from ingest.api.table_writer import FeatureMessages
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.messages import Prepared


@dataclass(frozen=True, slots=True)
class CycleTables:
    """
    What the driver says of the tables that are written in a flush cycle.

    Attributes:
        declared: table -> its declared row format; other tables are written as their records say.
        batch_time_ms: of the micro-batch; None if no event is at fault whose time the store refuses. Else mutations
            with another time than this one, and than `times_ms`, have that of an event.
        times_ms: further times that the driver has chosen.
        features: what the driver says to the features of the tables; a table is not written without those of its
            record that are in `UNDECLARED`.
        new_times_ms: as in `TargetLayer.begin`.
    """

    declared: Mapping[str, RowFormat] = field(default_factory=dict)
    batch_time_ms: int | None = None
    times_ms: Collection[int] = ()
    features: FeatureMessages = field(default_factory=dict)
    new_times_ms: Collection[int] = ()

    @classmethod
    def of(cls, prepared: Prepared, batch_time_ms: int | None) -> Self:
        """What the driver has prepared for a micro-batch."""
        # deletes have the millisecond before; after a refusal a row may lack events that an earlier attempt wrote to it
        new_times_ms = () if batch_time_ms is None or prepared.refused else (batch_time_ms, batch_time_ms - 1)
        return cls(prepared.declared, batch_time_ms, prepared.times_ms, prepared.features, new_times_ms)
