"""The lock of a folder on a cluster: a lease that a thread renews."""

import contextlib
import threading
from collections.abc import Callable

from ingest.api import ConflictError, IngestError, StoreUnavailableError
from ingest.durable.lease import Grant, Lease
from ingest.durable.lock import FolderLock, ProcessLock, this_process
from ingest.durable.remote import RemotePath, StatePath

BEAT_S = 5.0
"""Between heartbeats; several fit into the time for which a lease is valid."""
RELEASE_S = 5.0
"""For a release; a file system that does not answer then delays a stop no longer, and the lease expires."""


class LeaseLock(ProcessLock):
    """
    Exclusive use of a folder among the processes of several machines, from `acquire` to `release`.

    It is a lease in the folder `lock` of the folder. After the end of a process by kill -9, or of its machine, the next
    `acquire` waits until the lease has expired.

    Args:
        folder: created if it is missing.
        kind: of the folder, for messages: "checkpoint".
        hint: for the process that is refused.
        on_wait: called with a message when `acquire` starts to wait.
        lease: for tests; None for the lease of this process.
        beat_s: seconds between heartbeats.
        release_s: longest time of `release`.
    """

    def __init__(
        self,
        folder: StatePath,
        *,
        kind: str,
        hint: str,
        on_wait: Callable[[str], None] = lambda _message: None,
        lease: Lease | None = None,
        beat_s: float = BEAT_S,
        release_s: float = RELEASE_S,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._hint = hint
        self._on_wait = on_wait
        self._lease = lease or Lease(folder / "lock", owner=this_process())
        self._beat_s = beat_s
        self._release_s = release_s
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """
        Take the lock; waits for the owner's next heartbeat, or until its lease has expired, as `Lease.take`.

        Raises:
            ConflictError: another process has it.
            StoreUnavailableError: the file system does not answer, the folder cannot be written, or the last release
                still waits for an answer.
        """
        if self._thread is not None and self._thread.is_alive():
            raise StoreUnavailableError(
                f'{self._kind} "{self._folder}" is still being released',
                code="state_unavailable",
                hint="check the servers of the file system, such as the NameNode of HDFS",
            )
        try:
            self._lease.take(on_wait=self._report)
        except ConflictError as error:
            raise ConflictError(
                f"{self._kind} {error.message}",
                hint=f"{self._hint}; if its machine is lost, start again: a start takes over "
                f"{self._lease.valid_s:g} s after the last heartbeat",
            ) from error
        self.lost = None
        self._ending.clear()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def is_held(self) -> bool:
        """Whether a process has the lock; waits for its next heartbeat, or until its lease has expired."""
        return self._lease.is_held()

    def check(self) -> None:
        """
        Check that this process still has the lock.

        Raises:
            ConflictError: `lease_lost`: it was suspended or cut off, and another process has taken the lock.
            StoreUnavailableError: the file system does not answer.
        """
        self._lease.check()

    def release(self) -> None:
        """
        Release the lock; may be called twice, or without `acquire`.

        The thread of the heartbeats releases the lease, because a call to the file system may hang.
        """
        self._ending.set()
        if self._thread is not None:
            self._thread.join(self._release_s)

    def _report(self, grant: Grant) -> None:
        self._on_wait(
            f'{self._kind} "{self._folder}" is held by {grant.owner} since {grant.since}; '
            f"waiting up to {self._lease.valid_s:g} s for a heartbeat, then taking over"
        )

    def _beat(self) -> None:
        while not self._ending.wait(self._beat_s):
            try:
                self._lease.renew()
            except ConflictError as error:
                self.lost = error
                return
            except IngestError:
                continue  # no answer; checks block the pipeline meanwhile
        with contextlib.suppress(IngestError):  # it expires
            self._lease.release()


def folder_lock(
    folder: StatePath, *, kind: str, hint: str, on_wait: Callable[[str], None] = lambda _message: None
) -> ProcessLock:
    """The lock of a folder: of the kernel on this machine, a lease on a cluster; arguments as in `LeaseLock`."""
    if isinstance(folder, RemotePath):
        return LeaseLock(folder, kind=kind, hint=hint, on_wait=on_wait)
    return FolderLock(folder, kind=kind, hint=hint)
