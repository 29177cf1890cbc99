"""The files that Spark writes to a checkpoint, each with a checksum file in Hadoop's format; it syncs none of them."""

import json
import os
import struct
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ingest.durable import StatePath, file_errors

_CRC_HEADER_BYTES = 8
_VERSION_LINE = "v1"
_LINES = {"offsets": 3, "commits": 2}


def checksum_file(path: StatePath) -> StatePath:
    """The checksum file of a file."""
    return path.with_name(f".{path.name}.crc")


def has_checksums(content: bytes, checksums: bytes) -> bool:
    r"""
    Whether content has the checksums of Hadoop's `.crc` files.

    Source: Hadoop ChecksumFileSystem: "crc\0", bytes per checksum as int32, then a CRC-32 of each chunk, big-endian.
    """
    if checksums[:4] != b"crc\0" or len(checksums) < _CRC_HEADER_BYTES:
        return False
    (chunk_bytes,) = struct.unpack(">i", checksums[4:_CRC_HEADER_BYTES])
    expected = b"".join(
        struct.pack(">I", zlib.crc32(content[start : start + chunk_bytes]))
        for start in range(0, len(content), max(chunk_bytes, 1))
    )
    return checksums[_CRC_HEADER_BYTES:] == expected


def flaw_of(folder: str, content: bytes) -> str | None:
    """
    What is wrong with a file of Spark, as the end of a sentence; None for nothing.

    Args:
        folder: name of its folder: `offsets` and `commits` have lines of JSON after the line of the version.
        content: of the file.
    """
    lines = content.decode("utf-8", "replace").split("\n")
    wanted = _LINES.get(folder)
    if wanted is not None and (lines[0] != _VERSION_LINE or len(lines) < wanted):
        return "is truncated"
    try:
        for document in [content] if wanted is None else lines[1:wanted]:
            json.loads(document)
    except ValueError:
        return "does not have the format of Spark"
    return None


def sync_files(paths: Iterable[StatePath]) -> None:
    """
    Make files of Spark durable, with their checksums and their names; missing ones are ignored. A cluster has done it.

    At the same time, since the file system then writes them together: in a third of the time.

    Raises:
        StoreUnavailableError: not possible now.
        IntegrityError: the disk fails.
    """
    files = [path for path in paths if isinstance(path, Path)]
    found = {each for path in files for each in (path, checksum_file(path), path.parent)}
    if found:
        with ThreadPoolExecutor(len(found)) as threads:
            list(threads.map(_sync, found))


def _sync(path: StatePath) -> None:
    with file_errors(path):
        try:
            descriptor = os.open(str(path), os.O_RDONLY)
        except FileNotFoundError:  # no file has to have checksums
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
