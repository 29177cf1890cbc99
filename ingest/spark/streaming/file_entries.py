"""
The entries of files in an offset of the files source, and what becomes of a file that is not as it was found.

An entry has the size and the modification time of its file, a hash of its last bytes, which tells whether a file has
only grown, and its position: the bytes up to there are planned for this micro-batch or an earlier one. That of a gzip
file has its uncompressed length too, up to the end of its last line that has one. A file that cannot be read as it was
found gets an entry with `unread`: the micro-batch that adds it has one dead letter for the file, by place, and nothing
else of it. So each attempt at that micro-batch finds the same, whatever happens to the file. The position is then the
size at least: the file is not read on. It never becomes lower, as the offsets of any source.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ingest.api import Encoding
from ingest.api.event import MAX_OFFSET
from ingest.sources.file_names import path_of
from ingest.sources.lines import (
    ChangedFileError,
    UnreadableFileError,
    end_of_last_line,
    is_gzip,
    lengths_of,
    size_and_time,
    tail_of,
    unread,
)

Entry = dict[str, Any]
"""
size, mtime_ms, tail and position; length of a gzip file, and is_ended, false if its last line has no line end;
`unread`, the fields of an `Unread` as a list but the last one, and read, up to where lines at this path were read, in
any of its states. Entries of earlier versions have neither tail nor is_ended, nor read.
"""
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
        read_before: as `UnreadError.read_before`.
    """

    first: int
    end: int | None
    code: str
    message: str
    read_before: bool = False


def unread_of(entry: Entry) -> Unread | None:
    """The dead letter of a file; None if the file is read."""
    if "unread" not in entry:
        return None
    found = Unread(*entry["unread"])
    return found._replace(read_before=found.first < _read_up_to(entry))


def is_planned(entry: Entry) -> bool:
    """Whether all of a file is planned for some micro-batch."""
    return bool(entry["position"] >= entry["size"])


def is_same(entry: Entry, now: Entry) -> bool:
    """Whether a file is the one of its entry, as far as size and modification time tell."""
    return bool((now["size"], now["mtime_ms"]) == (entry["size"], entry["mtime_ms"]))


def new_entry(path: str, now: Entry, encoding: Encoding) -> Entry:
    """
    The entry of a file of which nothing is planned. A gzip file is decompressed: all of it is read, or nothing.

    Raises:
        SourceUnavailableError: it cannot be read now.
    """
    now = _with_tail(path, now)
    if not is_gzip(path) or not now["size"]:
        return now | {"position": 0}
    try:
        length, ended = lengths_of(path, encoding)
    except UnreadableFileError as error:
        return _entry(now, Unread(0, None, error.code, f"{error.message}; nothing of it was read"))
    return now | {"position": 0, "length": ended} | ({} if length == ended else {"is_ended": False})


def entry_at_a_known_path(path: str, now: Entry) -> Entry:
    """The entry of a file where an earlier one was, which was read to its end and is not in the offset any more."""
    message = (
        f'"{path}" exists again: a file with this path was read, and then moved away or deleted. Events are identified '
        "by path and offset, so a replay of this file replaces events of the first; give a new file another name"
    )
    return _entry(now, Unread(0, None, "changed_file", message), read=MAX_OFFSET)


def entry_after_change(path: str, entry: Entry, now: Entry, encoding: Encoding) -> Entry:
    """
    The entry of a file that has changed since it was found: lines that were added are not read.

    A last line that had no line end is one of them, also if it was read: what was added may have completed it.

    Raises:
        SourceUnavailableError: it cannot be read now.
    """
    known = unread_of(entry)
    first, end, which = 0, None, "its present lines were not read"
    if has_grown(path, entry, now):
        if is_gzip(path):
            first = known.first if known is not None else entry.get("length", 0)
        elif known is None or known.end is not None:
            first, end = _first_after(path, entry, encoding), now["size"]
        if first:
            which = f"its lines from byte {first} on were not read"
        if known is None and (first < entry["position"] if end is not None else not entry.get("is_ended", True)):
            which += "; the first of them had no line end, and was read as it was then"
    unread_lines = Unread(first, end, "changed_file", f"{changed(path, entry, now).message}; {which}")
    return _entry(_with_tail(path, now) | {"position": entry["position"]}, unread_lines, read=_read_up_to(entry))


def has_grown(path: str, entry: Entry, now: Entry) -> bool:
    """
    Whether a file is the one of its entry with something added, as far as its size and the bytes before that tell.

    Raises:
        SourceUnavailableError: it cannot be read now.
    """
    return bool(now["size"] > entry["size"] and entry.get("tail") in (None, _tail(path, entry["size"])))


def check_unchanged(path: str, known: Entry, stop: int, encoding: Encoding) -> None:
    """
    Check that the lines of a range are those of the file as it was found, of which it may have more now.

    Args:
        path: of the file.
        known: its size, modification time and tail, which may be None.
        stop: end of the range.
        encoding: of the file.

    Raises:
        UnreadableFileError: it has changed, or does not exist.
        SourceUnavailableError: it cannot be examined now.
    """
    try:
        now = size_and_time(path_of(path).stat())
    except OSError as error:
        raise unread(path, error) from error
    if is_same(known, now):
        return
    is_longer = known["tail"] is not None and not is_gzip(path) and has_grown(path, known, now)
    if not is_longer or stop > end_of_last_line(path, known["size"], encoding):
        raise changed(path, known, now)


def _first_after(path: str, entry: Entry, encoding: Encoding) -> int:
    """The first byte of the lines of a file that has grown which were not planned, or had no line end."""
    try:
        ended = end_of_last_line(path, entry["size"], encoding)
    except UnreadableFileError:  # gone, or in another encoding since
        ended = entry["size"]
    return int(min(entry["position"], ended))


def entry_after_removal(path: str, entry: Entry) -> Entry:
    """The entry of a file that was removed before all of it was planned."""
    error = unread(path, FileNotFoundError())
    message = f"{error.message}; its lines from byte {entry['position']} on were not read"
    end = None if is_gzip(path) else entry["size"]
    return _entry(entry, Unread(entry["position"], end, error.code, message), read=entry["position"])


def changed(path: str, entry: Entry, now: Entry) -> UnreadableFileError:
    """The error of a file that is not the one of its entry."""
    return ChangedFileError(
        f'"{path}" has changed since it was discovered: {entry["size"]} bytes of {_instant(entry["mtime_ms"])} then, '
        f"{now['size']} bytes of {_instant(now['mtime_ms'])} now",
    )


def _read_up_to(entry: Entry) -> int:
    """The offset up to which lines at the path of an entry were read before it, or with it."""
    if "unread" in entry:
        _, _, code, _ = entry["unread"]
        return int(entry.get("read", 0 if code == UnreadableFileError.code else MAX_OFFSET))
    if "length" in entry:
        return int(entry["length"]) + (0 if entry.get("is_ended", True) else 1)
    return int(entry["position"])


def _entry(now: Entry, unread: Unread, read: int = 0) -> Entry:
    size = now["size"]
    tail = {"tail": now["tail"]} if "tail" in now else {}
    return {
        "size": size,
        "mtime_ms": now["mtime_ms"],
        **tail,
        "position": max(size, now.get("position", 0)),
        "unread": [*unread[:-1]],
        "read": read,
    }


def _with_tail(path: str, now: Entry) -> Entry:
    tail = _tail(path, now["size"])
    return now if tail is None else now | {"tail": tail}


def _tail(path: str, size: int) -> str | None:
    """As `tail_of`; None if the file is gone."""
    try:
        return tail_of(path, size)
    except UnreadableFileError:
        return None


def _instant(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
