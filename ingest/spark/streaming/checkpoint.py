"""
A query's checkpoint as we need it: whose it is, whether it is sound, and what it has acknowledged.

Spark writes `offsets/N` before and `commits/N` after batch N, each with a checksum file in Hadoop's format beside it.
We add `identity.json` (which source the offsets belong to), `configuration` (its fingerprint), `times/` (see
batch_time) and `lock`.
"""

import errno
import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from ingest.api import CheckpointError, ConflictError
from ingest.durable import on_disk, write_durably
from ingest.durable.lock import FolderLock

VERSION_LINE = "v1"
CRC_HEADER_BYTES = 8
FOLDERS = ("offsets", "commits", "sources", "times")


class Checkpoint:
    """
    One pipeline's checkpoint folder.

    Called by one thread; `newest_commit` and `end_offsets` by any. Order: `lock`, `verify`, `claim`, then the queries.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FolderLock(
            folder, kind="checkpoint", hint="stop that one first, or give this pipeline another state_dir"
        )

    @property
    def exists(self) -> bool:
        """Whether a query has begun here: planned a batch, or noted where its source starts."""
        return bool(self._numbers("offsets") or self._numbers("sources/0"))

    def lock(self) -> None:
        """
        Keep other processes away until `unlock` or the end of this process.

        Raises:
            ConflictError: another process runs on this checkpoint.
            StoreUnavailableError: the folder may not be written, or there is no room.
        """
        self._lock.acquire()
        for folder in (self.folder, *(self.folder / name for name in FOLDERS)):
            with on_disk(folder):
                if folder.exists() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                    # now, and not when the first batch cannot be planned
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def unlock(self) -> None:
        """Let other processes in; fine to call twice."""
        self._lock.release()

    def verify(self) -> None:
        """
        Read everything a restart depends on.

        Raises:
            CheckpointError: a file is damaged or missing; the message names it and the last good batch.
            StoreUnavailableError: a file may not be read.
        """
        with on_disk(self.folder):
            self._verify()

    def _verify(self) -> None:
        planned, committed = self._numbers("offsets"), self._numbers("commits")
        if not planned and not committed:
            return
        for name, numbers in (("offsets", planned), ("commits", committed)):
            for number in sorted(numbers)[-2:]:
                self._verify_file(self.folder / name / str(number))
        newest_planned, newest_committed = max(planned, default=-1), max(committed, default=-1)
        if newest_committed > newest_planned:
            missing = self.folder / "offsets" / str(newest_committed)
            raise self._damaged(missing, "is missing, its commit is there")
        for number in range(max(newest_planned - 1, 0), newest_planned):
            for name, numbers in (("offsets", planned), ("commits", committed)):
                if number not in numbers:
                    raise self._damaged(self.folder / name / str(number), "is missing")
        self._verify_file(self.folder / "metadata")
        for number in (newest_planned - 1, newest_planned):
            time = self.folder / "times" / str(number)
            if time.exists() and not time.read_bytes().isdigit():
                raise self._damaged(time, "is no time")

    def claim(self, identity: Mapping[str, str]) -> None:
        """
        Refuse a checkpoint whose offsets mean something else; note the identity in a new one.

        Args:
            identity: what the offsets belong to, as words (source, topics, cluster).

        Raises:
            ConflictError: it was made for another source.
        """
        path = self.folder / "identity.json"
        if not path.exists():
            with on_disk(path):
                write_durably(path, json.dumps(dict(identity), sort_keys=True).encode())
            return
        try:
            known = json.loads(path.read_bytes())
        except ValueError as error:
            raise self._damaged(path, "is not JSON") from error
        # the kind first: what else there is belongs to it
        for name in sorted(known.keys() | identity.keys(), key=lambda name: (name != "source", name)):
            if known.get(name) != identity.get(name):
                raise ConflictError(
                    f'checkpoint "{self.folder}" was made for {name} "{known.get(name)}", '
                    f'the configuration says "{identity.get(name)}"',
                    hint="offsets of one are meaningless for the other: restore the configuration, or give the "
                    "pipeline another name or state_dir and run 'ingest run --start-from earliest|latest|TIME'",
                )

    def is_changed(self, fingerprint: str) -> bool:
        """Whether the last run is known to have had another configuration."""
        path = self.folder / "configuration"
        with on_disk(path):
            return path.exists() and path.read_text() != fingerprint

    def note_configuration(self, fingerprint: str) -> None:
        """Note the configuration that runs from now on."""
        path = self.folder / "configuration"
        with on_disk(path):
            if not path.exists() or path.read_text() != fingerprint:
                write_durably(path, fingerprint.encode())

    def newest_commit(self) -> int | None:
        """Number of the newest acknowledged batch."""
        return max(self._numbers("commits"), default=None)

    def uncommitted(self) -> int | None:
        """
        Number of the batch that had begun and was not acknowledged, which a restart runs again.

        One that Spark had only planned when the service stopped is none: nothing of it has left.
        """
        planned = max(self._numbers("offsets"), default=None)
        if planned is None or planned == self.newest_commit() or planned not in self._numbers("times"):
            return None
        return planned

    def end_offsets(self, batch_id: int) -> dict[str, object]:
        """
        Where a batch ends, as its source wrote it: for Kafka `{topic: {partition: offset}}`.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = self.folder / "offsets" / str(batch_id)
        try:
            content = json.loads(path.read_text().split("\n")[2])
        except (OSError, IndexError, ValueError) as error:
            raise self._damaged(path, f"cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise self._damaged(path, "holds no offsets")
        return content

    def first_offsets(self) -> dict[str, object]:
        """
        Where the first batch begins, as Spark's Kafka source noted it; empty before that.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = self.folder / "sources" / "0" / "0"
        if not path.exists():
            return {}
        try:
            content = json.loads(path.read_bytes().partition(b"\n")[2])
        except (OSError, ValueError) as error:
            raise self._damaged(path, f"cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise self._damaged(path, "holds no offsets")
        return content

    def _numbers(self, name: str) -> frozenset[int]:
        try:
            return frozenset(int(entry.name) for entry in (self.folder / name).iterdir() if entry.name.isdecimal())
        except FileNotFoundError:
            return frozenset()

    def _verify_file(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise self._damaged(path, "is missing") from error
        if not content:
            raise self._damaged(path, "is empty")
        checksums = path.with_name(f".{path.name}.crc")
        if checksums.exists() and not _agrees(content, checksums.read_bytes()):
            raise self._damaged(path, "does not agree with its checksum")
        lines = content.decode("utf-8", "replace").split("\n")
        wanted = {"offsets": 3, "commits": 2}.get(path.parent.name)
        try:
            if wanted is not None:
                if lines[0] != VERSION_LINE or len(lines) < wanted:
                    raise self._damaged(path, "is cut off")
                for line in lines[1:wanted]:
                    json.loads(line)
            else:
                json.loads(content)
        except ValueError as error:
            raise self._damaged(path, "is not what Spark writes") from error

    def _damaged(self, path: Path, what: str) -> CheckpointError:
        before = int(path.name) if path.name.isdecimal() else None
        both = self._numbers("offsets") & self._numbers("commits")
        good = max((number for number in both if before is None or number < before), default=None)
        last = "no batch is known to be good" if good is None else f"the last good batch is {good}"
        return CheckpointError(
            f'the checkpoint is damaged: "{path}" {what}; {last}',
            hint="restore the folder from a copy, or move it away and run 'ingest run --start-from group', "
            "which goes on at the offsets committed to the consumer group",
        )


def _agrees(content: bytes, checksums: bytes) -> bool:
    r"""
    Whether content has the checksums of Hadoop's `.crc` files.

    Source: Hadoop ChecksumFileSystem: "crc\0", bytes a checksum as int32, then a CRC-32 of each piece, big-endian.
    """
    if checksums[:4] != b"crc\0" or len(checksums) < CRC_HEADER_BYTES:
        return False
    (step,) = struct.unpack(">i", checksums[4:CRC_HEADER_BYTES])
    expected = b"".join(
        struct.pack(">I", zlib.crc32(content[start : start + step])) for start in range(0, len(content), max(step, 1))
    )
    return checksums[CRC_HEADER_BYTES:] == expected
