"""Reads blobs, whole or in part."""

import hashlib
import io
from collections.abc import Iterator
from typing import Any

from ingest.api import Row
from sinks.blobs.blocks import content_of
from sinks.blobs.errors import BlobCorruptError
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.references import unreadable
from sinks.blobs.status import BlobStatus


class BlobReader(io.RawIOBase):
    """
    A blob as a file opened in binary mode: `read`, `seek`, `tell`, and `with`.

    Each block is compared with its checksum. A blob that is read from its start to its end without a `seek` is compared
    with its id before the last bytes are returned. A reader holds one block, and as many stored ones as it reads ahead.

    A blob that a sweep deletes while it is read raises an error; the bytes that were read are correct, but not all.

    Args:
        blob: its id.
        tables: of the blob store.
        read_ahead_bytes: fetched in one call, in whole blocks; at least one.

    Raises:
        NotFoundError: there is no such blob.
        BlobNotStoredError: it is being stored.
        BlobGoneError: it was swept; every read raises it, too.
        BlobCorruptError: raised by reads: a block is missing or damaged, or the hash differs.
    """

    def __init__(self, blob: bytes, tables: OpenTables, *, read_ahead_bytes: int) -> None:
        super().__init__()
        self._blob = blob
        self._statuses = tables.statuses
        self._blocks = tables.blocks
        self._read_ahead_bytes = read_ahead_bytes
        self._status = self._readable()
        self._position = 0
        self._fetched: dict[int, Row] = {}
        self._content: tuple[int, bytes] = (-1, b"")
        self._hashed = 0
        self._digest = hashlib.sha256()

    @property
    def length(self) -> int:
        """Bytes of the blob."""
        return self._status.length

    def readable(self) -> bool:
        """True: it can be read."""
        return True

    def seekable(self) -> bool:
        """True: any part can be read."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """
        Move to a position, also beyond the end, as `io.IOBase.seek`.

        Raises:
            ValueError: the position is negative.
        """
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.length}[whence]
        if base + offset < 0:
            raise ValueError(f"the position {base + offset} is negative")
        self._position = base + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        """At most this many of the next bytes, and no more than the rest of a block; all of them if it is negative."""
        return super().read(size) or b""

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer, at most to the end of a block; returns the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        data = self._next(len(view), self.length)
        view[: len(data)] = data
        return len(data)

    def read_range(self, start: int, stop: int) -> bytes:
        """The bytes [start, stop), of which those beyond the end are left out; fetches the blocks that have them."""
        return b"".join(self.pieces(start, stop))

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        """The same as `read_range`, in pieces of at most a block."""
        self.seek(start)
        while piece := self._next(max(0, stop - self._position), min(stop, self.length)):
            yield piece

    def _next(self, size: int, stop: int) -> bytes:
        """
        Some of the next bytes.

        Args:
            size: maximum number of bytes.
            stop: no block after this position is fetched.
        """
        position = self._position
        if size <= 0 or position >= self.length:
            return b""
        block_bytes, content = self._at(position, stop)
        offset = position % block_bytes
        data = content[offset : offset + size]
        self._position += len(data)
        self._hash(position, data)
        return data

    def _at(self, position: int, stop: int) -> tuple[int, bytes]:
        """The size of the blocks, and the content of the block at a position."""
        while True:
            status = self._status
            block = position // status.block_bytes
            if self._content[0] == block:
                return status.block_bytes, self._content[1]
            if block not in self._fetched:
                last = (max(stop, position + 1) - 1) // status.block_bytes
                count = min(max(1, self._read_ahead_bytes // status.block_bytes), last - block + 1)
                self._fetched = self._blocks.read(self._blob, status, block, count)
            row = self._fetched.pop(block, None)
            if row is not None:
                try:
                    self._content = block, content_of(row, status, block)
                except ValueError as error:
                    raise self._corrupt(f"block {block} is damaged: {error}") from error
            else:
                self._follow(block)

    def _follow(self, missing: int) -> None:
        """After a block was not found: continue with another generation, which has the same content."""
        found = self._readable(missing)
        if found.generation == self._status.generation:
            raise self._corrupt(f"block {missing} is missing")
        self._status = found
        self._fetched = {}
        self._content = (-1, b"")

    def _readable(self, block: int | None = None) -> BlobStatus:
        status = self._statuses.read(self._blob)
        if status is None or not status.is_readable:
            raise unreadable(self._blob, status, block)
        return status

    def _hash(self, position: int, data: bytes) -> None:
        """Hash data that continues what was hashed; at the end, compare the hash with the id."""
        if position == 0:
            self._hashed, self._digest = 0, hashlib.sha256()
        if position != self._hashed:
            return
        self._digest.update(data)
        self._hashed += len(data)
        if self._hashed == self.length and self._digest.digest() != self._blob:
            raise self._corrupt("its SHA-256 differs")

    def _corrupt(self, reason: str) -> BlobCorruptError:
        return BlobCorruptError(f"blob {self._blob.hex()}: {reason}")
