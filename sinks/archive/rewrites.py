"""
How a stream and a rewrite of a partition, a re-run or a join, agree: no event is missing and none is there twice.

1. The rewrite creates its batch, then its lease, which names the partition and the batch.
2. Each stream answers within seconds, idle or not, with a batch time. It writes the micro-batches from that time on to
   the current batch and to the batch of the lease.
3. The rewrite covers all micro-batches that are acknowledged after the answer; first it waits until those before the
   answered time are. It drops the rows that the stream has written to its batch, by topic, partition, offset and
   fan-out.
4. It switches `_CURRENT`, then removes the lease. A micro-batch that was committed meanwhile is in both batches.

A stream that starts later answers when it starts; the rewrite reads the answers again before it switches.

A lease without a heartbeat for ten minutes has no effect: its process has ended. `ingest.durable.Lease` does not serve:
it has one owner at a time and no content, while several rewrites may write, and streams read which batches.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import orjson

from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import RERUNS
from sinks.files.root import Root

STALE_MS = 600_000
"""A lease without a heartbeat for so long is ignored."""
_GONE_MS = 24 * 3_600_000
"""Its process has ended, whatever the clocks of the machines are: it is removed."""
_SUFFIX = ".json"


class RewriteLease(NamedTuple):
    """
    The right of a process to have streams write to its batch too, as long as it sends heartbeats.

    Attributes:
        id: of the rewrite, unique; letters, digits and "-".
        partition: folder of the partition that is being written again.
        batch_id: of the batch that the rewrite writes.
        owner: what it does, for messages.
        heartbeat_ms: time of its last heartbeat, ms since the epoch.
    """

    id: str
    partition: str
    batch_id: int
    owner: str
    heartbeat_ms: int

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return orjson.dumps(self._asdict())

    @classmethod
    def from_bytes(cls, content: bytes) -> Self | None:
        """The inverse of `to_bytes`; None for another content."""
        try:
            found = orjson.loads(content)
            lease = cls(*(found[name] for name in cls._fields))
        except (ValueError, TypeError, KeyError):
            return None
        return lease if isinstance(lease.batch_id, int) and isinstance(lease.heartbeat_ms, int) else None


class Answer(NamedTuple):
    """
    The answer of a stream to a rewrite.

    Attributes:
        writer: the stream.
        from_ms: the first batch time that it writes twice.
    """

    writer: str
    from_ms: int


def put_lease(root: Root, lease: RewriteLease) -> None:
    """Create a lease, or renew its heartbeat."""
    root.make_folder(RERUNS)
    root.write(_path(lease.id), lease.to_bytes())


def remove_lease(root: Root, rewrite_id: str) -> None:
    """Remove a lease, then the answers to it, also damaged ones."""
    root.remove_file(_path(rewrite_id))
    for name in root.file_names(RERUNS):
        if name.startswith(f"{rewrite_id}."):
            root.remove_file(f"{RERUNS}/{name}")


def remove_old_leases(root: Root, now_ms: int) -> None:
    """Remove the leases without a heartbeat for a day, whose processes were killed, and answers without a lease."""
    names = root.file_names(RERUNS)
    for name in names:
        lease = _read(root, name) if name.endswith(_SUFFIX) else None
        if lease is not None and now_ms - lease.heartbeat_ms > _GONE_MS:
            root.remove_file(f"{RERUNS}/{name}")
    for name in names:
        # a lease is older than its answers, and ids are not used again
        if not name.endswith(_SUFFIX) and not root.exists(_path(name.partition(".")[0])):
            root.remove_file(f"{RERUNS}/{name}")


def leases(root: Root, now_ms: int) -> Iterator[RewriteLease]:
    """The leases that have an effect."""
    for name in root.file_names(RERUNS):
        if name.endswith(_SUFFIX):
            lease = _read(root, name)
            if lease is not None and now_ms - lease.heartbeat_ms <= STALE_MS:
                yield lease


def of_partition(found: Iterable[RewriteLease], folder: str) -> list[RewriteLease]:
    """The leases of the partition that is in a folder."""
    return [lease for lease in found if lease.partition == folder]


def put_answer(root: Root, rewrite_id: str, answer: Answer) -> None:
    """Answer a rewrite."""
    root.write(_answer_path(rewrite_id, answer.writer), f"{answer.from_ms}\n".encode())


def answer_of(root: Root, rewrite_id: str, writer: str) -> Answer | None:
    """
    The answer of a stream; None if it has not answered.

    Raises:
        ArchiveCorruptError: its file is damaged.
    """
    path = _answer_path(rewrite_id, writer)
    try:
        content = root.read(path)
    except FileNotFoundError:
        return None
    try:
        return Answer(writer, int(content))
    except ValueError as error:
        raise ArchiveCorruptError(
            f'"{path}" in "{root}" is damaged: {error}', hint="remove it; the stream answers again"
        ) from error


def _read(root: Root, name: str) -> RewriteLease | None:
    """A lease; None if it is damaged, or was removed since its folder was listed."""
    try:
        return RewriteLease.from_bytes(root.read(f"{RERUNS}/{name}"))
    except FileNotFoundError:
        return None


def _path(rewrite_id: str) -> str:
    return f"{RERUNS}/{rewrite_id}{_SUFFIX}"


def _answer_path(rewrite_id: str, writer: str) -> str:
    return f"{RERUNS}/{rewrite_id}.{writer}"
