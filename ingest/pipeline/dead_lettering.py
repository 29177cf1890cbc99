"""The dead letters of the records that fail in a pipeline."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.api import Record, UnreadError
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.pipeline.failures import Failure


@dataclass(frozen=True, slots=True)
class DeadLetterMaker:
    """
    Makes the dead letters of one pipeline.

    Attributes:
        pipeline: its name.
        fingerprint: of its configuration.
        tables: name of a sink -> as in `DeadLetter.table`.
    """

    pipeline: str
    fingerprint: str
    tables: Mapping[str, str] = field(default_factory=dict)

    def of(self, record: Record, failure: Failure, batch_time_ms: int) -> DeadLetter:
        """
        The dead letter of a record; by place if the source could not read it.

        Args:
            record: as the source read it.
            failure: of the record, or of an event made of it.
            batch_time_ms: of the micro-batch.
        """
        error, event = failure.error, failure.event
        return DeadLetter(
            record=record._replace(headers=()) if isinstance(error, UnreadError) else record,
            by_place=PlaceRange.of(error) if isinstance(error, UnreadError) else None,
            fan_out=failure.fan_out,
            attributes={} if event is None else event.attributes,
            pipeline=self.pipeline,
            component=failure.component,
            code=error.code,
            message=str(error),
            batch_time_ms=batch_time_ms,
            fingerprint=self.fingerprint,
            table=self.tables.get(failure.component) if failure.sinks else "",
        )
