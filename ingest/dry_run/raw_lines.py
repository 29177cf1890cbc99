"""Lines of raw files as records, as the files source reads them."""

import gzip
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from ingest.api import NotFoundError
from ingest.api.notation import to_notation
from ingest.config.test_cases import Given, GivenRecord
from ingest.sources.files import files_at


def records_of_lines(lines: Iterable[bytes], topic: str, timestamp_ms: int = 0) -> Iterator[Given]:
    """
    A record for each line, with its byte offset.

    Args:
        lines: with their line ends.
        topic: of the records, in place of a path.
        timestamp_ms: of the records.
    """
    offset = 0
    for line in lines:
        value = to_notation(line.removesuffix(b"\n").removesuffix(b"\r"))
        record = GivenRecord(value=value, topic=topic, offset=offset, timestamp_ms=timestamp_ms)
        yield Given(record=record)
        offset += len(line)


def records_of_file(path: Path, max_line_bytes: int | None = None) -> Iterator[Given]:
    """
    A record for each line of a file, plain or gzip; its timestamp is the file's modification time.

    Args:
        path: the file.
        max_line_bytes: a longer line is cut, but still too large for an event, and the rest of the file is not read.

    Raises:
        NotFoundError: there is no such file, or it is a folder.
    """
    try:
        timestamp_ms = path.stat().st_mtime_ns // 1_000_000
        with cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb") as file:
            lines = file if max_line_bytes is None else _bounded(file, max_line_bytes + len(b"\r\n"))
            yield from records_of_lines(lines, str(path), timestamp_ms)
    except IsADirectoryError as error:
        raise NotFoundError(f'"{path}" is a folder', hint="give one of its files") from error
    except FileNotFoundError as error:
        raise NotFoundError(f'there is no file "{path}"', hint="paths are relative to the current folder") from error


def _bounded(file: IO[bytes], longest: int) -> Iterator[bytes]:
    while line := file.readline(longest):
        yield line
        if not line.endswith(b"\n"):
            return


def first_records(path: str, count: int, max_line_bytes: int) -> Iterator[Given]:
    """The first lines of the files that the option `path` of the source matches now."""
    every = (records_of_file(file, max_line_bytes) for file in files_at(path))
    return itertools.islice(itertools.chain.from_iterable(every), count)
