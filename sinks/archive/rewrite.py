"""
A version that this process writes beside the pipelines: its announcement with heartbeats, and the switch at its end.

See `rewrites` for how a writer and this process agree.
"""

import contextlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from ingest import failpoint
from ingest.api import ConflictError
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.durable.lock import this_process
from sinks.archive.layout import SUCCESS
from sinks.archive.partition import Partition
from sinks.archive.rewrites import (
    STALE_MS,
    Announcement,
    Answer,
    announce,
    announcements,
    answer_of,
    of_partition,
    remove_old_announcements,
    withdraw,
)
from sinks.archive.switching import switch

BEAT_S = 30.0
"""Between heartbeats: many fit into the time after which an announcement has no effect."""


class AnnouncementExpiredError(ConflictError):
    """A re-run or join was suspended for minutes, so pipelines may not have written to its version."""

    code = "announcement_expired"
    hint = "this process was suspended; start the command again"


class ArchiveMovedError(ConflictError):
    """A newer re-run or join of the partition wins; or another version became current while rows were copied."""

    code = "archive_moved"
    hint = "start the command again, when the newer one has ended, if it is still needed"


class RerunRunsError(ConflictError):
    """With `--exclusive`: another process writes a version of the partition."""

    code = "archive_rerun_runs"
    remedy = "Wait until the other process has ended, or leave out `--exclusive`."


class Rewrite:
    """
    A new version of a partition, within a `with` block: pipelines write to it too until the block ends.

    A version that is not finished is removed at the end of the block if nothing was written to it.

    Args:
        partition: whose version it is.
        activity: for messages, as in "rewrite".
        exclusive: refuse to start if another process writes a version of this partition.
        clock_ms: milliseconds since the epoch.

    Attributes:
        version_id: of the version.
        before: the version that `finish` has superseded.
        copied_from: the version whose rows were copied, which has to stay current until then; None for none.

    Raises:
        ConflictError: `archive_rerun_runs`: with `exclusive`, another process writes a version of the partition.
    """

    version_id: int
    before: int | None = None
    copied_from: int | None = None

    def __init__(
        self, partition: Partition, activity: str, *, exclusive: bool = False, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self.partition = partition
        self._activity = activity
        self._exclusive = exclusive
        self._clock_ms = clock_ms
        # not of the version: the id of one that was removed is given again
        self._id = f"{_digits(partition.folder)}-{secrets.token_hex(8)}"
        self._beaten_ms = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="archive-rewrite", daemon=True)

    def __enter__(self) -> Self:
        root = self.partition.root
        owner = f"{self._activity}, {this_process()}"
        with file_errors(root):
            remove_old_announcements(root, self._clock_ms())
            self._check_others()
            # so a writer adds to a version that is older than this one
            self.partition.ensure_current(self._clock_ms() // 1000, owner)
            self.version_id = self.partition.create(self._clock_ms() // 1000, owner)
            self._announcement = Announcement(self._id, self.partition.folder, self.version_id, owner, self._clock_ms())
            try:
                self._renew()
                self._check_others()  # again: of two that start at the same moment, at least one is refused
            except BaseException:
                self._leave()
                raise
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ending.set()
        self._thread.join()
        self._leave()

    def answer(self, writer: str) -> Answer | None:
        """
        The answer of a writer; None if it has not answered.

        Raises:
            ArchiveCorruptError: its file is damaged.
        """
        with file_errors(self.partition.root):
            return answer_of(self.partition.root, self._id, writer)

    def check_newest(self) -> None:
        """
        Check that no other process writes, or has completed, a version with a larger id: of two rewrites it wins,
        whichever ends first.

        Raises:
            ConflictError: `archive_moved`.
        """
        partition = self.partition
        with file_errors(partition.root):
            # in this order: a version is complete before its announcement goes
            found = of_partition(announcements(partition.root, self._clock_ms()), partition.folder)
            newer = {
                announcement.version_id for announcement in found if announcement.version_id > self.version_id
            } or self._completed_since()
        if newer:
            raise ArchiveMovedError(
                f'a newer re-run or join of "{partition.folder}", version {max(newer)}, takes the place of this one',
            )

    def finish(self, *, is_kept: bool = False) -> None:
        """
        Complete the version and make it current.

        Of a process that is suspended meanwhile, the writers may see a stale announcement and write to the older
        version alone. So the heartbeat is looked up right before the pointer is moved, and again right after: if there
        was none for minutes, the pointer returns, and the version counts as not complete. Newer rewrites are looked up
        then too: one may have ended since the first look. Two cases remain, both only after a suspension, or a newer
        rewrite, between these looks: a kill before the pointer has returned leaves the version current without those
        rows; and a micro-batch that is committed between the two moves of the pointer is in this version alone.
        'attr2hbase archive rerun' writes the rows of both again.

        Args:
            is_kept: no cleanup removes it.

        Raises:
            ConflictError: `announcement_expired`: this process was suspended, so pipelines may not have written to the
                version; or `archive_moved`: there is a newer rewrite, or the version whose rows were copied is not
                current any more.
        """
        root = self.partition.root
        with file_errors(root):
            self._check_announcement()
            self.check_newest()
            if self.copied_from is not None and self.partition.current() != self.copied_from:
                raise ArchiveMovedError(
                    f'another version of "{self.partition.folder}" became current while its rows were copied',
                    hint="start the command again",
                )
            if is_kept:
                self.partition.keep(self.version_id)
            failpoint.point("archive_written")()
            self.partition.complete(self.version_id)
            failpoint.point("archive_completed")()
            try:
                self._check_announcement()
                self.before = switch(self.partition, self.version_id, self._clock_ms())
                if self.before is not None:  # else no writer could write
                    self._check_announcement()
                    self.check_newest()
            except ConflictError:
                self._withdraw()
                raise

    def _check_announcement(self) -> None:
        if self._clock_ms() - self._beaten_ms > STALE_MS // 2:
            raise AnnouncementExpiredError(
                f'the announcement of version {self.version_id} of "{self.partition.folder}" had no heartbeat for '
                "minutes",
            )

    def _withdraw(self) -> None:
        """Undo `finish`: the version may lack rows, or hide a newer one, so no pointer may name it."""
        # first: after this, no pointer can be moved to the version
        self.partition.root.remove_file(self.partition.path(self.version_id, SUCCESS))
        if self.before is not None and self.partition.pointed() == self.version_id:
            switch(self.partition, self.before, self._clock_ms())
            for newer in self._completed_since():  # they became current just before this one, or the one before
                switch(self.partition, newer, self._clock_ms())
        self.partition.unkeep(self.version_id)

    def _completed_since(self) -> list[int]:
        """The complete versions with larger ids, ascending."""
        return [each.id for each in self.partition.versions() if each.id > self.version_id and each.is_complete]

    def _leave(self) -> None:
        """Remove the announcement, and the version if nothing was written to it."""
        with contextlib.suppress(
            OSError
        ):  # the announcement becomes stale; or the version was removed with its partition
            withdraw(self.partition.root, self._id)
            if self.partition.pointed() != self.version_id:
                self.partition.remove_empty(self.version_id)

    def _check_others(self) -> None:
        if not self._exclusive:
            return
        for other in of_partition(announcements(self.partition.root, self._clock_ms()), self.partition.folder):
            if other.id != self._id:
                raise RerunRunsError(
                    f'version {other.version_id} of "{other.partition}" is being written by {other.owner}',
                    hint="wait until it has ended",
                )

    def _renew(self) -> None:
        now_ms = self._clock_ms()
        announce(self.partition.root, replace(self._announcement, heartbeat_ms=now_ms))
        if not self._beaten_ms or now_ms - self._beaten_ms <= STALE_MS // 2:
            self._beaten_ms = now_ms  # else it was ineffective in between: `finish` refuses

    def _beat(self) -> None:
        while not self._ending.wait(BEAT_S):
            with contextlib.suppress(OSError):  # no answer: the next heartbeat may succeed
                self._renew()


def _digits(text: str) -> str:
    """Letters and digits of a folder's name, as an id has them."""
    return "".join(each if each.isalnum() and each.isascii() else "-" for each in text)
