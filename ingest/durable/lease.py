"""An ownership that expires when its owner stops renewing it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import orjson

from ingest.api import ConflictError, IntegrityError, LifecycleError
from ingest.durable.files import create_durably, make_folder, on_disk, write_durably


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """
    One acquisition of a lease.

    Attributes:
        fence: 1 for the first grant of the lease, one more for each later one.
        owner: its process, as `this_process` returns it.
        renewed_ms: time of the last heartbeat, ms since the epoch; None after its release.
    """

    fence: int
    owner: str
    renewed_ms: int | None


class Lease:
    """
    A lease in a folder of its own: a file for each grant, named by its fence; the highest fence counts.

    The owner renews the lease several times within `valid_ms`. An owner that does not, because it died or hung, loses
    it, and another process takes it over under a higher fence. A late owner gets the error at its next `check` or
    `renew`. Since its last check both may have worked: a resource that the lease guards must store the fence, and
    refuse a lower one.

    One thread calls `take`, `renew` and `release`; any thread calls `check` and `newest`. Each raises
    StoreUnavailableError if the disk is full or permission is denied, and IntegrityError if the disk fails or a grant
    cannot be read.

    Args:
        folder: created if it is missing; never remove it, or fences start at 1 again.
        owner: this process, as `this_process` returns it.
        valid_ms: validity of a heartbeat; the same for all processes.
        now_ms: the clock, ms since the epoch; the same for all processes. A heartbeat that is `valid_ms` or more in the
            future was written before the clock was set back, and counts as expired.
    """

    def __init__(self, folder: Path, *, owner: str, valid_ms: int, now_ms: Callable[[], int]) -> None:
        self._folder = folder
        self._owner = owner
        self._valid_ms = valid_ms
        self._now_ms = now_ms
        self._owned: Grant | None = None

    def newest(self) -> Grant | None:
        """The grant with the highest fence, valid or not; None if the lease was never taken."""
        with on_disk(self._folder):
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

    def take(self) -> int:
        """
        Become the owner; returns the fence of the grant, which is then durable.

        Raises:
            ConflictError: the lease is valid, or another process was faster.
        """
        with on_disk(self._folder):
            make_folder(self._folder)
            newest = self.newest()
            now_ms = self._now_ms()
            if newest is not None and self._is_valid(newest, now_ms):
                raise self._refused(f"is leased to {newest.owner}")
            grant = Grant(1 if newest is None else newest.fence + 1, self._owner, now_ms)
            try:
                create_durably(self._path(grant.fence), _content(grant))
            except FileExistsError:
                raise self._refused("was taken by another process just now") from None
            self._owned = grant
            for fence in self._fences():
                if fence < grant.fence:
                    self._path(fence).unlink(missing_ok=True)
        return grant.fence

    def check(self) -> None:
        """
        Check, before an exclusive operation, that this process still owns the lease.

        Raises:
            ConflictError: `lease_lost`: it was not renewed in time, or another process has taken it.
        """
        owned = self._grant()
        with on_disk(self._folder):
            newest = max(self._fences(), default=0)
        if newest != owned.fence or not self._is_valid(owned, self._now_ms()):
            raise ConflictError(
                f'lease "{self._folder}" of {self._owner} is lost: '
                + ("another process has taken it" if newest != owned.fence else "it was not renewed in time"),
                code="lease_lost",
                hint="leave the work to the new owner, or take the lease again and read the stored state",
            )

    def renew(self) -> None:
        """
        Write a heartbeat; an expired lease stays expired, even if no other process has taken it.

        Raises:
            ConflictError: as `check`.
        """
        self.check()
        renewed = dataclasses.replace(self._grant(), renewed_ms=self._now_ms())
        with on_disk(self._folder):
            write_durably(self._path(renewed.fence), _content(renewed))
        self._owned = renewed
        self.check()  # the write may have taken longer than the lease was valid

    def release(self) -> None:
        """End the lease now; may be called twice, after a loss or without `take`."""
        owned, self._owned = self._owned, None
        if owned is not None:
            with on_disk(self._folder):
                write_durably(self._path(owned.fence), _content(dataclasses.replace(owned, renewed_ms=None)))

    def _grant(self) -> Grant:
        if self._owned is None:
            raise LifecycleError("a lease is used before it is taken")
        return self._owned

    def _is_valid(self, grant: Grant, now_ms: int) -> bool:
        return grant.renewed_ms is not None and abs(now_ms - grant.renewed_ms) < self._valid_ms

    def _refused(self, why: str) -> ConflictError:
        seconds = self._valid_ms / 1000
        return ConflictError(
            f'"{self._folder}" {why}', hint=f"stop that process; its lease ends {seconds:g} s after its last heartbeat"
        )

    def _fences(self) -> list[int]:
        try:
            return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]
        except FileNotFoundError:  # it was never taken
            return []

    def _path(self, fence: int) -> Path:
        return self._folder / str(fence)


def _content(grant: Grant) -> bytes:
    return orjson.dumps({"owner": grant.owner, "renewed_ms": grant.renewed_ms})
