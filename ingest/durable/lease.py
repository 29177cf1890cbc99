"""The exclusive use of something by one process of several machines, which ends when its owner sends no heartbeats."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ingest.api import ConflictError, IngestError, LifecycleError, StoreUnavailableError
from ingest.durable.files import StateUnavailableError
from ingest.durable.lock import FolderLock, LeaseLostError, ProcessLock, this_process
from ingest.durable.record import Record
from ingest.durable.register import Register, StateRegister
from ingest.durable.remote import RemotePath, StatePath

VALID_S = 30.0
"""How long an owner without heartbeats remains the owner: longer than several heartbeats and a garbage collection."""
_BEATS = 6  # in the time for which a lease is valid
_POLL_S = 0.5
_held: set[str] = set()
"""Ids of the grants that leases of this process have."""
_OUTAGE_PERIODS = 10  # times `valid_s`, after which an error ends the watch of a candidate


@dataclass(frozen=True, slots=True)
class Grant(Record, kind="lease", unnumbered=True):
    """
    One acquisition of a lease.

    Attributes:
        id: unique.
        owner: its process, and what it does, for messages.
        since_ms: time of the acquisition by the owner's clock, ms since the epoch; for messages only.
        beat: number of the last heartbeat; -1 after a release by 0.2.0, which left a text.
    """

    id: str
    owner: str
    since_ms: int
    beat: int = 0

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds")
        return f"{self.owner} since {since}"

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The grant of 0.2.0, without an id; its beat is null after a release."""
        return {"id": "", **content, "beat": -1 if content["beat"] is None else content["beat"]}


@dataclass(frozen=True, slots=True)
class Timing:
    """
    The times of a lease.

    Attributes:
        valid_s: how long an owner without a heartbeat remains the owner; the same for all processes.
        late_s: the longest time of a call that follows a check; a candidate that takes over waits for it.
        release_s: longest time of a release. What has the register and does not answer delays a stop no longer.
        clock: seconds that only rise, also while the machine sleeps.
        wait: waits for a number of seconds; raises to end an acquisition.
    """

    valid_s: float = VALID_S
    late_s: float = 0.0
    release_s: float = 5.0
    clock: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    wait: Callable[[float], object] = time.sleep


def grant_in(register: Register) -> Grant | None:
    """
    The grant in a register, valid or not; None without one.

    Raises:
        IntegrityError: the register has another text.
        StoreUnavailableError: as `Register.read`.
    """
    return _grant_of(register, register.read())


def require_grant(register: Register, grant_id: str) -> None:
    """
    Check, before a write for the owner of a lease, that it is the owner; in any process.

    Raises:
        ConflictError: `lease_lost`: another process has taken it.
        StoreUnavailableError: as `Register.read`.
    """
    present = grant_in(register)
    if present is None or present.id != grant_id:
        raise _lost(register, present)


class Lease(ProcessLock):
    """
    A lease in a register: taken with `acquire`, kept by the heartbeats of a thread, until `release`.

    No clocks are compared: a candidate watches the heartbeats of the owner, and takes over if there was none for
    `valid_s` on its own clock. An owner that was suspended detects the other grant at its next `check`. Another process
    may take over just after a check. So what follows a check must be harmless if it happens late, or a candidate that
    takes over waits until it has happened, for `late_s`.

    One thread at a time calls `acquire` and `release`; any thread calls `check` and `is_held`.

    Args:
        register: has the lease.
        what: the lease is of, for messages: `checkpoint "/state"`.
        hint: for the process that is refused.
        activity: what this process does, for messages, as in "compaction".
        is_only_writer: whether only this process can write the register, so that an owner in another one has ended.
        on_wait: called with a message when `acquire` waits.
        timing: of the lease.
    """

    def __init__(
        self,
        register: Register,
        *,
        what: str,
        hint: str,
        activity: str = "",
        is_only_writer: bool = False,
        on_wait: Callable[[str], None] = lambda _message: None,
        timing: Timing | None = None,
    ) -> None:
        self._register = register
        self._what = what
        self._hint = hint
        self._owner = f"{activity} of {this_process()}" if activity else this_process()
        self._is_only_writer = is_only_writer
        self._on_wait = on_wait
        self._timing = timing or Timing()
        self._grant: Grant | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def id(self) -> str:
        """The id of the grant."""
        return self._granted().id

    def acquire(self) -> None:
        """
        Take the lease; it is durable when this returns.

        Waits while the owner may be alive: until its next heartbeat, or for `valid_s`. While the register does not
        answer, the owner cannot send a heartbeat either: the `valid_s` start again when it answers.

        Raises:
            ConflictError: the owner is alive, or another process was faster.
            StoreUnavailableError: the register does not answer the first or the last call, or has not answered
                reliably for ten times `valid_s`; or the last release still waits for an answer.
            IntegrityError: the register has another text than a lease.
        """
        if self._thread is not None and self._thread.is_alive():
            raise StateUnavailableError(f"{self._what} is still being released")
        text, silent_s = self._register.read(), 0.0
        present = _grant_of(self._register, text)
        if present is not None and present.id in _held:
            raise self._refused(f"is in use by {present}")
        if present is not None and not self._is_only_writer:
            self._on_wait(
                f"{self._what} is held by {present}; waiting up to {self._timing.valid_s:g} s for a heartbeat, then "
                "taking over"
            )
            text = self._watched(text)
            silent_s = 0.0 if text is None else self._timing.late_s
        grant = Grant(secrets.token_hex(8), self._owner, int(time.time() * 1000))
        if not self._register.replace(text, grant.to_text()):
            raise self._refused("was taken by another process just now")
        self._grant, self.lost = grant, None
        _held.add(grant.id)
        self._ending.clear()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()
        try:
            if silent_s:
                self._on_wait(f"{self._what} is taken over; waiting {silent_s:g} s for the last calls of its owner")
                self._timing.wait(silent_s)
        except BaseException:
            self.release()
            raise

    def is_held(self) -> bool:
        """Whether an owner is alive; waits until its next heartbeat, or for `valid_s`, and takes nothing."""
        text = self._register.read()
        try:
            if text is not None:
                self._watched(text)
        except ConflictError:
            return True
        return False

    def check(self) -> None:
        """Check, before an exclusive operation, that no other process has taken the lease."""
        require_grant(self._register, self.id)

    def renew(self) -> None:
        """
        Send a heartbeat, as the thread does.

        Raises:
            ConflictError: as `check`.
            StoreUnavailableError: the register does not answer.
        """
        text = self._register.read()  # not as this process knows it: the answer to a call may be lost
        present = _grant_of(self._register, text)
        if present is None or present.id != self.id:
            raise _lost(self._register, present)
        if not self._register.replace(text, replace(present, beat=present.beat + 1).to_text()):
            require_grant(self._register, self.id)  # else another thread of this process has sent one

    def release(self) -> None:
        """
        End the lease now; may be called twice, after a loss or without `acquire`.

        The thread of the heartbeats does it, because a call may hang.
        """
        self._ending.set()
        if self._thread is not None:
            self._thread.join(self._timing.release_s)

    def _beat(self) -> None:
        try:
            self._send_beats()
        finally:
            _held.discard(self.id)

    def _send_beats(self) -> None:
        while not self._ending.wait(self._timing.valid_s / _BEATS):
            try:
                self.renew()
            except ConflictError as error:
                self.lost = error
                return
            except IngestError:
                continue  # no answer; checks fail meanwhile
        with contextlib.suppress(IngestError):  # it expires
            text = self._register.read()
            if (present := _grant_of(self._register, text)) is not None and present.id == self.id:
                self._register.replace(text, None)

    def _watched(self, watched: str | None) -> str | None:
        """The text, once its owner has sent no heartbeat for `valid_s`; None once its owner has released it."""
        started = self._timing.clock()
        deadline: float | None = started + self._timing.valid_s
        while True:
            self._timing.wait(_POLL_S)
            now = self._timing.clock()  # before the read: this process may be suspended too
            try:
                text = self._register.read()
            except StoreUnavailableError:
                if now >= started + _OUTAGE_PERIODS * self._timing.valid_s:
                    raise
                deadline = None
                continue
            if deadline is None:
                deadline = self._timing.clock() + self._timing.valid_s
            if text is None:
                return None
            if text != watched:
                raise self._refused(f"is in use by {_grant_of(self._register, text)}")
            if now >= deadline:
                return text

    def _granted(self) -> Grant:
        if self._grant is None:
            raise LifecycleError("a lease is used before it is taken")
        return self._grant

    def _refused(self, why: str) -> ConflictError:
        return ConflictError(
            f"{self._what} {why}",
            hint=f"{self._hint}; if its machine is lost, start again: a start takes over "
            f"{self._timing.valid_s:g} s after the last heartbeat",
        )


def folder_lock(
    folder: StatePath, *, kind: str, hint: str, on_wait: Callable[[str], None] = lambda _message: None
) -> ProcessLock:
    """
    The exclusive use of a folder of state: a lock of the kernel on this machine, a lease on a cluster.

    Args:
        folder: created if it is missing.
        kind: of the folder, for messages: "checkpoint".
        hint: for the process that is refused.
        on_wait: as in `Lease`.
    """
    if isinstance(folder, RemotePath):
        return Lease(StateRegister(folder / "lock"), what=f'{kind} "{folder}"', hint=hint, on_wait=on_wait)
    return FolderLock(folder, kind=kind, hint=hint)


def _grant_of(register: Register, text: str | None) -> Grant | None:
    if text is None:
        return None
    grant = Grant.of(text, register)
    return None if grant.beat < 0 else grant


def _lost(register: Register, taker: Grant | None) -> ConflictError:
    return LeaseLostError(
        f'the lease "{register}" of {this_process()} is lost: '
        + ("it was removed" if taker is None else f"{taker.owner} has taken it"),
        hint="this process was suspended or cut off; leave the work to the new owner, or start the command again",
    )
