"""Leases: take, renew, expiry, takeover, fencing."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConflictError, IntegrityError, LifecycleError, StoreUnavailableError
from ingest.durable.lease import Grant, Lease
from tests.support.held import held_by_another


class Clock:
    """A clock that only waits move; `during` runs at each wait."""

    def __init__(self, during: Callable[[], object] = lambda: None) -> None:
        self.now_s = 0.0
        self.waits = 0
        self.during = during

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.waits += 1
        self.during()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases" / "checkpoint"


def lease_of(folder: Path, owner: str, clock: Clock | None = None) -> Lease:
    clock = clock or Clock()
    return Lease(folder, owner=owner, valid_s=30.0, clock=clock, wait=clock.wait)


def test_first_owner_does_not_wait(folder):
    clock = Clock()
    lease = lease_of(folder, "first", clock)
    assert lease.newest() is None
    assert (lease.take(), clock.waits) == (1, 0)
    lease.check()


def test_candidate_is_refused_at_the_next_heartbeat_of_the_owner(folder):
    first = lease_of(folder, "first")
    first.take()
    clock = Clock()
    clock.during = lambda: first.renew() if clock.now_s >= 5 else None
    watched = []
    with pytest.raises(
        ConflictError, match=rf'"{folder}" is in use by first since 20.*\+00:00; .* lease ends 30 s after'
    ):
        lease_of(folder, "second", clock).take(on_wait=watched.append)
    assert clock.now_s == 5
    assert [(grant.owner, grant.fence, grant.beat) for grant in watched] == [("first", 1, 0)]
    first.check()


def test_candidate_takes_over_an_owner_without_heartbeats(folder):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()
    assert lease_of(folder, "second", clock).take() == 2
    assert clock.now_s == 30
    for call in (first.check, first.renew):
        with pytest.raises(ConflictError, match="of first is lost: second has taken it") as lost:
            call()
        assert lost.value.code == "lease_lost"
    first.release()
    newest = first.newest()
    assert newest is not None
    assert (newest.fence, newest.owner, newest.beat) == (2, "second", 0)


def test_question_whether_an_owner_is_alive_takes_nothing(folder):
    first, clock = lease_of(folder, "first"), Clock()
    asking = lease_of(folder, "asking", clock)
    assert not asking.is_held()
    first.take()
    clock.during = first.renew
    assert asking.is_held()
    clock.during = lambda: None
    assert not asking.is_held()  # as after a kill
    first.check()
    first.release()
    waits = clock.waits
    assert not asking.is_held()
    assert clock.waits == waits


def test_candidate_that_was_suspended_itself_reads_the_heartbeat_it_missed(folder):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()

    def suspended() -> None:
        clock.now_s += 3_600
        first.renew()

    clock.during = suspended
    with pytest.raises(ConflictError, match="is in use by first"):
        lease_of(folder, "second", clock).take()


def test_owner_that_hung_stays_the_owner_if_no_other_process_took_over(folder):
    lease = lease_of(folder, "first")
    lease.take()
    lease.check()
    lease.renew()  # after any time
    newest = lease.newest()
    assert newest is not None
    assert (newest.fence, newest.beat) == (1, 1)


def test_next_owner_after_a_release_does_not_wait(folder):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()
    first.release()
    first.release()
    assert (lease_of(folder, "second", clock).take(), clock.waits) == (2, 0)
    with pytest.raises(LifecycleError):
        first.renew()


def test_candidate_does_not_wait_longer_than_the_owner_runs(folder):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()
    clock.during = lambda: first.release() if clock.now_s >= 3 else None
    assert (lease_of(folder, "second", clock).take(), clock.now_s) == (2, 3)


def failing(lease: Lease, monkeypatch, *, when: Callable[[], bool]) -> None:
    """Make reads of a lease fail, as with a NameNode that is away, while a condition holds."""
    read = lease.newest

    def newest() -> Grant | None:
        if when():
            raise StoreUnavailableError("the NameNode is away")
        return read()

    monkeypatch.setattr(lease, "newest", newest)


def test_candidate_gives_the_owner_its_full_time_after_an_error(folder, monkeypatch):
    lease_of(folder, "first").take()
    clock = Clock()
    second = lease_of(folder, "second", clock)
    failing(second, monkeypatch, when=lambda: 20 <= clock.now_s < 40)
    assert (second.take(), clock.now_s) == (2, 70)


def test_owner_that_sends_a_heartbeat_after_an_error_keeps_the_lease(folder, monkeypatch):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()
    clock.during = lambda: first.renew() if clock.now_s == 60 else None
    second = lease_of(folder, "second", clock)
    failing(second, monkeypatch, when=lambda: 10 <= clock.now_s < 45)
    with pytest.raises(ConflictError, match="is in use by first"):
        second.take()


def test_candidate_gives_up_after_long_errors(folder, monkeypatch):
    lease_of(folder, "first").take()
    clock = Clock()
    second = lease_of(folder, "second", clock)
    failing(second, monkeypatch, when=lambda: clock.now_s > 0)
    with pytest.raises(StoreUnavailableError, match="NameNode is away"):
        second.take()
    assert clock.now_s == 300


def test_error_while_lower_fences_are_removed_does_not_end_the_acquisition(folder, monkeypatch):
    first, second = lease_of(folder, "first"), lease_of(folder, "second")
    first.take()
    first.release()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", away_unless_temporary(Path.unlink))
        assert second.take() == 2
    second.check()
    assert sorted(path.name for path in folder.iterdir()) == ["1", "2"]


def away_unless_temporary(unlink: Callable[..., None]) -> Callable[..., None]:
    def replacement(path: Path, *, missing_ok: bool = False) -> None:
        if path.name.isdecimal():
            raise OSError(errno.EHOSTUNREACH, "away")
        unlink(path, missing_ok=missing_ok)

    return replacement


def test_one_of_two_candidates_takes_over(folder):
    first, clock = lease_of(folder, "first"), Clock()
    first.take()
    clock.during = lambda: lease_of(folder, "fast").take() if clock.now_s == 30 else None
    with pytest.raises(ConflictError, match="is in use by fast"):
        lease_of(folder, "slow", clock).take()


def test_grant_that_appears_during_the_acquisition_is_not_replaced(folder, monkeypatch):
    slow = lease_of(folder, "slow")
    monkeypatch.setattr(slow, "newest", lambda: None)  # as it was before the other was faster
    lease_of(folder, "fast").take()
    with pytest.raises(ConflictError, match="was taken by another process just now"):
        slow.take()


def test_only_the_newest_grant_is_stored(folder):
    for _ in range(12):
        lease = lease_of(folder, "one")
        lease.take()
        lease.release()
    assert [path.name for path in folder.iterdir()] == ["12"]


def test_unreadable_grant_is_an_integrity_error(folder):
    folder.mkdir(parents=True)
    (folder / "3").write_text("{}")
    with pytest.raises(IntegrityError, match='/3" is not a grant of a lease'):
        lease_of(folder, "first").take()


def test_removed_lease_is_lost(folder):
    lease = lease_of(folder, "first")
    lease.take()
    (folder / "1").unlink()
    with pytest.raises(ConflictError, match="of first is lost: its file is gone"):
        lease.check()
    lease.release()
    assert list(folder.iterdir()) == []


def test_lease_of_a_killed_process_is_taken_over(folder):
    code = "from ingest.durable.lease import Lease\n"
    code += f"lease = Lease(Path({str(folder)!r}), owner='other')\nlease.take()"
    with held_by_another(code) as other:
        other.kill()
        other.wait()
        assert lease_of(folder, "ours").take() == 2
