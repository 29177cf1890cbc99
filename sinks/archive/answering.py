"""The answers of a writer to rewrites of partitions; `rewrites` has the protocol."""

import threading
from collections.abc import Callable

from sinks.archive.rewrites import Announcement, Answer, announcements, answer_of, put_answer
from sinks.files.root import Root


class Answering:
    """
    Answers each rewrite once, with a batch time.

    Args:
        writer: its name.

    Methods may be called in any thread.
    """

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._first_twice_ms = 0  # the batch time that a rewrite is answered with
        self._answers: dict[str, int] = {}
        self._lock = threading.Lock()  # between reading the announcements for a commit, and answering the rewrites

    def start(self, last_ms: int) -> None:
        """
        Begin after a start of the writer.

        Args:
            last_ms: time of the last micro-batch. It may run again: it stays in the versions that it has, and a rewrite
                waits for it.
        """
        with self._lock:
            self._first_twice_ms = last_ms + 1
            self._answers = {}

    def answer_all(self, root: Root, now_ms: int, is_ending: Callable[[], bool]) -> None:
        """
        Answer the rewrites that are not answered yet.

        Args:
            root: of the table.
            now_ms: ms since the epoch.
            is_ending: whether the rest is left to the next start.
        """
        with self._lock:
            for announcement in announcements(root, now_ms):
                if not is_ending():
                    self._answer(root, announcement)

    def announced_for(self, root: Root, now_ms: int, time_ms: int, *, is_replay: bool) -> list[Announcement]:
        """
        The announcements whose versions get the files of a micro-batch too; all are answered then.

        Read them before the pointers: a rewrite switches the pointer before it removes its announcement.

        Args:
            root: of the table.
            now_ms: ms since the epoch.
            time_ms: batch time of the micro-batch.
            is_replay: the versions of all announcements get them, whatever the batch time.
        """
        with self._lock:
            found = list(announcements(root, now_ms))
            # not lower: a call that failed has moved files, for which a rewrite since then has to wait
            self._first_twice_ms = max(self._first_twice_ms, time_ms)
            chosen = [
                announcement for announcement in found if self._answer(root, announcement) <= time_ms or is_replay
            ]
            self._first_twice_ms = max(self._first_twice_ms, time_ms + 1)
        return chosen

    def _answer(self, root: Root, announcement: Announcement) -> int:
        known = self._answers.get(announcement.id)
        if known is not None:
            return known
        answer = answer_of(root, announcement.id, self._writer)
        if answer is None:
            answer = Answer(self._writer, self._first_twice_ms)
            put_answer(root, announcement.id, answer)
        self._answers[announcement.id] = answer.from_ms
        return answer.from_ms
