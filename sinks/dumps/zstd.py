"""Zstandard, by pyarrow; several frames in one file, one after the other."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import pyarrow as pa

from sinks.dumps.errors import DumpCorruptError

_CHUNK_BYTES = 1 << 16


def compressor(file: BinaryIO) -> BinaryIO:
    """A file for writing whose content is compressed into another one, which stays open."""
    return cast("BinaryIO", pa.CompressedOutputStream(_Unclosed(file), "zstd"))


def decompressed(file: BinaryIO, name: str) -> Iterator[bytes]:
    """
    The content of a compressed file, in pieces.

    Raises:
        DumpCorruptError: the file ends within a frame, or is not Zstandard.
    """
    with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as content:
        while True:
            try:
                chunk = content.read(_CHUNK_BYTES)
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise DumpCorruptError(name, f"it is no Zstandard: {error}", offset=file.tell()) from error
            if not chunk:
                return
            yield chunk


class _Unclosed(io.RawIOBase):
    """A file that pyarrow writes; what it writes to stays open when pyarrow closes it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._file.write(data)
