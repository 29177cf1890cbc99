"""
Compressed files of lines.

Equal lines give equal bytes: the header of gzip has no time and no name. A file may consist of several compressed
parts, one after the other, as EmoDB's do.
"""

import gzip
import zlib
from collections.abc import Generator, Iterable, Iterator
from typing import BinaryIO

from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import FileFormat

_CHUNK_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 18  # of lines, passed to the compressor at once
_LEVEL = 1  # of gzip: a higher one takes several times as long, for files that are a tenth smaller
_GZIP_HEADER = 31  # `wbits` of zlib for a gzip member


def write_lines(file: BinaryIO, lines: Iterable[bytes], file_format: FileFormat) -> None:
    r"""
    Write lines to a compressed file.

    Args:
        file: open for writing; it stays open.
        lines: each with its `\n`.
        file_format: GZIP or ZSTD.
    """
    with _compressor(file, file_format) as packed:
        for block in _blocks(lines):
            packed.write(block)


def read_lines(file: BinaryIO, name: str, file_format: FileFormat) -> Generator[tuple[int, bytes]]:
    r"""
    The lines of a compressed file, without `\n`, each with its number from 1.

    Args:
        file: open for reading.
        name: of the file, for messages.
        file_format: GZIP or ZSTD.

    Raises:
        DumpCorruptError: the file ends within a compressed part, or is not compressed in this way; the lines before
            that come first.
    """
    chunks = _unzipped(file, name) if file_format is FileFormat.GZIP else _decompressed(file, name)
    number = 0
    parts: list[bytes] = []
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        parts.append(first)
        if rest:
            *lines, last = rest
            for line in (b"".join(parts), *lines):
                number += 1
                yield number, line
            parts = [last]
    if any(parts):
        yield number + 1, b"".join(parts)


def _compressor(file: BinaryIO, file_format: FileFormat) -> BinaryIO:
    if file_format is FileFormat.GZIP:
        return gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0)  # type: ignore[return-value] # it has the methods
    from sinks.dumps.zstd import compressor

    return compressor(file)


def _decompressed(file: BinaryIO, name: str) -> Iterator[bytes]:
    from sinks.dumps.zstd import decompressed

    return decompressed(file, name)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            yield b"".join(block)
            block, size = [], 0
    yield b"".join(block)


def _unzipped(file: BinaryIO, name: str) -> Iterator[bytes]:
    """
    The content of all members of a gzip file.

    Source: RFC 1952; zero bytes may follow a member, as gzip(1) accepts.
    """
    member = None
    offset = 0  # of the end of `data`
    while data := file.read(_CHUNK_BYTES):
        offset += len(data)
        while data:
            if member is None:
                data = data.lstrip(b"\0")
                if not data:
                    break
                member = zlib.decompressobj(wbits=_GZIP_HEADER)
            try:
                yield member.decompress(data)
            except zlib.error as error:
                raise DumpCorruptError(name, f"it is no gzip: {error}", offset=offset - len(data)) from error
            data = member.unused_data
            if member.eof:
                member = None
    if member is not None:
        raise DumpCorruptError(name, "the file ends within a gzip member", offset=offset)
