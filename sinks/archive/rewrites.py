"""
How a writer and a rewrite of a partition, a re-run or a join, agree: no event is missing and none is there twice.

1. The rewrite creates its version, then its announcement, which names the partition and the version.
2. Each writer answers within seconds, idle or not, with a batch time. It writes the micro-batches from that time on to
   the current version and to the version of the announcement.
3. The rewrite covers all micro-batches that are acknowledged after the answer; first it waits until those before the
   answered time are. It drops the rows that the writer has written to its version, by topic, partition, offset and
   fan-out.
4. It switches `_CURRENT`, then removes the announcement. A micro-batch that was committed meanwhile is in both
versions.

A writer that starts later answers when it starts; the rewrite reads the answers again before it switches.

An announcement without a heartbeat for ten minutes has no effect: its process has ended. It is no lease: several
rewrites may write at once, and writers read which versions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ingest.durable.record import Record, UnreadableRecordError
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import RERUNS
from sinks.files.root import Root

STALE_MS = 600_000
"""An announcement without a heartbeat for so long is ignored."""
_GONE_MS = 24 * 3_600_000
"""Its process has ended, whatever the clocks of the machines are: it is removed."""
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Announcement(Record, kind="announcement of a rewrite"):
    """
    What a process announces to have pipelines write to its version too, as long as it sends heartbeats.

    Attributes:
        id: of the rewrite, unique; letters, digits and "-".
        partition: folder of the partition that is being written again.
        version_id: of the version that the rewrite writes.
        owner: what it does, for messages.
        heartbeat_ms: time of its last heartbeat, ms since the epoch.
    """

    id: str
    partition: str
    version_id: int
    owner: str
    heartbeat_ms: int


class Answer(NamedTuple):
    """
    The answer of a writer to a rewrite.

    Attributes:
        writer: its name.
        from_ms: the first batch time that it writes twice.
    """

    writer: str
    from_ms: int


def announce(root: Root, announcement: Announcement) -> None:
    """Create an announcement, or renew its heartbeat."""
    root.make_folder(RERUNS)
    root.write(_path(announcement.id), announcement.to_bytes())


def withdraw(root: Root, rewrite_id: str) -> None:
    """Remove an announcement, then the answers to it, also damaged ones."""
    root.remove_file(_path(rewrite_id))
    for name in root.file_names(RERUNS):
        if name.startswith(f"{rewrite_id}."):
            root.remove_file(f"{RERUNS}/{name}")


def remove_old_announcements(root: Root, now_ms: int) -> None:
    """Remove what killed processes have left: announcements without a heartbeat for a day, and answers without one."""
    names = root.file_names(RERUNS)
    for name in names:
        announcement = _read(root, name) if name.endswith(_SUFFIX) else None
        if announcement is not None and now_ms - announcement.heartbeat_ms > _GONE_MS:
            root.remove_file(f"{RERUNS}/{name}")
    for name in names:
        # an announcement is older than its answers, and ids are not used again
        if not name.endswith(_SUFFIX) and not root.exists(_path(name.partition(".")[0])):
            root.remove_file(f"{RERUNS}/{name}")


def announcements(root: Root, now_ms: int) -> Iterator[Announcement]:
    """The announcements that have an effect."""
    for name in root.file_names(RERUNS):
        if name.endswith(_SUFFIX):
            announcement = _read(root, name)
            if announcement is not None and now_ms - announcement.heartbeat_ms <= STALE_MS:
                yield announcement


def of_partition(found: Iterable[Announcement], folder: str) -> list[Announcement]:
    """The announcements of the partition that is in a folder."""
    return [each for each in found if each.partition == folder]


def put_answer(root: Root, rewrite_id: str, answer: Answer) -> None:
    """Answer a rewrite."""
    root.write(_answer_path(rewrite_id, answer.writer), f"{answer.from_ms}\n".encode())


def answer_of(root: Root, rewrite_id: str, writer: str) -> Answer | None:
    """
    The answer of a writer; None if it has not answered.

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
            f'"{path}" in "{root}" is damaged: {error}', hint="remove it; the pipeline answers again"
        ) from error


def _read(root: Root, name: str) -> Announcement | None:
    """An announcement; None if it is damaged, or was removed since its folder was listed."""
    try:
        return Announcement.of(root.read(f"{RERUNS}/{name}"), name)
    except (FileNotFoundError, UnreadableRecordError):
        return None


def _path(rewrite_id: str) -> str:
    return f"{RERUNS}/{rewrite_id}{_SUFFIX}"


def _answer_path(rewrite_id: str, writer: str) -> str:
    return f"{RERUNS}/{rewrite_id}.{writer}"
