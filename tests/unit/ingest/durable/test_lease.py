"""Leases: acquisition, heartbeats, expiry, takeover, loss, release."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConflictError, IntegrityError, LifecycleError, StoreUnavailableError
from ingest.durable.lease import VALID_S, Lease, Timing, folder_lock, grant_in, require_grant
from ingest.durable.lock import FolderLock
from ingest.durable.register import StateRegister
from tests.support.held import held_by_another
from tests.support.leases import left_lease, send_beat, taken_over
from tests.support.waiting import reached

LATE_S = 60.0


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


class AwayRegister(StateRegister):
    """A register that does not answer while a condition holds."""

    def __init__(self, folder: Path, is_away: Callable[[], bool]) -> None:
        super().__init__(folder)
        self.is_away = is_away

    def read(self) -> str | None:
        if self.is_away():
            raise StoreUnavailableError("the NameNode is away")
        return super().read()


@pytest.fixture
def register(tmp_path: Path) -> StateRegister:
    return StateRegister(tmp_path / "lock")


@pytest.fixture
def lease_of(register: StateRegister):
    """Creates leases of this process, which are released at the end."""
    made: list[Lease] = []

    def lease(clock: Clock | None = None, **options: Any) -> Lease:
        clock = clock or Clock()
        times = {name: options.pop(name) for name in ("valid_s", "late_s", "release_s") if name in options}
        usual = {"what": 'checkpoint "c"', "hint": "stop it first", "activity": "replay"}
        timing = Timing(clock=clock, wait=clock.wait, **times)
        made.append(Lease(**{"register": register, "timing": timing} | usual | options))
        return made[-1]

    yield lease
    for each in made:
        each.release()


def beat_of(register: StateRegister) -> int:
    grant = grant_in(register)
    assert grant is not None
    return grant.beat


def test_first_owner_does_not_wait(lease_of, register):
    clock = Clock()
    lease = lease_of(clock)
    assert grant_in(register) is None
    lease.acquire()
    assert clock.waits == 0
    lease.check()
    require_grant(register, lease.id)


def test_candidate_is_refused_at_the_next_heartbeat_of_the_owner(lease_of, register):
    left_lease(register)
    clock, messages = Clock(), []
    clock.during = lambda: send_beat(register) if clock.now_s >= 5 else None
    with pytest.raises(
        ConflictError, match=r'^checkpoint "c" is in use by other since 2011-06-22 13:18:06\+00:00; stop it first; if'
    ) as refused:
        lease_of(clock, on_wait=messages.append).acquire()
    assert clock.now_s == 5
    assert refused.value.hint.endswith("start again: a start takes over 30 s after the last heartbeat")
    (message,) = messages
    assert message.startswith('checkpoint "c" is held by other since 2011-06-22 13:18:06+00:00; waiting up to 30 s')


def test_candidate_takes_over_an_owner_without_heartbeats(lease_of, register):
    killed, clock = left_lease(register), Clock()
    lease = lease_of(clock)
    lease.acquire()
    assert clock.now_s == VALID_S
    lease.check()
    with pytest.raises(ConflictError, match=rf"is lost: replay of pid {os.getpid()} on .* has taken it") as lost:
        require_grant(register, killed)
    assert lost.value.code == "lease_lost"


def test_owner_that_was_suspended_has_lost_the_lease(lease_of, register):
    lease = lease_of()
    lease.acquire()
    taken_over(register)
    for call in (lease.check, lease.renew):
        with pytest.raises(ConflictError, match="is lost: other has taken it") as lost:
            call()
        assert lost.value.code == "lease_lost"
    lease.release()
    assert grant_in(register).owner == "other"


def test_candidate_that_takes_over_waits_for_late_calls(lease_of, register):
    left_lease(register)
    clock = Clock()
    lease = lease_of(clock, late_s=LATE_S)
    lease.acquire()
    assert clock.now_s == VALID_S + LATE_S
    lease.release()
    clock = Clock()
    lease_of(clock, late_s=LATE_S).acquire()
    assert clock.waits == 0  # it was released: nothing is late


def test_wait_for_late_calls_that_is_ended_releases_the_lease(lease_of, register):
    clock = Clock()
    left_lease(register)

    def during() -> None:
        if clock.now_s > VALID_S:
            raise ConflictError("the job was cancelled")

    clock.during = during
    with pytest.raises(ConflictError, match="cancelled"):
        lease_of(clock, late_s=LATE_S).acquire()
    assert register.read() is None


def test_only_writer_knows_that_the_owner_has_ended(lease_of, register):
    clock = Clock()
    left_lease(register)
    lease_of(clock, is_only_writer=True, late_s=LATE_S).acquire()
    assert clock.waits == 0


@pytest.mark.parametrize("is_only_writer", [True, False])
def test_owner_in_this_process_is_known_to_be_alive(lease_of, is_only_writer):
    first, clock = lease_of(), Clock()
    first.acquire()
    second = lease_of(clock, is_only_writer=is_only_writer)
    with pytest.raises(ConflictError, match="is in use by replay of pid"):
        second.acquire()
    first.release()
    second.acquire()
    assert clock.waits == 0


def test_question_whether_an_owner_is_alive_takes_nothing(lease_of, register):
    clock = Clock()
    asking = lease_of(clock)
    assert not asking.is_held()
    left_lease(register)
    clock.during = lambda: send_beat(register)
    assert asking.is_held()
    clock.during = lambda: None
    text = register.read()
    assert not asking.is_held()  # as after a kill
    assert register.read() == text
    register.replace(text, None)
    waits = clock.waits
    assert not asking.is_held()
    assert clock.waits == waits


def test_candidate_that_was_suspended_itself_reads_the_heartbeat_it_missed(lease_of, register):
    clock = Clock()
    left_lease(register)

    def suspended() -> None:
        clock.now_s += 3_600
        send_beat(register)

    clock.during = suspended
    with pytest.raises(ConflictError, match="is in use by other"):
        lease_of(clock).acquire()


def test_owner_that_hung_stays_the_owner_if_no_other_process_took_over(lease_of, register):
    lease = lease_of()
    lease.acquire()
    lease.renew()  # after any time
    lease.check()
    assert beat_of(register) == 1


def test_next_owner_after_a_release_does_not_wait(lease_of):
    first, clock = lease_of(), Clock()
    first.acquire()
    first.release()
    first.release()
    lease_of(clock).acquire()
    assert clock.waits == 0
    with pytest.raises(ConflictError, match="is lost"):
        first.renew()


def test_lease_that_was_not_taken_is_not_used_and_may_be_released(lease_of, register):
    lease = lease_of()
    lease.release()
    assert register.read() is None
    with pytest.raises(LifecycleError):
        lease.check()


def test_candidate_does_not_wait_longer_than_the_owner_runs(lease_of, register):
    clock = Clock()
    left_lease(register)
    clock.during = lambda: register.replace(register.read(), None) if clock.now_s == 3 else None
    lease_of(clock, late_s=LATE_S).acquire()
    assert clock.now_s == 3


def test_candidate_gives_the_owner_its_full_time_after_an_error(lease_of, register, tmp_path):
    left_lease(register)
    clock = Clock()
    away = AwayRegister(tmp_path / "lock", lambda: 20 <= clock.now_s < 40)
    lease_of(clock, register=away).acquire()
    assert clock.now_s == 70


def test_owner_that_sends_a_heartbeat_after_an_error_keeps_the_lease(lease_of, register, tmp_path):
    left_lease(register)
    clock = Clock()
    clock.during = lambda: send_beat(register) if clock.now_s == 60 else None
    away = AwayRegister(tmp_path / "lock", lambda: 10 <= clock.now_s < 45)
    with pytest.raises(ConflictError, match="is in use by other"):
        lease_of(clock, register=away).acquire()


def test_candidate_gives_up_after_long_errors(lease_of, register, tmp_path):
    left_lease(register)
    clock = Clock()
    with pytest.raises(StoreUnavailableError, match="NameNode is away"):
        lease_of(clock, register=AwayRegister(tmp_path / "lock", lambda: clock.now_s > 0)).acquire()
    assert clock.now_s == 300


def test_one_of_two_candidates_takes_over(lease_of, register):
    left_lease(register)
    clock = Clock()
    clock.during = lambda: taken_over(register, "fast") if clock.now_s == 30 else None
    with pytest.raises(ConflictError, match="is in use by fast"):
        lease_of(clock).acquire()


class OutpacedRegister(StateRegister):
    """A register of which another process is faster."""

    def replace(self, before: str | None, after: str | None) -> bool:
        left_lease(StateRegister(self._folder))
        return super().replace(before, after)


def test_grant_that_appears_during_the_acquisition_is_not_replaced(lease_of, tmp_path):
    with pytest.raises(ConflictError, match="was taken by another process just now"):
        lease_of(register=OutpacedRegister(tmp_path / "lock")).acquire()


class BeatenRegister(StateRegister):
    """A register in which another thread of the owner sends heartbeats, just before a text is replaced."""

    def replace(self, before: str | None, after: str | None) -> bool:
        if before is not None and after is not None:
            for _ in range(2):
                send_beat(StateRegister(self._folder))
        return super().replace(before, after)


def test_heartbeat_beside_others_of_the_owner_does_not_lose_the_lease(lease_of, tmp_path):
    lease = lease_of(register=BeatenRegister(tmp_path / "lock"))
    lease.acquire()
    lease.renew()
    lease.check()


@pytest.mark.parametrize(("beat", "waited_s"), [("null", 0), ("3", VALID_S)])
def test_lease_of_version_0_2_0_is_read(lease_of, register, beat, waited_s):
    register.replace(None, f'{{"owner": "pid 1 on host", "since_ms": 0, "beat": {beat}}}')
    clock = Clock()
    lease_of(clock).acquire()
    assert clock.now_s == waited_s


def test_other_text_is_an_integrity_error(lease_of, register):
    register.replace(None, "{}")
    with pytest.raises(IntegrityError, match=r'the lease ".*/lock" cannot be read'):
        lease_of().acquire()


def test_removed_lease_is_lost(lease_of, register):
    lease = lease_of()
    lease.acquire()
    register.replace(register.read(), None)
    with pytest.raises(ConflictError, match="is lost: it was removed"):
        lease.check()


def test_thread_sends_heartbeats_also_after_one_that_failed(lease_of, register, tmp_path):
    failed = []

    def is_away() -> bool:
        if threading.current_thread().name != "lease" or failed:
            return False
        failed.append(True)
        return True

    with lease_of(register=AwayRegister(tmp_path / "lock", is_away), valid_s=0.06):
        assert reached(lambda: beat_of(register) >= 2, 5.0)
    assert failed


def test_owner_that_lost_the_lease_learns_it_and_ends_its_heartbeats(lease_of, register):
    lease = lease_of(valid_s=0.06)
    lease.acquire()
    while not register.replace(register.read(), None):
        pass  # it has sent a heartbeat
    assert reached(lambda: lease.lost is not None, 5.0)
    assert lease.lost.code == "lease_lost"
    lease_of().acquire()


class HangingRegister(StateRegister):
    """A register that does not answer the thread of heartbeats until `answers` is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.hangs, self.answers = threading.Event(), threading.Event()

    def read(self) -> str | None:
        if threading.current_thread().name == "lease":
            self.hangs.set()
            self.answers.wait(60)
        return super().read()


def test_release_does_not_wait_for_a_register_that_hangs(lease_of, tmp_path):
    register = HangingRegister(tmp_path / "lock")
    lease = lease_of(register=register, valid_s=0.06, release_s=0.1)
    lease.acquire()
    assert register.hangs.wait(5.0)
    lease.release()
    with pytest.raises(StoreUnavailableError, match="is still being released"):
        lease.acquire()
    register.answers.set()
    assert reached(lambda: register.read() is None, 5.0)
    lease.release()
    with lease:
        lease.check()


def test_lease_of_a_killed_process_is_taken_over(lease_of, tmp_path):
    code = "from ingest.durable.lease import Lease\nfrom ingest.durable.register import StateRegister\n"
    code += f"Lease(StateRegister(Path({str(tmp_path / 'lock')!r})), what='', hint='').acquire()"
    with held_by_another(code) as other:
        other.kill()
        other.wait()
        clock = Clock()
        lease_of(clock).acquire()
        assert clock.now_s == VALID_S


def test_local_folder_is_locked_by_the_kernel(tmp_path: Path):
    lock = folder_lock(tmp_path, kind="checkpoint", hint="")
    assert isinstance(lock, FolderLock)
    with lock:
        lock.check()
