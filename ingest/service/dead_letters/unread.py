"""Records that a source could not read, read again for a replay of their dead letters."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping

from ingest.api import ConflictError, Record, RecordPlace, SourceSettings, SourceUnavailableError, UnreadError
from ingest.dead_letters.envelope import UnreadRange
from ingest.sources.files import FilesSourceSettings
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
    return _refuse


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
            for offset, line in lines_of(path, self._max_event_bytes, first, unread.end):
                yield Record(path, PARTITION, offset, b"", line, record.timestamp_ms, ())
        except UnreadableFileError as error:
            raise SourceUnavailableError(
                f"{error.message}, while it was read", hint="run the replay again once nothing changes the file"
            ) from error

    def _check(self, path: str) -> None:
        if path not in dict(files_at(self._path)):
            raise UnreadableFileError(f'"{path}" is not there, or no file of the source', code="removed_file")
        check_readable(path)


def _refuse(record: Record, _unread: UnreadRange) -> Iterator[Record]:
    raise ConflictError(
        f"the records from {'/'.join(map(str, record.place))} on cannot be read again from this source",
        code="other_source",
        hint="the source of the pipeline is another one than when they failed: restore it for the replay",
    )
