"""
The lock of a root: one process at a time makes a dump or removes some.

It is the file `_LOCK` with the owner and the time of its last heartbeat. A lock without a heartbeat for a minute
belongs to a process that has ended; the clocks of the machines may differ by less than that. Another process takes it
over with `Root.replace`, which one process can. An owner that was suspended for so long detects it with `check`, before
each change that readers see.
"""

import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import orjson

from ingest.api import ConflictError, IngestError
from ingest.clock import now_ms
from ingest.formats.times import moment
from sinks.dumps.layout import LOCK
from sinks.files.root import Root, root_errors

STALE_MS = 60_000
"""A lock without a heartbeat for so long may be taken over."""
BEAT_S = 10.0
"""Between the heartbeats of `keep`; several fit into the time for which a lock is valid."""


class Holder(NamedTuple):
    """
    Who has the lock.

    Attributes:
        id: unique to this acquisition.
        owner: what it does, as in "dump run 7f3a".
        heartbeat_ms: time of its last heartbeat, ms since the epoch.
    """

    id: str
    owner: str
    pid: int
    host: str
    heartbeat_ms: int

    def __str__(self) -> str:
        return f"{self.owner}, pid {self.pid} on {self.host}, last active at {moment(self.heartbeat_ms)}"

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return orjson.dumps(self._asdict() | {"heartbeat": moment(self.heartbeat_ms)})

    @classmethod
    def from_bytes(cls, content: bytes) -> Self | None:
        """The inverse of `to_bytes`; None for another content."""
        try:
            found = orjson.loads(content)
            return cls(*(found[name] for name in cls._fields))
        except (ValueError, TypeError, KeyError):
            return None


class RootLock:
    """
    The lock of a root, from `acquire` to `release`.

    One thread acquires and releases it; `check` and `renew` may be called by any.

    Args:
        root: that is locked.
        owner: what this process does, for messages.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, root: Root, owner: str, *, clock_ms: Callable[[], int] = now_ms) -> None:
        self._root = root
        self._clock_ms = clock_ms
        self._id = secrets.token_hex(8)
        self._owner = owner

    def acquire(self) -> None:
        """
        Take the lock; does not wait.

        Raises:
            ConflictError: another process has it; the message names it.
            StoreUnavailableError: the file system does not answer, or may not be written.
        """
        with root_errors(self._root):
            self._root.make_folder("")
            content = self._holder().to_bytes()
            try:
                self._root.create(LOCK, content)
            except FileExistsError:
                self._take_over(content)
                holder = self._stored()[1]
                # it is this one if the answer to the first request was lost, and the client has repeated it
                if holder is None or holder.id != self._id:
                    raise self._refused(holder) from None

    def check(self) -> None:
        """
        Check that this process still has the lock.

        Raises:
            ConflictError: another process has taken it.
        """
        with root_errors(self._root):
            holder = self._stored()[1]
        if holder is None or holder.id != self._id:
            taker = "it was removed" if holder is None else f"{holder} has taken it"
            raise ConflictError(
                f'the lock of the dumps in "{self._root}" is lost: {taker}',
                code="dump_lock_lost",
                hint="this process was suspended or cut off; start the command again",
            )

    def renew(self) -> None:
        """
        Write a heartbeat.

        Raises:
            ConflictError: as `check`.
        """
        self.check()
        with root_errors(self._root):
            self._root.write(LOCK, self._holder().to_bytes())

    @contextlib.contextmanager
    def keep(self, beat_s: float = BEAT_S) -> Iterator[None]:
        """Have the lock within the block, with heartbeats of a thread; raises as `acquire`."""
        self.acquire()
        ending = threading.Event()

        def beat() -> None:
            while not ending.wait(beat_s):
                try:
                    self.renew()
                except ConflictError:
                    return  # `check` reports it
                except IngestError:
                    continue  # no answer: the next heartbeat may succeed

        thread = threading.Thread(target=beat, name="dump-lock", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join(beat_s)
            self.release()

    def release(self) -> None:
        """Release the lock; nothing if it is lost or was not taken."""
        with contextlib.suppress(OSError):  # it becomes stale
            holder = self._stored()[1]
            if holder is not None and holder.id == self._id:
                self._root.remove_file(LOCK)

    def _holder(self) -> Holder:
        return Holder(self._id, self._owner, os.getpid(), socket.gethostname(), self._clock_ms())

    def _stored(self) -> tuple[bytes, Holder | None]:
        try:
            content = self._root.read(LOCK)
        except FileNotFoundError:
            return b"", None
        return content, Holder.from_bytes(content)

    def _take_over(self, content: bytes) -> None:
        """Take the lock of a process that has ended; nothing if its owner may be alive, or another one was faster."""
        stored, holder = self._stored()
        if holder is not None and self._clock_ms() - holder.heartbeat_ms <= STALE_MS:
            return
        if not self._root.replace(LOCK, stored, content):
            with contextlib.suppress(FileExistsError):
                self._root.create(LOCK, content)  # it was released in the meantime

    def _refused(self, holder: Holder | None) -> ConflictError:
        who = "another process" if holder is None else str(holder)
        hint = (
            f"wait until it has ended; the lock of a killed process ends {STALE_MS // 1000} s after its last heartbeat"
        )
        if holder is not None and holder.heartbeat_ms > self._clock_ms() + STALE_MS:
            hint = f'its last heartbeat is in the future; if it has ended, remove "{LOCK}", and check the clocks'
        return ConflictError(f'the dumps in "{self._root}" are in use by {who}', hint=hint)


def holder_of(root: Root) -> Holder | None:
    """Who has the lock of a root, or had it when it was killed; None if there is no lock, or it cannot be read."""
    try:
        return Holder.from_bytes(root.read(LOCK))
    except FileNotFoundError:
        return None
