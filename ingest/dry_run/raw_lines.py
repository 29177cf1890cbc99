"""Lines of raw files as given records, equal to those that the files source reads."""

import itertools
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path

from ingest.api import Decoding, NotFoundError
from ingest.api.notation import to_notation
from ingest.config.test_cases import Given, GivenRecord
from ingest.sources.file_names import text_of
from ingest.sources.lines import PARTITION, files_at, lines_in, lines_of, size_and_time


def records_of_stream(stream: BufferedReader, topic: str, decoding: Decoding, timestamp_ms: int) -> Iterator[Given]:
    """
    A record for each line of an open file.

    Args:
        stream: at its beginning.
        topic: of the records, in place of a path.
        decoding: of the source.
        timestamp_ms: of the records, in place of the file's.
    """
    lines = lines_in(stream, decoding.max_event_bytes, topic, decoding.encoding)
    return _records(lines, topic, timestamp_ms)


def records_of_file(path: Path, decoding: Decoding) -> Iterator[Given]:
    """
    A record for each line of a file, plain or gzip.

    Args:
        path: the file.
        decoding: of the source.

    Raises:
        NotFoundError: there is no such file, or it is a folder.
        UnreadableFileError: the file cannot be decompressed.
        SourceUnavailableError: it cannot be read now.
    """
    if path.is_dir():
        raise NotFoundError(f'"{path}" is a folder', hint="give one of its files")
    if not path.exists():
        raise NotFoundError(f'there is no file "{path}"', hint="paths are relative to the current folder")
    # a pipe, as in `<(command)`, has no path behind its symbolic link
    topic = text_of(path.resolve() if path.is_file() else path.absolute())
    return _records(_lines_of(topic, decoding), topic, size_and_time(path.stat())["mtime_ms"])


def first_records(path: str, count: int, decoding: Decoding) -> Iterator[Given]:
    """
    Records of the first lines of the files that the option `path` of the source matches now.

    Raises:
        UnreadableFileError: a file cannot be decompressed.
        SourceUnavailableError: a file cannot be read now.
    """
    every = (
        _records(_lines_of(topic, decoding), topic, file["mtime_ms"])
        for topic, file in sorted(dict(files_at(path)).items())
    )
    return itertools.islice(itertools.chain.from_iterable(every), count)


def _lines_of(path: str, decoding: Decoding) -> Iterator[tuple[int, bytes]]:
    return lines_of(path, decoding.max_event_bytes, encoding=decoding.encoding)


def _records(lines: Iterable[tuple[int, bytes]], topic: str, timestamp_ms: int) -> Iterator[Given]:
    for offset, line in lines:
        yield Given(
            record=GivenRecord(
                value=to_notation(line), topic=topic, partition=PARTITION, offset=offset, timestamp_ms=timestamp_ms
            )
        )
