"""Reads the content of one file of a dump, whatever its format."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, BinaryIO, Generic, Self, TypeVar

from ingest.api import DecodeError
from ingest.durable import file_errors
from sinks.dumps.errors import DumpCorruptError, DumpNotAvailableError
from sinks.dumps.file_ref import FileRef
from sinks.dumps.layout import FileFormat
from sinks.dumps.lines import read_lines
from sinks.dumps.rows import DumpRow, document_of
from sinks.files.root import Root

T = TypeVar("T")
Document = Mapping[str, Any]


class DumpIterator(Iterator[T], Generic[T]):
    """
    What is read from files of a dump; close it, or use it as a context manager, unless it is exhausted.

    Args:
        make: creates the items of this iterator.
        skip_bad: whether damaged lines are skipped.

    Attributes:
        skipped: number of damaged lines that were skipped.
    """

    def __init__(self, make: "Callable[[OnBad], Generator[T]]", *, skip_bad: bool = False) -> None:
        self.skipped = 0
        self._skip_bad = skip_bad
        self._items = make(self._bad)

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """Close the file that is being read; may be called twice."""
        self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _bad(self, error: DumpCorruptError) -> None:
        if not self._skip_bad:
            raise error
        self.skipped += 1


OnBad = Callable[[DumpCorruptError], None]
"""Called for each damaged line; raises the error, or returns to skip the line."""


def refuse_bad(error: DumpCorruptError) -> None:
    """Raise the error of the first damaged line."""
    raise error


def documents_of(root: Root, ref: FileRef, on_bad: OnBad) -> Generator[Document]:
    """
    The JSON objects of a file as they are; those of EmoDB, too. A row of a Parquet file is the object of its line.

    Raises:
        DumpNotAvailableError: there is no such file.
        DumpCorruptError: the file is damaged, or its size differs from the reference; the rows before that come first.
    """
    with file_errors(root), _complete(root, ref) as file:
        if ref.file_format is FileFormat.PARQUET:
            from sinks.dumps.parquet import read_documents

            yield from read_documents(file, _path(ref), ref.table)
        else:
            for _, document in _numbered(file, ref, on_bad):
                yield document


def rows_of(root: Root, ref: FileRef, on_bad: OnBad) -> Generator[DumpRow]:
    """
    The rows of a file.

    Raises:
        DumpNotAvailableError: there is no such file.
        DumpCorruptError: the file is damaged, or its size differs from the reference; the rows before that come first.
    """
    with file_errors(root), _complete(root, ref) as file:
        if ref.file_format is FileFormat.PARQUET:
            from sinks.dumps.parquet import read_rows

            yield from read_rows(file, _path(ref), ref.table)
            return
        for number, document in _numbered(file, ref, on_bad):
            try:
                row = DumpRow.of_document(document)
            except DecodeError as error:
                on_bad(DumpCorruptError(_path(ref), error.message, line=number))
                continue
            yield row


def opened(root: Root, ref: FileRef) -> BinaryIO:
    """
    The file of a reference, open for reading.

    Raises:
        DumpNotAvailableError: there is no such file.
    """
    try:
        return root.open(_path(ref))
    except FileNotFoundError:
        raise DumpNotAvailableError(
            f'the dump "{ref.dump}" has no file "{ref.path}"',
            hint="it may have expired; a locked reader keeps its dump",
        ) from None


@contextmanager
def _complete(root: Root, ref: FileRef) -> Iterator[BinaryIO]:
    """
    The file of a reference, for reading to its end.

    Raises:
        DumpCorruptError: at the end: the file has another size than the reference. A late task has replaced it.
    """
    with opened(root, ref) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield file
        if size_bytes != ref.size_bytes:
            raise DumpCorruptError(_path(ref), f"it has {size_bytes} bytes, but {ref.size_bytes} were written")


def _numbered(file: BinaryIO, ref: FileRef, on_bad: OnBad) -> Generator[tuple[int, Document]]:
    with closing(_lines(file, ref)) as lines:
        for number, line in lines:
            try:
                document = document_of(line)
            except DecodeError as error:
                on_bad(DumpCorruptError(_path(ref), error.message, line=number))
                continue
            yield number, document


def _lines(file: BinaryIO, ref: FileRef) -> Generator[tuple[int, bytes]]:
    return read_lines(file, _path(ref), ref.file_format)


def _path(ref: FileRef) -> str:
    return f"{ref.dump}/{ref.path}"
