"""Records of which dead letters have the place only, read again for a replay."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from math import inf
from typing import NamedTuple

from ingest.api import (
    ConflictError,
    NotFoundError,
    PositionLostError,
    Record,
    RecordPlace,
    SourceSettings,
    SourceUnavailableError,
    TopicPartition,
    UnreadError,
)
from ingest.clock import now_ms
from ingest.dead_letters.envelope import PlaceRange
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.large_batches import decompressed_size
from ingest.kafka.record_batches import record_batches
from ingest.observe.logs import logger
from ingest.service.kafka.topics import may_be_same
from ingest.sources.files import FilesSourceSettings
from ingest.sources.kafka import KafkaSourceSettings, max_decompressed_bytes
from ingest.sources.lines import (
    PARTITION,
    ChangedFileError,
    RemovedFileError,
    UnreadableFileError,
    check_readable,
    files_at,
    lengths_of,
    lines_of,
    may_go_on,
)
from ingest.sources.unread import unread_record

_log = logger(__name__)

PlaceOfRecords = tuple[Record, PlaceRange]
"""A record with the place of the first one of a dead letter, and its timestamp; and which records these are."""


class OtherSourceError(ConflictError):
    """Dead letters by place come from another source than the pipeline reads."""

    code = "other_source"
    hint = "restore the source that the pipeline had when the dead letters failed, for the replay"


class _Topic(NamedTuple):
    """Offsets of partitions of a topic, and its id if it is known."""

    earliest: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    id: str | None = None


def warn_of_gone(topic: str, partition: int, records: int) -> None:
    """Log how many records of places of a partition a replay cannot run."""
    _log.warning(
        "records of dead letters are gone, since the topic has deleted them",
        topic=topic,
        partition=partition,
        records=records,
    )


class RecordsAgain:
    """
    The records of a source that a replay reads again; those of the source of a plugin are refused when they are read.

    Called by one thread, for one replay.
    """

    def __call__(self, topic: str, partition: int, places: Sequence[PlaceOfRecords]) -> Iterator[Record]:
        """
        The records that are now at places of one partition, which are in order and do not overlap.

        If those of a place cannot be read again it is one record, which fails with an `UnreadError`.

        Raises:
            ConflictError: the source cannot read records again.
            SourceUnavailableError: they cannot be read now.
        """
        raise OtherSourceError(
            f"the records from {topic}/{partition}/{places[0][0].offset} on cannot be read again from this source"
        )

    def begin_of(self, record: Record, span: PlaceRange) -> int | None:  # noqa: ARG002 - for sources that know it
        """
        The offset from which on the source has the records of a place; None if it has none of them.

        A source that says so only when they are read has all of them.

        Raises:
            SourceUnavailableError: the source does not answer.
        """
        return record.offset

    def has_all(self, record: Record, span: PlaceRange) -> bool:
        """
        Whether all records of a place can be read.

        Raises:
            SourceUnavailableError: it is not known now.
        """
        return self.begin_of(record, span) == record.offset

    def end_of(self, topic: str) -> int | None:  # noqa: ARG002 - for files
        """
        The offset after the last record of a topic that gets no more of them, the same during a replay; else None.

        Raises:
            SourceUnavailableError: it is not known now.
        """
        return None


def records_again(source: SourceSettings, memory_bytes: int) -> RecordsAgain:
    """The records of a source, for one replay with a JVM of this memory."""
    match source:
        case FilesSourceSettings():
            return FileLines(source)
        case KafkaSourceSettings():
            return TopicRecords(source, memory_bytes)
    return RecordsAgain()


class TopicRecords(RecordsAgain):
    """
    The records of Kafka topics.

    Args:
        source: reads the topics; each is asked once for the records that it has.
        memory_bytes: of the JVM: a record batch that is too large for it is left out again.
    """

    def __init__(self, source: KafkaSourceSettings, memory_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_decompressed_bytes(source, memory_bytes)
        self._found: dict[str, _Topic] = {}

    def __call__(self, topic: str, partition: int, places: Sequence[PlaceOfRecords]) -> Iterator[Record]:
        """The records, those of one record batch at a time in memory; logs how many are not there any more."""
        spans = [(record.offset, _end_of_records(record, span)) for record, span in places]
        ranges = _Ranges(spans)
        # a place of records that were read has one at each offset
        missing = sum(end - begin for (begin, end), (_, span) in zip(spans, places, strict=True) if span.was_read)
        with closing(record_batches(self._source, {(topic, partition): (spans[0][0], spans[-1][1])})) as batches:
            for batch in batches:
                if ranges.find(batch.first, batch.last) is None:
                    continue
                for record in batch.decompressed():
                    at = ranges.find(record.offset, record.offset)
                    if at is not None:
                        missing -= places[at][1].was_read
                        yield record
        if missing:  # as in a compacted topic, between others
            warn_of_gone(topic, partition, missing)

    def begin_of(self, record: Record, span: PlaceRange) -> int | None:
        """As the offsets of the topic say; None also if a batch of records that were not read is still too large."""
        begin = record.offset if span.end is None else self._begin_of(record.place, span.end, span.topic_id)
        if begin is None or span.was_read:
            return begin
        return begin if self._is_small_enough(record._replace(offset=begin), span) else None

    def _begin_of(self, place: RecordPlace, end: int, topic_id: str) -> int | None:
        """
        The offset from which on a topic has the records from a place up to an offset; None if it has not the last one.

        Args:
            place: of the first record.
            end: offset after the last one.
            topic_id: of the topic when they were read, since one that was recreated has other records there; "" if it
                is unknown.
        """
        topic, partition, offset = place
        if topic not in self._found:
            try:
                with KafkaAdmin(self._source) as admin:
                    ids = admin.topic_ids([topic])
                    self._found[topic] = _Topic(admin.earliest([topic]), admin.ends([topic]), ids.get(topic))
            except NotFoundError:
                self._found[topic] = _Topic({}, {})
        found, part = self._found[topic], (topic, partition)
        begin = max(found.earliest.get(part, 0), offset)
        is_there = part in found.ends and begin < end <= found.ends[part]
        return begin if is_there and may_be_same(topic_id, found.id) else None

    def _is_small_enough(self, record: Record, span: PlaceRange) -> bool:
        """Whether the record batches of a place are in the topic, and not too large for the JVM."""
        offsets = {(record.topic, record.partition): (record.offset, _end_of_records(record, span))}
        try:
            with closing(record_batches(self._source, offsets)) as batches:
                return all(decompressed_size(batch, self._max_bytes) <= self._max_bytes for batch in batches)
        except (PositionLostError, NotFoundError):
            return False


class SinksByRange(Mapping[RecordPlace, frozenset[str]]):
    """
    The sinks of records that are read again: those of the dead letter that has their place.

    Args:
        sinks: of all dead letters, by the places of their records; None for all sinks.
    """

    def __init__(self, sinks: Mapping[RecordPlace, frozenset[str] | None]) -> None:
        self._sinks = sinks
        self._places = sorted(sinks)

    def __getitem__(self, place: RecordPlace) -> frozenset[str]:
        at = bisect_right(self._places, place) - 1
        found = None if at < 0 or self._places[at][:2] != place[:2] else self._sinks[self._places[at]]
        if found is None:
            raise KeyError(place)
        return found

    def __iter__(self) -> Iterator[RecordPlace]:
        return iter(self._sinks)

    def __len__(self) -> int:
        return len(self._sinks)


class _Ranges:
    """Places of one partition, which are in order and do not overlap."""

    def __init__(self, ranges: Sequence[tuple[int, float]]) -> None:
        self._begins = [begin for begin, _ in ranges]
        self._ends = [end for _, end in ranges]

    def find(self, first: int, last: int) -> int | None:
        """The number of the last range that has one of the offsets from `first` to `last`; None without one."""
        at = bisect_right(self._begins, last) - 1
        return at if at >= 0 and self._ends[at] > first else None


class FileLines(RecordsAgain):
    """
    The lines of a file: all of them, or none. They have the time of the dead letter, so a replay writes the same.

    Only of a file that the source reads: a dead letter may come from a topic, and must not open other files.

    None only if they could not be read before, either: what is written of them may be a part, and the next replay must
    find that out (`ingest.service.replay.update_replay.UpdateReplay.settle`).
    """

    def __init__(self, source: FilesSourceSettings) -> None:
        self._path = source.path
        self._max_event_bytes = source.max_event_bytes
        self._encoding = source.encoding
        self._found: set[str] = set()
        self._ends: dict[str, int] = {}

    def has_all(self, record: Record, span: PlaceRange) -> bool:
        """Whether the file has not changed."""
        try:
            self._check(record.topic, [(record, span)])
        except UnreadableFileError:
            return False
        return True

    def end_of(self, topic: str) -> int | None:
        """The offset after the last line of a file; None if it cannot be read."""
        if topic not in self._ends:
            try:
                self._ends[topic], _ = lengths_of(topic, self._encoding)
            except UnreadableFileError:
                return None
        return self._ends[topic]

    def __call__(self, topic: str, partition: int, places: Sequence[PlaceOfRecords]) -> Iterator[Record]:  # noqa: ARG002 - a file has one
        """The lines of places; an error also if the file cannot be read any more."""
        path = topic
        try:
            self._check(path, places)
        except UnreadableFileError as error:
            if path in self._found:
                raise _changing(error) from error
            for record, span in places:
                missing = UnreadError(error.message, end=span.end, code=error.code)
                yield unread_record(record.place, record.timestamp_ms, missing)
            return
        ends = [inf if span.end is None else span.end for _, span in places]
        ranges = _Ranges([(record.offset, end) for (record, _), end in zip(places, ends, strict=True)])
        begin, end = places[0][0].offset, ends[-1]
        try:
            stop = None if end == inf else int(end)
            for offset, line in lines_of(path, self._max_event_bytes, begin, stop, self._encoding):
                if offset >= end:
                    return  # of a gzip file
                if (at := ranges.find(offset, offset)) is not None:
                    yield Record(path, PARTITION, offset, b"", line, places[at][0].timestamp_ms, ())
        except UnreadableFileError as error:
            raise _changing(error) from error

    def _check(self, path: str, places: Sequence[PlaceOfRecords]) -> None:
        found = dict(files_at(self._path)).get(path)
        if found is None:
            raise RemovedFileError(f'"{path}" is not there, or no file of the source')
        check_readable(path, self._encoding)
        if self._goes_on(path, found, places):
            raise ChangedFileError(f'"{path}" changed a moment ago, and its last line has no line end: it may go on')
        if any(span.was_read and record.timestamp_ms != found["mtime_ms"] for record, span in places):
            # the offsets are of other lines
            raise ChangedFileError(f'"{path}" has changed since its lines failed')
        self._found.add(path)

    def _goes_on(self, path: str, now: Mapping[str, int], places: Sequence[PlaceOfRecords]) -> bool:
        """Whether a program may be writing the last line of places that the source could not read."""
        if not may_go_on(now["mtime_ms"], now_ms()):
            return False
        length, ended = lengths_of(path, self._encoding)
        return any(not span.was_read and ended < min(length, span.end_offset) for _, span in places)


def _changing(error: UnreadableFileError) -> SourceUnavailableError:
    return SourceUnavailableError(
        f"{error.message}, while it was read", hint="run the replay again once nothing changes the file"
    )


def _end_of_records(record: Record, span: PlaceRange) -> int:
    return record.offset + 1 if span.end is None else span.end
