"""
How a stream and a re-run of a partition agree, so that no event is missing and none is there twice.

1. The re-run creates its batch, then its marker: the partition and the batch.
2. Each stream answers within seconds, idle or not, with a batch time. It writes the micro-batches from that time on to
   the current batch and to the batch of the marker.
3. The re-run covers all micro-batches that are acknowledged after the answer; first it waits until those before the
   answered time are. It drops the rows that the stream has written to its batch, by topic, partition, offset and
   fan-out.
4. It switches `_CURRENT`, then removes the marker. A micro-batch that was committed meanwhile is in both batches.

A stream that starts later answers when it starts; the re-run reads the answers again before it switches.

A marker without a heartbeat for ten minutes has no effect: its process has ended.
"""

from collections.abc import Iterator
from typing import NamedTuple, Self

import orjson

from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import RERUNS
from sinks.files.root import Root

STALE_MS = 600_000
"""A marker without a heartbeat for so long is ignored."""
_SUFFIX = ".json"


class Marker(NamedTuple):
    """
    A partition that is being written again.

    Attributes:
        id: of the re-run, unique; letters, digits and "-".
        partition: its folder.
        batch_id: that the re-run writes.
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
            marker = cls(*(found[name] for name in cls._fields))
        except (ValueError, TypeError, KeyError):
            return None
        return marker if isinstance(marker.batch_id, int) and isinstance(marker.heartbeat_ms, int) else None


class Answer(NamedTuple):
    """
    The answer of a stream to a marker.

    Attributes:
        writer: the stream.
        from_ms: the first batch time that it writes twice.
    """

    writer: str
    from_ms: int


def put_marker(root: Root, marker: Marker) -> None:
    """Create a marker, or renew its heartbeat."""
    root.make_folder(RERUNS)
    root.write(_path(marker.id), marker.to_bytes())


def remove_marker(root: Root, marker_id: str) -> None:
    """Remove a marker, then the answers to it."""
    root.remove_file(_path(marker_id))
    for answer in answers(root, marker_id):
        root.remove_file(_answer_path(marker_id, answer.writer))


def markers(root: Root, now_ms: int) -> Iterator[Marker]:
    """The markers that have an effect."""
    for name in _names(root):
        if name.endswith(_SUFFIX):
            try:
                marker = Marker.from_bytes(root.read(f"{RERUNS}/{name}"))
            except FileNotFoundError:  # removed since
                continue
            if marker is not None and now_ms - marker.heartbeat_ms <= STALE_MS:
                yield marker


def put_answer(root: Root, marker_id: str, answer: Answer) -> None:
    """Answer a marker."""
    root.write(_answer_path(marker_id, answer.writer), f"{answer.from_ms}\n".encode())


def answer_of(root: Root, marker_id: str, writer: str) -> Answer | None:
    """
    The answer of a stream; None if it has not answered.

    Raises:
        ArchiveCorruptError: its file is damaged.
    """
    path = _answer_path(marker_id, writer)
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


def answers(root: Root, marker_id: str) -> list[Answer]:
    """The answers of all streams."""
    prefix = f"{marker_id}."
    writers = [name.removeprefix(prefix) for name in _names(root) if name.startswith(prefix)]
    found = [answer_of(root, marker_id, writer) for writer in writers if f".{writer}" != _SUFFIX]
    return [answer for answer in found if answer is not None]


def _names(root: Root) -> list[str]:
    try:
        return [entry.name for entry in root.entries(RERUNS) if not entry.is_folder]
    except FileNotFoundError:
        return []


def _path(marker_id: str) -> str:
    return f"{RERUNS}/{marker_id}{_SUFFIX}"


def _answer_path(marker_id: str, writer: str) -> str:
    return f"{RERUNS}/{marker_id}.{writer}"
