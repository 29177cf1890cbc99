"""Whether the source still has the records of dead letters by place."""

from typing import TypeVar

from ingest.api import RecordPlace
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.replay_batches import Values
from ingest.service.dead_letters.unread import records_again
from ingest.sources.kafka import DEFAULT_MEMORY_BYTES

SpanOrNone = TypeVar("SpanOrNone", PlaceRange, PlaceRange | None)


class ReadableRecords:
    """
    The records that the source of a pipeline still has.

    Attributes:
        read_again: reads them, for the same replay.
    """

    def __init__(self, configuration: Configuration, pipeline: Pipeline) -> None:
        memory_bytes = configuration.spark.driver_memory or DEFAULT_MEMORY_BYTES
        self.read_again = records_again(pipeline.source.settings, memory_bytes)

    def with_ends(self, values: Values) -> Values:
        """As `with_end`, of all places."""
        return {
            place: self.with_end(place, value) if isinstance(value, PlaceRange) else value
            for place, value in values.items()
        }

    def with_end(self, place: RecordPlace, span: SpanOrNone) -> SpanOrNone:
        """
        The records of a place with the offset at which they end, if only the source knows it.

        So a later dead letter of more records at this place counts those that were added.

        Raises:
            SourceUnavailableError: a file cannot be read now.
        """
        if span is None or span.end is not None:
            return span
        return span._replace(end=self.read_again.end_of(place[0]))

    def begin_of(self, letter: DeadLetter) -> int | None:
        """
        The offset from which on the records of a dead letter can be read; None if they cannot.

        Those that it has itself can be read in any case. Lines of a file say so when they are read.

        Raises:
            SourceUnavailableError: the cluster does not answer.
        """
        span, record = letter.by_place, letter.record
        return record.offset if span is None else self.read_again.begin_of(record, span)

    def has_all(self, letter: DeadLetter) -> bool:
        """
        Whether all records of a dead letter can be read.

        Raises:
            SourceUnavailableError: it is not known now.
        """
        return letter.by_place is None or self.read_again.has_all(letter.record, letter.by_place)
