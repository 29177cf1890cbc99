"""Whether the source still has the records of dead letters by place."""

from typing import TypeVar

from ingest.api import RecordPlace
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.replay_batches import Values
from ingest.service.dead_letters.unread import FileLines, Retention, can_read_again, read_again_from
from ingest.sources.kafka import DEFAULT_MEMORY_BYTES

SpanOrNone = TypeVar("SpanOrNone", PlaceRange, PlaceRange | None)


class ReadableRecords:
    """
    The records that the source of a pipeline still has.

    Attributes:
        read_again: reads them, for the same replay.
    """

    def __init__(self, configuration: Configuration, pipeline: Pipeline) -> None:
        self._source = pipeline.source.settings
        self._memory_bytes = configuration.spark.driver_memory or DEFAULT_MEMORY_BYTES
        self._retention = Retention(self._source)
        self.read_again = read_again_from(self._source)

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
        if span is None or span.end is not None or not isinstance(self.read_again, FileLines):
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
        if span is None:
            return record.offset
        begin = self._retention.begin_of(record.place, span.end, span.topic_id)
        if begin is None or span.was_read:
            return begin
        rest = record._replace(offset=begin)
        return begin if can_read_again(self._source, rest, span, self._memory_bytes) else None

    def has_all(self, letter: DeadLetter) -> bool:
        """
        Whether all records of a dead letter can be read.

        Raises:
            IngestError: as `begin_of`; or a file cannot be read now.
        """
        if letter.by_place is not None and isinstance(self.read_again, FileLines):
            return self.read_again.can_read(letter.record.topic, [(letter.record, letter.by_place)])
        return self.begin_of(letter) == letter.record.offset
