"""Leases: take, renew, expiry, takeover, fencing."""

import time
from pathlib import Path

import pytest

from ingest.api import ConflictError, IntegrityError, LifecycleError
from ingest.durable.lease import Grant, Lease
from tests.support.held import held_by_another


class Clock:
    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases" / "dump"


def lease_of(folder: Path, owner: str, clock: Clock) -> Lease:
    return Lease(folder, owner=owner, valid_ms=60_000, now_ms=clock)


def test_lease_is_exclusive_while_it_is_renewed(folder, clock):
    first, second = lease_of(folder, "first", clock), lease_of(folder, "second", clock)
    assert (second.newest(), first.take()) == (None, 1)
    for _ in range(3):
        clock.now_ms += 59_999
        with pytest.raises(ConflictError, match=rf'"{folder}" is leased to first; .* 60 s after its last heartbeat'):
            second.take()
        first.renew()
    assert second.newest() == Grant(1, "first", clock.now_ms)


def test_late_owner_detects_that_its_lease_expired(folder, clock):
    first = lease_of(folder, "first", clock)
    first.take()
    clock.now_ms += 60_000
    for call in (first.check, first.renew):
        with pytest.raises(ConflictError, match="of first is lost: it was not renewed in time") as lost:
            call()
        assert lost.value.code == "lease_lost"
    assert first.take() == 2


def test_late_owner_detects_another_owner_and_changes_nothing(folder, clock):
    first, second = lease_of(folder, "first", clock), lease_of(folder, "second", clock)
    first.take()
    clock.now_ms += 60_000
    assert second.take() == 2
    clock.now_ms -= 60_000  # as if the first one had a clock that is late
    for call in (first.check, first.renew):
        with pytest.raises(ConflictError, match="of first is lost: another process has taken it"):
            call()
    first.release()
    clock.now_ms += 60_000
    assert second.newest() == Grant(2, "second", clock.now_ms)
    second.check()


def test_heartbeat_that_takes_too_long_to_write_loses_the_lease(folder):
    times_ms = iter([0, 1, 1, 60_001])  # taken, checked, renewed, written
    lease = Lease(folder, owner="slow", valid_ms=60_000, now_ms=lambda: next(times_ms))
    lease.take()
    with pytest.raises(ConflictError, match="it was not renewed in time"):
        lease.renew()


def test_next_owner_after_a_release_has_a_higher_fence(folder, clock):
    first, second = lease_of(folder, "first", clock), lease_of(folder, "second", clock)
    first.take()
    first.release()
    first.release()
    assert second.take() == 2
    with pytest.raises(LifecycleError):
        first.renew()


@pytest.mark.parametrize(("jump_ms", "is_valid"), [(-59_999, True), (-60_000, False), (59_999, True), (60_000, False)])
def test_lease_expires_after_a_clock_jump(folder, clock, jump_ms, is_valid):
    lease_of(folder, "first", clock).take()
    clock.now_ms += jump_ms
    second = lease_of(folder, "second", clock)
    if is_valid:
        with pytest.raises(ConflictError):
            second.take()
    else:
        assert second.take() == 2


def test_only_the_newest_grant_is_stored(folder, clock):
    for _ in range(12):
        lease = lease_of(folder, "one", clock)
        lease.take()
        lease.release()
    assert [path.name for path in folder.iterdir()] == ["12"]


def test_unreadable_grant_is_an_integrity_error(folder, clock):
    folder.mkdir(parents=True)
    (folder / "3").write_text("{}")
    with pytest.raises(IntegrityError, match='/3" is not a grant of a lease'):
        lease_of(folder, "first", clock).take()


def test_one_of_two_concurrent_takers_succeeds(folder, clock):
    slow = lease_of(folder, "slow", clock)

    def another_is_faster() -> int:
        lease_of(folder, "fast", clock).take()
        return clock()

    with pytest.raises(ConflictError, match="was taken by another process just now"):
        Lease(folder, owner="slow", valid_ms=60_000, now_ms=another_is_faster).take()
    assert slow.newest() == Grant(1, "fast", clock())


def test_lease_of_a_killed_process_is_taken_over_when_it_expires(folder):
    code = "from ingest.clock import now_ms\nfrom ingest.durable.lease import Lease\n"
    code += f"lease = Lease(Path({str(folder)!r}), owner='other', valid_ms=60_000, now_ms=now_ms)\nlease.take()"
    with held_by_another(code) as other:
        clock = Clock(time.time_ns() // 1_000_000)
        ours = lease_of(folder, "ours", clock)
        other.kill()
        other.wait()
        with pytest.raises(ConflictError, match="is leased to other"):
            ours.take()
        clock.now_ms += 60_000
        assert ours.take() == 2
        ours.renew()
