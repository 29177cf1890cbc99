"""Records that a source could not read, read again for a replay of their dead letters."""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from functools import partial

from ingest.api import (
    ConflictError,
    NotFoundError,
    PositionLostError,
    Record,
    RecordPlace,
    SourceSettings,
    SourceUnavailableError,
    UnreadError,
)
from ingest.dead_letters.envelope import UnreadRange
from ingest.kafka.large_batches import decompressed_size
from ingest.kafka.record_batches import RecordBatch, record_batches
from ingest.sources.files import FilesSourceSettings
from ingest.sources.kafka import KafkaSourceSettings, max_decompressed_bytes
from ingest.sources.lines import PARTITION, UnreadableFileError, check_readable, files_at, lines_of
from ingest.sources.unread import unread_record

ReadAgain = Callable[[Record, UnreadRange], Iterator[Record]]
"""
The records that are now at the place of a dead letter, whose record has the place of the first one, and the timestamp.

If they cannot be read again it is one record, which fails with an `UnreadError`.
"""


def read_again_from(source: SourceSettings) -> ReadAgain:
    """Reads records of a source again."""
    if isinstance(source, FilesSourceSettings):
        return _FileLines(source)
    if isinstance(source, KafkaSourceSettings):
        return partial(_batch_records, source)
    return _refuse


def can_read_again(source: SourceSettings, record: Record, unread: UnreadRange, memory_bytes: int) -> bool:
    """
    Whether the record batches of a dead letter are in the topic, and not too large for a JVM with this memory.

    Of another source than Kafka True: it says so when it reads.

    Raises:
        SourceUnavailableError: the cluster does not answer.
    """
    if not isinstance(source, KafkaSourceSettings):
        return True
    limit = max_decompressed_bytes(source, memory_bytes)
    try:
        with closing(_batches(source, record, unread)) as batches:
            return all(decompressed_size(batch, limit) <= limit for batch in batches)
    except (PositionLostError, NotFoundError):
        return False


class SinksByRange(Mapping[RecordPlace, frozenset[str]]):
    """
    The sinks of records that are read again: those of the dead letter that has their place.

    Args:
        sinks: of dead letters, by the places of their records.
    """

    def __init__(self, sinks: Mapping[RecordPlace, frozenset[str]]) -> None:
        self._sinks = sinks
        self._places = sorted(sinks)

    def __getitem__(self, place: RecordPlace) -> frozenset[str]:
        at = bisect_right(self._places, place) - 1
        if at < 0 or self._places[at][:2] != place[:2]:
            raise KeyError(place)
        return self._sinks[self._places[at]]

    def __iter__(self) -> Iterator[RecordPlace]:
        return iter(self._sinks)

    def __len__(self) -> int:
        return len(self._sinks)


class _FileLines:
    """
    The lines of a file: all of them, or none. They have the time of the dead letter, so a replay writes the same.

    Only of a file that the source reads: a dead letter may come from a topic, and must not open other files.
    """

    def __init__(self, source: FilesSourceSettings) -> None:
        self._path = source.path
        self._max_event_bytes = source.max_event_bytes
        self._encoding = source.encoding

    def __call__(self, record: Record, unread: UnreadRange) -> Iterator[Record]:
        path, _, first = record.place
        try:
            self._check(path)
        except UnreadableFileError as error:
            yield unread_record(
                record.place, record.timestamp_ms, UnreadError(error.message, end=unread.end, code=error.code)
            )
            return
        try:
            for offset, line in lines_of(path, self._max_event_bytes, first, unread.end, self._encoding):
                yield Record(path, PARTITION, offset, b"", line, record.timestamp_ms, ())
        except UnreadableFileError as error:
            raise SourceUnavailableError(
                f"{error.message}, while it was read", hint="run the replay again once nothing changes the file"
            ) from error

    def _check(self, path: str) -> None:
        if path not in dict(files_at(self._path)):
            raise UnreadableFileError(f'"{path}" is not there, or no file of the source', code="removed_file")
        check_readable(path, self._encoding)


def _batch_records(source: KafkaSourceSettings, record: Record, unread: UnreadRange) -> Iterator[Record]:
    """The records of record batches, those of one at a time in memory."""
    with closing(_batches(source, record, unread)) as batches:
        for batch in batches:
            for each in batch.decompressed():
                if record.offset <= each.offset and (unread.end is None or each.offset < unread.end):
                    yield each


def _batches(source: KafkaSourceSettings, record: Record, unread: UnreadRange) -> Generator[RecordBatch]:
    end = record.offset + 1 if unread.end is None else unread.end
    return record_batches(source, {(record.topic, record.partition): (record.offset, end)})


def _refuse(record: Record, _unread: UnreadRange) -> Iterator[Record]:
    raise ConflictError(
        f"the records from {'/'.join(map(str, record.place))} on cannot be read again from this source",
        code="other_source",
        hint="the source of the pipeline is another one than when they failed: restore it for the replay",
    )
