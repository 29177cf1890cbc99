"""An ownership in a file system that several machines share; it ends when its owner sends no heartbeats."""

import contextlib
import dataclasses
import time
from collections.abc import Callable
from datetime import UTC, datetime

import orjson

from ingest.api import ConflictError, IntegrityError, LifecycleError, StoreUnavailableError
from ingest.durable.files import create_durably, file_errors, make_folder, write_durably
from ingest.durable.remote import StatePath

VALID_S = 30.0
"""How long an owner without heartbeats remains the owner: longer than several heartbeats and a garbage collection."""
_POLL_S = 0.5
_OUTAGE_PERIODS = 10  # times `valid_s`, after which an error ends the watch of a candidate


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """
    One acquisition of a lease.

    Attributes:
        fence: 1 for the first grant of the lease, one more for each later one.
        owner: its process, as `this_process` returns it.
        since_ms: time of the acquisition by the owner's clock, ms since the epoch; for messages only.
        beat: number of the last heartbeat; None after its release.
    """

    fence: int
    owner: str
    since_ms: int
    beat: int | None

    @property
    def since(self) -> str:
        """The time of the acquisition as text."""
        return datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds")


class Lease:
    """
    A lease in a folder of its own: a file for each grant, named by its fence; the highest fence counts.

    To take the lease is to create the file of the next fence, which one process can. No clocks are compared: a
    candidate watches the heartbeats of the owner, and takes over if there was none for `valid_s` on its own clock. An
    owner that was suspended detects the higher fence at its next `check`. Another process may take over just after a
    check, so what follows a check must be harmless if it happens late.

    One thread at a time calls `take`, `renew` and `release`; any thread calls `check` and `newest`. Each raises
    StoreUnavailableError if the file system does not answer, is full or denies access, and IntegrityError if a grant
    cannot be read.

    Args:
        folder: created if it is missing; never remove it, or fences start at 1 again.
        owner: this process, as `this_process` returns it.
        valid_s: how long an owner without a heartbeat remains the owner; the same for all processes.
        clock: seconds that only rise, also while the machine sleeps.
        wait: waits for a number of seconds.

    Attributes:
        valid_s: as the argument.
    """

    def __init__(
        self,
        folder: StatePath,
        *,
        owner: str,
        valid_s: float = VALID_S,
        clock: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._folder = folder
        self._owner = owner
        self.valid_s = valid_s
        self._clock = clock
        self._wait = wait
        self._owned: Grant | None = None

    def newest(self) -> Grant | None:
        """The grant with the highest fence, valid or not; None if the lease was never taken."""
        with file_errors(self._folder):
            while fences := self._fences():
                path = self._path(max(fences))
                try:
                    content = path.read_bytes()
                except FileNotFoundError:  # another process created a higher one and removed the lower ones
                    continue
                try:
                    return Grant(max(fences), **orjson.loads(content))
                except (ValueError, TypeError) as error:
                    raise IntegrityError(
                        f'"{path}" is not a grant of a lease', hint="restore it from a copy"
                    ) from error
            return None

    def take(self, *, on_wait: Callable[[Grant], None] = lambda _grant: None) -> int:
        """
        Become the owner; returns the fence of the grant, which is then durable.

        Waits while the owner may be alive: until its next heartbeat, or for `valid_s`. While the file system does not
        answer, the owner cannot send a heartbeat either: the `valid_s` start again when it answers.

        Args:
            on_wait: called once with the grant that is watched.

        Raises:
            ConflictError: the owner is alive, or another process was faster.
            StoreUnavailableError: the file system does not answer the first or the last call, or has not answered
                reliably for ten times `valid_s`.
        """
        newest = self.newest()
        if newest is not None and newest.beat is not None:
            on_wait(newest)
            newest = self._watched(newest)
        with file_errors(self._folder):
            make_folder(self._folder)
            grant = Grant(1 if newest is None else newest.fence + 1, self._owner, int(time.time() * 1000), 0)
            try:
                create_durably(self._path(grant.fence), _content(grant))
            except FileExistsError:
                raise self._refused("was taken by another process just now") from None
            self._owned = grant
        with contextlib.suppress(OSError):  # the next acquisition removes them; this grant is valid
            for fence in self._fences():
                if fence < grant.fence:
                    self._path(fence).unlink(missing_ok=True)
        return grant.fence

    def is_held(self) -> bool:
        """
        Whether an owner is alive; waits until its next heartbeat, or for `valid_s`, and takes nothing.

        Raises:
            StoreUnavailableError: as `take`.
        """
        newest = self.newest()
        if newest is None or newest.beat is None:
            return False
        try:
            self._watched(newest)
        except ConflictError:
            return True
        return False

    def check(self) -> None:
        """
        Check, before an exclusive operation, that no other process has taken the lease.

        Raises:
            ConflictError: `lease_lost`: another process has taken it.
        """
        owned = self._grant()
        with file_errors(self._folder):
            newest = max(self._fences(), default=0)
        if newest != owned.fence:
            other = self.newest()
            raise ConflictError(
                f'lease "{self._folder}" of {self._owner} is lost: '
                + ("its file is gone" if other is None else f"{other.owner} has taken it"),
                code="lease_lost",
                hint="this process was suspended or cut off; leave the work to the new owner",
            )

    def renew(self) -> None:
        """
        Write a heartbeat.

        Raises:
            ConflictError: as `check`.
        """
        self.check()
        owned = self._grant()
        renewed = dataclasses.replace(owned, beat=(owned.beat or 0) + 1)
        with file_errors(self._folder):
            write_durably(self._path(renewed.fence), _content(renewed))
        self._owned = renewed

    def release(self) -> None:
        """End the lease now; may be called twice, after a loss or without `take`."""
        owned, self._owned = self._owned, None
        if owned is not None:
            with file_errors(self._folder):
                if self._path(owned.fence).exists():
                    write_durably(self._path(owned.fence), _content(dataclasses.replace(owned, beat=None)))

    def _watched(self, watched: Grant) -> Grant | None:
        """The newest grant, once its owner has released it or has sent no heartbeat for `valid_s`."""
        started = self._clock()
        deadline: float | None = started + self.valid_s
        while True:
            self._wait(_POLL_S)
            now = self._clock()  # before the read: this process may be suspended too
            try:
                newest = self.newest()
            except StoreUnavailableError:
                if now >= started + _OUTAGE_PERIODS * self.valid_s:
                    raise
                deadline = None
                continue
            if deadline is None:
                deadline = self._clock() + self.valid_s
            if newest is None or newest.beat is None:
                return newest
            if newest != watched:
                raise self._refused(f"is in use by {newest.owner} since {newest.since}")
            if now >= deadline:
                return newest

    def _grant(self) -> Grant:
        if self._owned is None:
            raise LifecycleError("a lease is used before it is taken")
        return self._owned

    def _refused(self, why: str) -> ConflictError:
        return ConflictError(
            f'"{self._folder}" {why}',
            hint=f"stop that process; its lease ends {self.valid_s:g} s after its last heartbeat",
        )

    def _fences(self) -> list[int]:
        try:
            return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]
        except FileNotFoundError:  # it was never taken
            return []

    def _path(self, fence: int) -> StatePath:
        return self._folder / str(fence)


def _content(grant: Grant) -> bytes:
    return orjson.dumps({"owner": grant.owner, "since_ms": grant.since_ms, "beat": grant.beat})
