"""The bytes of a blob before it is stored: read once, hashed, and kept in memory or in a temporary file."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Protocol

from ingest.api import StoreUnavailableError

_PIECE_BYTES = 1 << 18


class ReadableBytes(Protocol):
    """What a blob is read from, such as a file opened in binary mode."""

    def read(self, size: int, /) -> bytes:
        """At most this many bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class SpooledBlob:
    """
    A complete blob.

    Attributes:
        id: SHA-256 of its bytes.
        length: number of its bytes.
        file: has them.
    """

    id: bytes
    length: int
    file: IO[bytes]

    def block(self, start: int, length: int) -> bytes:
        """Some of the bytes."""
        self.file.seek(start)
        return self.file.read(length)


@contextmanager
def spooled(
    source: ReadableBytes, *, memory_bytes: int, on_piece: Callable[[], None] = lambda: None
) -> Iterator[SpooledBlob]:
    """
    Read a source to its end.

    Args:
        source: that is read; an error of it is raised as it is, and nothing is stored then.
        memory_bytes: larger blobs are kept in a temporary file, which only this user can read.
        on_piece: called after each piece that is read; an error of it is raised as it is.

    Raises:
        StoreUnavailableError: the temporary file cannot be written.
    """
    digest, length = hashlib.sha256(), 0
    with tempfile.SpooledTemporaryFile(memory_bytes) as file:
        while piece := source.read(_PIECE_BYTES):
            digest.update(piece)
            length += len(piece)
            try:
                file.write(piece)
                file.flush()  # else `seek` writes the rest, when the store has begun to write the blob
            except OSError as error:
                with suppress(OSError):
                    file.close()  # it tries to write the rest, and closes the file also if that fails
                raise StoreUnavailableError(
                    f"a blob cannot be kept in a temporary file: {error.strerror}",
                    hint="free space in the folder of temporary files, or set TMPDIR",
                ) from error
            on_piece()
        yield SpooledBlob(digest.digest(), length, file)
