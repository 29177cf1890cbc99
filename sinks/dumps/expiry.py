"""
Which dumps expire, and their removal.

- A complete dump expires when it is older than the retention, unless it is one of the newest, or has a pin or `_KEEP`.
- An incomplete dump, and the folder of a run that did not finish, expire after a day.
- Only files of this product are removed; others are reported and stay, with their folders.

`_SUCCESS` is renamed first, so no reader finds a dump that is being removed. Then the pins are read again: a reader
that has written a pin in the meantime keeps the dump, whose `_SUCCESS` is restored; if this process is killed before
that, by the next expiry.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ingest import failpoint
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import (
    HIDDEN,
    KEEP,
    LATEST,
    LOCK,
    MANIFEST,
    MARKERS,
    PARTS,
    PINS,
    PLAN,
    SUCCESS,
    dump_time,
    id_of_run,
    part_of,
)
from sinks.dumps.listing import complete_dump, dump_names
from sinks.dumps.pins import Pin, pins
from sinks.files.root import TEMPORARY, Entry, Root

DAY_MS = 24 * 3_600_000


class Reason(StrEnum):
    """Why something is removed."""

    OLD = "old"
    """A complete dump that is older than the retention."""
    INCOMPLETE = "incomplete"
    """A folder of a dump that was not completed, or is damaged."""
    LEFTOVER = "leftover"
    """What a killed run has left."""
    PIN = "expired pin"
    """A pin that has no effect any more."""


@dataclass(frozen=True, slots=True)
class Retention:
    """
    What stays.

    Attributes:
        keep_ms: age up to which a complete dump stays, by its start.
        keep_last: number of newest complete dumps up to now that stay, whatever their age; at least 1.
        incomplete_ms: age up to which an incomplete one stays.

    Raises:
        ValueError: a number is out of range.
    """

    keep_ms: int = 7 * DAY_MS
    keep_last: int = 1
    incomplete_ms: int = DAY_MS

    def __post_init__(self) -> None:
        if self.keep_ms < 0 or self.keep_last < 1 or self.incomplete_ms < 0:
            raise ValueError("a retention is at least 0 ms and one dump")


class Expired(NamedTuple):
    """
    A folder or a file that is removed.

    Attributes:
        path: below the root.
        reason: why.
    """

    path: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class ExpiryPlan:
    """
    What an expiry removes.

    Attributes:
        expired: in the order of removal.
        kept: dump -> why it stays although it is older than the retention.
        foreign: paths that this product has not written; they stay.
    """

    expired: tuple[Expired, ...]
    kept: dict[str, str]
    foreign: tuple[str, ...]

    @property
    def dumps(self) -> list[str]:
        """Names of the dumps that expire."""
        return [path for path, _ in self.expired if dump_time(path) is not None]


def plan_expiry(root: Root, retention: Retention, now_ms: int) -> ExpiryPlan:
    """
    What expires now.

    Args:
        root: that has the dumps; no run makes one meanwhile.
        retention: what stays.
        now_ms: ms since the epoch.

    Raises:
        OSError: of the file system.
    """
    unreadable: list[str] = []
    every_pin = pins(root, unreadable.append)
    dumps = _dumps(root)
    kept: dict[str, str] = {}
    expired: list[Expired] = []
    # one from the future was made while a clock was ahead
    newest = [name for name in dumps.complete if _start(name) <= now_ms][-retention.keep_last :]
    for name, reason in _past(dumps, retention, now_ms):
        why = _why_kept(root, name, _pinned(every_pin, now_ms), is_newest=name in newest)
        if why:
            kept[name] = why
        else:
            expired.append(Expired(name, reason))
    entries = _root_entries(root)
    leftovers = (each for each in entries if _is_leftover(each))
    past_ms = now_ms - retention.incomplete_ms
    expired += [Expired(each.name, Reason.LEFTOVER) for each in leftovers if _changed(root, each) < past_ms]
    foreign = [*dumps.foreign, *(each.name for each in entries if _is_foreign(each))]
    for folder, _ in expired:
        foreign += [path for path, _ in root.files_below(folder) if not _is_ours(folder, path)]
    expired += [Expired(pin.path, Reason.PIN) for pin in every_pin if pin.expires_ms <= now_ms]
    return ExpiryPlan(tuple(sorted(expired)), kept, (*sorted(foreign), *unreadable))


def expire(
    root: Root, plan: ExpiryPlan, now_ms: int, on_removed: Callable[[str], object] = lambda _path: None
) -> list[str]:
    """
    Remove what a plan says; the caller has the lock of the root.

    A dump that has got a pin since the plan was made stays.

    Args:
        root: that has the dumps.
        plan: of `plan_expiry`, made while the caller has the lock.
        now_ms: ms since the epoch.
        on_removed: called with the path of each file that was removed.

    Returns:
        Names of the dumps that were removed, in this order; neither leftovers nor pins.

    Raises:
        OSError: of the file system; the next expiry removes the rest.
    """
    removed = []
    _restore_hidden(root, now_ms)
    for path, reason in plan.expired:
        if reason is Reason.PIN or not _is_folder(path):
            root.remove_file(path)
            on_removed(path)
            continue
        if root.exists(f"{path}/{SUCCESS}") and not _hide(root, path, now_ms, on_removed):
            continue
        for file in _files_of(root, path):
            root.remove_file(file)
            on_removed(file)
        _remove_empty_folders(root, path)
        if dump_time(path) is not None:
            removed.append(path)
    return removed


def files_to_remove(root: Root, plan: ExpiryPlan) -> Iterator[str]:
    """The paths of the files that `expire` removes, in its order."""
    for path, reason in plan.expired:
        if reason is Reason.PIN or not _is_folder(path):
            yield path
        else:
            yield from _files_of(root, path)


def _hide(root: Root, name: str, now_ms: int, on_removed: Callable[[str], object]) -> bool:
    """Make a dump invisible to new readers; False if one has pinned it in the meantime."""
    if root.exists(f"{name}/{HIDDEN}"):  # of an expiry that was killed within the rename of an object store
        root.remove_file(f"{name}/{HIDDEN}")
    root.rename(f"{name}/{SUCCESS}", f"{name}/{HIDDEN}")
    failpoint.point("dump_hidden")()
    if name in _pinned(pins(root), now_ms):
        root.rename(f"{name}/{HIDDEN}", f"{name}/{SUCCESS}")
        return False
    root.remove_file(f"{name}/{HIDDEN}")
    on_removed(f"{name}/{SUCCESS}")
    return True


def _restore_hidden(root: Root, now_ms: int) -> None:
    """Restore `_SUCCESS` of dumps that an expiry has hidden, if it was killed and a pin or `_KEEP` keeps them."""
    pinned = _pinned(pins(root), now_ms)
    for name in dump_names(root):
        success, hidden = f"{name}/{SUCCESS}", f"{name}/{HIDDEN}"
        if root.exists(hidden) and not root.exists(success) and _why_kept(root, name, pinned, is_newest=False):
            root.rename(hidden, success)


def _files_of(root: Root, folder: str) -> list[str]:
    """
    The files of this product in a folder: `_SUCCESS`, then those of the tables.

    The manifest and the plan come last: they show a later expiry that the rest of the folder is a dump of this product.
    """
    turns = {f"{folder}/{SUCCESS}": -1, f"{folder}/{HIDDEN}": -1, f"{folder}/{MANIFEST}": 1, f"{folder}/{PLAN}": 1}
    files = (path for path, _ in root.files_below(folder) if _is_ours(folder, path))
    return sorted(files, key=lambda path: turns.get(path, 0))


def _remove_empty_folders(root: Root, folder: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # a folder of an object store disappears with its last file
        for entry in root.entries(folder):
            if entry.is_folder:
                _remove_empty_folders(root, f"{folder}/{entry.name}")
    root.remove_empty_folder(folder)


def _is_ours(folder: str, path: str) -> bool:
    parts = path.removeprefix(f"{folder}/").split("/")
    name = parts[-1]
    if name.startswith(TEMPORARY):
        return True
    if len(parts) == 1:
        return name in MARKERS
    return len(parts) == 2 and (parts[0] == PARTS or part_of(name) is not None)  # noqa: PLR2004 - folder and file


class _Dumps(NamedTuple):
    """
    Folders of dumps, oldest first.

    Attributes:
        complete: of this product.
        incomplete: of this product; also those without any file.
        foreign: of others, such as EmoDB.
    """

    complete: list[str]
    incomplete: list[str]
    foreign: list[str]


def _dumps(root: Root) -> _Dumps:
    found = _Dumps([], [], [])
    for name in dump_names(root):
        try:
            dump = complete_dump(root, name)
        except DumpCorruptError:
            dump = None
        if dump is not None:
            (found.complete if dump.manifest is not None else found.foreign).append(name)
        else:
            has_marker = any(root.exists(f"{name}/{marker}") for marker in (MANIFEST, PLAN))
            is_ours = has_marker or next(root.files_below(name), None) is None
            (found.incomplete if is_ours else found.foreign).append(name)
    return found


def _past(dumps: _Dumps, retention: Retention, now_ms: int) -> Iterator[tuple[str, Reason]]:
    """Dumps that are older than their retention."""
    for names, keep_ms, reason in (
        (dumps.complete, retention.keep_ms, Reason.OLD),
        (dumps.incomplete, retention.incomplete_ms, Reason.INCOMPLETE),
    ):
        yield from ((name, reason) for name in names if now_ms - _start(name) > keep_ms)


def _why_kept(root: Root, name: str, pinned: dict[str, Pin], *, is_newest: bool) -> str:
    """Why a dump stays although it is older than the retention; "" if it does not."""
    if is_newest:
        return "one of the newest"
    if name in pinned:
        return f"pinned by {pinned[name].owner}"
    return f"it has {KEEP}" if root.exists(f"{name}/{KEEP}") else ""


def _pinned(every_pin: list[Pin], now_ms: int) -> dict[str, Pin]:
    return {pin.dump: pin for pin in every_pin if pin.expires_ms > now_ms}


def _is_leftover(entry: Entry) -> bool:
    return entry.name.startswith(TEMPORARY) or (entry.is_folder and id_of_run(entry.name) is not None)


def _is_foreign(entry: Entry) -> bool:
    is_known = entry.name in {LATEST, LOCK, PINS} or (entry.is_folder and dump_time(entry.name) is not None)
    return not is_known and not _is_leftover(entry)


def _changed(root: Root, entry: Entry) -> int:
    """The newest change of a file, or of a file in a folder; ms since the epoch."""
    times = [below.modified_ms for _, below in root.files_below(entry.name)] if entry.is_folder else []
    return max(times, default=entry.modified_ms)


def _start(name: str) -> int:
    start_ms = dump_time(name)
    assert start_ms is not None  # noqa: S101 - for mypy: the name was listed by its form
    return start_ms


def _is_folder(path: str) -> bool:
    return id_of_run(path) is not None or dump_time(path) is not None


def _root_entries(root: Root) -> list[Entry]:
    try:
        return root.entries("")
    except FileNotFoundError:
        return []
