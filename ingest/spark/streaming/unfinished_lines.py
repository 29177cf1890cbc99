"""Last lines without a line end, which may go on: a program may be writing them, or a copy may not be complete."""

import time
from collections.abc import Callable
from typing import NamedTuple

from ingest.api import Encoding
from ingest.clock import now_ms
from ingest.sources.lines import QUIET_MS, UnreadableFileError, end_of_last_line, is_gzip, may_go_on
from ingest.spark.streaming.file_entries import Entry, is_same


class _Unfinished(NamedTuple):
    entry: Entry
    ended: int


class UnfinishedLines:
    """
    The files of a source that changed less than `QUIET_MS` ago and whose last line has no line end.

    Args:
        encoding: of the files.
        clock: ms since the epoch.
        sleep: for some seconds.
    """

    def __init__(
        self, encoding: Encoding, clock: Callable[[], int] = now_ms, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._encoding = encoding
        self._clock = clock
        self._sleep = sleep
        self._found: dict[str, _Unfinished] = {}
        self._has_waited = False

    def __contains__(self, path: str) -> bool:
        """Whether a file is one of them, as far as it was examined."""
        return path in self._found

    def is_rest(self, path: str, now: Entry, position: int) -> bool:
        """Whether all that follows a position in a file is such a line, as `end_of` has found."""
        found = self._found.get(path)
        if found is None or position < found.ended:
            return False
        if is_same(found.entry, now) and self._may_go_on(now):
            return True
        del self._found[path]
        return False

    def end_of(self, path: str, entry: Entry) -> int:
        """
        The position up to which a file can be planned: its size, or the start of such a line; a gzip file as a whole.

        Raises:
            SourceUnavailableError: it cannot be read now.
        """
        size = int(entry["size"])
        if not self._may_go_on(entry):
            return size
        if is_gzip(path):
            ended = size if entry.get("is_ended", True) else 0
        else:
            try:
                ended = end_of_last_line(path, size, self._encoding)
            except UnreadableFileError:
                return size  # its reader says why
        if ended < size:
            self._found[path] = _Unfinished(entry, ended)
        return ended

    def wait(self) -> bool:
        """Wait until none of them has changed for long enough, unless one does meanwhile; once. False without any."""
        if self._has_waited or not self._found:
            return False
        self._has_waited = True
        last_ms = max(found.entry["mtime_ms"] for found in self._found.values())
        self._sleep(max(0, last_ms + QUIET_MS - self._clock()) / 1000)
        return True

    def _may_go_on(self, entry: Entry) -> bool:
        return may_go_on(entry["mtime_ms"], self._clock())
