"""Which entries of a series, such as dumps, may be removed, and their removal."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ingest.durable.files import on_disk, sync_folder
from ingest.durable.marker import Marker
from ingest.durable.pin import unpinned


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One entry of the series.

    Attributes:
        name: of its folder.
        since_ms: start of its age, ms since the epoch: when it was created, or ceased to be the current one.
        is_complete: it has its marker.
        is_kept: it is pinned, current, or marked to be kept.
    """

    name: str
    since_ms: int
    is_complete: bool = True
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """
    Which entries are kept.

    Attributes:
        keep_last: number of newest complete entries that are kept at any age; less than 1 counts as 1.
        max_age_ms: younger complete entries are kept.
        incomplete_age_ms: younger incomplete entries are kept, since a running process may still write them.
    """

    keep_last: int
    max_age_ms: int
    incomplete_age_ms: int


def removable(entries: Iterable[Entry], policy: RetentionPolicy, now_ms: int) -> list[Entry]:
    """The entries that may be removed, oldest first; never the newest complete one."""
    oldest_first = sorted(entries, key=lambda entry: (entry.since_ms, entry.name))
    complete = [entry for entry in oldest_first if entry.is_complete]
    newest = set(complete[-max(policy.keep_last, 1) :])
    expired = []
    for entry in oldest_first:
        max_age_ms = policy.max_age_ms if entry.is_complete else policy.incomplete_age_ms
        if not entry.is_kept and entry not in newest and now_ms - entry.since_ms >= max_age_ms:
            expired.append(entry)
    return expired


def remove(entry: Path, marker: str) -> bool:
    """
    Remove an entry: first its marker, durably, so that no process can pin it any more, then its content.

    One process at a time. A crash in between leaves the entry without its marker; it can then be removed again.

    Returns:
        False if a process has pinned it; nothing was changed.

    Raises:
        StoreUnavailableError: a file in it cannot be removed.
    """
    with on_disk(entry):
        if entry.exists():
            with unpinned(entry) as is_free:
                if not is_free:
                    return False
                Marker(entry / marker).remove()
            shutil.rmtree(entry)
            sync_folder(entry.parent)
    return True
