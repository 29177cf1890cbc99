"""
The entries of files in an offset of the files source, and what becomes of a file that is not as it was found.

An entry has the size and the modification time of its file, and its position: the bytes up to there are planned for
this micro-batch or an earlier one. That of a gzip file has its uncompressed length too. A file that cannot be read as
it was found gets an entry with `unread`: the micro-batch that adds it has one dead letter for the file, by place, and
nothing else of it. So each attempt at that micro-batch finds the same, whatever happens to the file. The position is
then the size at least: the file is not read on. It never becomes lower, as the offsets of any source.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ingest.sources.lines import UnreadableFileError, bytes_in, is_gzip, unread

Entry = dict[str, Any]
"""size, mtime_ms and position; length of a gzip file; `unread`, the fields of an `Unread` as a list."""
Files = dict[str, Entry]
"""Text of a path -> its entry."""


class Unread(NamedTuple):
    """
    The dead letter of a file.

    Attributes:
        first: offset from which on its lines were not read.
        end: offset up to which; None for all lines from the first on.
        code: of the error.
        message: of the error.
    """

    first: int
    end: int | None
    code: str
    message: str


def unread_of(entry: Entry) -> Unread | None:
    """The dead letter of a file; None if the file is read."""
    return Unread(*entry["unread"]) if "unread" in entry else None


def is_planned(entry: Entry) -> bool:
    """Whether all of a file is planned for some micro-batch."""
    return bool(entry["position"] >= entry["size"])


def is_same(entry: Entry, now: Entry) -> bool:
    """Whether a file is the one of its entry, as far as size and modification time tell."""
    return bool((now["size"], now["mtime_ms"]) == (entry["size"], entry["mtime_ms"]))


def new_entry(path: str, now: Entry) -> Entry:
    """
    The entry of a file of which nothing is planned. A gzip file is decompressed: all of it is read, or nothing.

    Raises:
        SourceUnavailableError: it cannot be read now.
    """
    if not is_gzip(path) or not now["size"]:
        return now | {"position": 0}
    try:
        return now | {"position": 0, "length": bytes_in(path)}
    except UnreadableFileError as error:
        return _entry(now, Unread(0, None, error.code, f"{error.message}; nothing of it was read"))


def entry_at_a_known_path(path: str, now: Entry) -> Entry:
    """The entry of a file where an earlier one was, which was read to its end and is not in the offset any more."""
    message = (
        f'"{path}" exists again: a file with this path was read, and then moved away or deleted. Events are identified '
        "by path and offset, so a replay of this file replaces events of the first; give a new file another name"
    )
    return _entry(now, Unread(0, None, "changed_file", message))


def entry_after_change(path: str, entry: Entry, now: Entry) -> Entry:
    """The entry of a file that has changed since it was found: lines that were added are not read."""
    known = unread_of(entry)
    has_grown = now["size"] > entry["size"]
    end = None
    if is_gzip(path):
        first = known.first if known is not None else entry.get("length", 0) if has_grown else 0
    elif has_grown and (known is None or known.end is not None):
        first, end = entry["position"], now["size"]
    else:
        first = 0
    which = f"its lines from byte {first} on were not read" if first else "its present lines were not read"
    unread_lines = Unread(first, end, "changed_file", f"{changed(path, entry, now).message}; {which}")
    return _entry(now | {"position": entry["position"]}, unread_lines)


def entry_after_removal(path: str, entry: Entry) -> Entry:
    """The entry of a file that was removed before all of it was planned."""
    error = unread(path, FileNotFoundError())
    message = f"{error.message}; its lines from byte {entry['position']} on were not read"
    return _entry(entry, Unread(entry["position"], entry["size"], error.code, message))


def changed(path: str, entry: Entry, now: Entry) -> UnreadableFileError:
    """The error of a file that is not the one of its entry."""
    return UnreadableFileError(
        f'"{path}" has changed since it was discovered: {entry["size"]} bytes of {_instant(entry["mtime_ms"])} then, '
        f"{now['size']} bytes of {_instant(now['mtime_ms'])} now",
        code="changed_file",
    )


def _entry(now: Entry, unread: Unread) -> Entry:
    size = now["size"]
    return {
        "size": size,
        "mtime_ms": now["mtime_ms"],
        "position": max(size, now.get("position", 0)),
        "unread": list(unread),
    }


def _instant(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
