"""The checksums of Spark's files, and what is made durable of them."""

import os
import struct
import zlib
from pathlib import Path

import pytest

from ingest.spark.streaming.spark_files import checksum_file, has_checksums, sync_files
from tests.support.remote_files import MemoryFiles

CONTENT = bytes(range(200)) * 6
HEADER = b"crc\0" + struct.pack(">i", 512)


def sums(content: bytes, chunk_bytes: int = 512) -> bytes:
    pieces = [content[start : start + chunk_bytes] for start in range(0, len(content), chunk_bytes)]
    return b"".join(struct.pack(">I", zlib.crc32(piece)) for piece in pieces)


def test_each_chunk_has_its_checksum():
    assert has_checksums(CONTENT, HEADER + sums(CONTENT))
    assert has_checksums(CONTENT, b"crc\0" + struct.pack(">i", 100) + sums(CONTENT, 100))
    assert has_checksums(b"", HEADER)
    for changed in (CONTENT[:-1], CONTENT + b"\0", b"x" + CONTENT[1:], CONTENT[:-1] + b"x"):
        assert not has_checksums(changed, HEADER + sums(CONTENT))


@pytest.mark.parametrize("header", [b"", b"crc\0", HEADER[:-1], b"crc\1" + HEADER[4:], b"crc\0" + bytes(4)])
def test_damaged_header_is_that_of_no_checksums(header: bytes):
    assert not has_checksums(CONTENT, header + sums(CONTENT) * (len(header) == len(HEADER)))


def test_files_are_synced_with_their_checksums_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Those that do not exist, or have no checksums, are no error."""
    synced: set[Path] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(Path(f"/proc/self/fd/{descriptor}").readlink()))
    with_checksums, without = tmp_path / "a" / "1", tmp_path / "b" / "1"
    for path in (with_checksums, checksum_file(with_checksums), without):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENT)
    sync_files([with_checksums, without, tmp_path / "a" / "2", tmp_path / "c" / "1"])
    assert synced == {
        *(with_checksums.parent, with_checksums, checksum_file(with_checksums)),
        *(without.parent, without),
    }
    synced.clear()
    sync_files([tmp_path / "c" / "1"])
    assert synced == set()


def test_files_of_a_cluster_are_not_looked_for_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    remote = MemoryFiles().root() / "offsets" / "1"
    local = Path(str(remote))
    local.parent.mkdir(parents=True)
    local.write_bytes(CONTENT)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync_files([remote])
    assert synced == []
