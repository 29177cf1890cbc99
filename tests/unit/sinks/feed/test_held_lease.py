"""A lease that a worker holds."""

import dataclasses
from pathlib import Path

import pytest

from ingest.api import StoreUnavailableError
from ingest.durable.register import StateRegisters
from sinks.feed.errors import WorkerReplacedError
from sinks.feed.held_lease import HeldLease
from sinks.feed.leases import GroupLeases, ShardLease
from tests.support.group_leases import file_leases


def held(folder: Path) -> HeldLease:
    leases, lease = file_leases(folder), ShardLease("p1", "w", counter=3, holder="h")
    assert leases.replace("g", 1, None, lease.to_text())
    return HeldLease(leases, "g", "w", "h", 1, lease, "p1", 0.0)


def test_lease_is_stored_with_its_next_counter(tmp_path: Path):
    lease = held(tmp_path)
    assert lease.store(position="p2", gaps=1)
    assert lease.lease == ShardLease("p2", "w", counter=4, gaps=1, holder="h")
    assert lease.leases.read("g") == {1: lease.lease.to_text()}
    assert lease.asked is None


def test_request_of_another_worker_is_kept_until_the_lease_is_released(tmp_path: Path):
    lease = held(tmp_path)
    requested = dataclasses.replace(lease.lease, wanted_by="v")
    assert lease.leases.replace("g", 1, lease.lease.to_text(), requested.to_text())
    assert lease.store(position="p2")
    assert lease.lease == ShardLease("p2", "w", counter=4, wanted_by="v", holder="h")
    assert lease.store(position="p2", owner="v")
    assert lease.lease == ShardLease("p2", "v", counter=5)


def test_lease_of_another_worker_is_not_replaced(tmp_path: Path):
    lease = held(tmp_path)
    taken = ShardLease("p1", "v", counter=4)
    assert lease.leases.replace("g", 1, lease.lease.to_text(), taken.to_text())
    assert not lease.store(position="p2")
    assert lease.asked is None
    assert lease.leases.read("g") == {1: taken.to_text()}
    assert lease.leases.replace("g", 1, taken.to_text(), None)
    assert not lease.store(position="p2")


def test_lease_of_another_process_with_this_name_is_an_error(tmp_path: Path):
    lease = held(tmp_path)
    assert lease.leases.replace(
        "g", 1, lease.lease.to_text(), dataclasses.replace(lease.lease, counter=4, holder="i").to_text()
    )
    with pytest.raises(WorkerReplacedError, match='another process has started as worker "w" of group "g"'):
        lease.store(position="p2")


def test_earlier_call_that_was_executed_late_is_no_loss(tmp_path: Path):
    lease = held(tmp_path)
    late = dataclasses.replace(lease.lease, counter=4, wanted_by="v")
    assert lease.leases.replace("g", 1, lease.lease.to_text(), late.to_text())
    assert lease.store(position="p2")
    assert lease.lease == dataclasses.replace(late, position="p2", counter=5)


def test_call_that_the_store_repeats_is_known_by_its_owner_and_counter(tmp_path: Path):
    lease = held(tmp_path)
    replace = lease.leases.replace

    def repeated(group: str, shard: int, before: str | None, after: str | None) -> bool:
        assert replace(group, shard, before, after)
        assert after is not None
        assert replace(group, shard, after, dataclasses.replace(ShardLease.of(after, "g"), wanted_by="v").to_text())
        return replace(group, shard, before, after)

    lease.leases.replace = repeated  # type: ignore[method-assign]
    assert lease.store(position="p2", covered=(1, 0))
    assert (lease.lease, lease.covered) == (ShardLease("p2", "w", 4, "v", holder="h"), (1, 0))


def test_lease_is_checkpointed_once_every_delivery_has_its_checkpoint(tmp_path: Path):
    lease = held(tmp_path)
    assert lease.is_checkpointed
    lease.deliveries = 1
    assert not lease.is_checkpointed
    lease.covered = (1, 0)
    assert lease.is_checkpointed


class Unanswered(GroupLeases):
    """
    Leases whose calls are executed, or not, and have no answer; or the store repeats them and finds its own text.

    Attributes:
        executes: whether a call is executed.
        repeats: whether it is repeated instead of having no answer.
    """

    executes = True
    repeats = False

    def replace(self, group: str, shard: int, before: str | None, after: str | None) -> bool:
        if self.executes:
            super().replace(group, shard, before, after)
        if self.repeats:
            return False
        raise StoreUnavailableError("no answer")


def unanswered(lease: HeldLease, folder: Path, *, executes: bool) -> None:
    """A checkpoint of the first delivery, whose call has no answer."""
    leases = lease.leases
    lease.leases, lease.deliveries = Unanswered(StateRegisters(folder)), 1
    lease.leases.executes = executes
    with pytest.raises(StoreUnavailableError):
        lease.store(position="p2", covered=(1, 0))
    lease.leases = leases


@pytest.mark.parametrize("executes", [True, False])
def test_checkpoint_without_an_answer_is_known_once_it_is_settled(tmp_path: Path, executes: bool):
    """Else the next renewal would store the position before it, and the page would be delivered again."""
    lease = held(tmp_path)
    before = lease.lease
    unanswered(lease, tmp_path, executes=executes)
    assert (lease.lease, lease.is_checkpointed) == (before, False)
    lease.settle()
    assert (lease.lease.position, lease.is_checkpointed) == ("p2" if executes else "p1", executes)
    assert lease.asked is None


def test_lease_that_was_removed_after_a_call_without_an_answer_is_not_held(tmp_path: Path):
    lease = held(tmp_path)
    unanswered(lease, tmp_path, executes=True)
    assert lease.leases.replace("g", 1, lease.leases.read("g")[1], None)
    lease.settle()
    assert not lease.is_checkpointed
    assert not lease.store(position="p2")


@pytest.mark.parametrize("owner", [None, "v", ""])
def test_call_that_the_store_has_repeated_is_stored(tmp_path: Path, owner: str | None):
    """Its first attempt was executed, so the second one finds another text; also if it passes the lease on."""
    lease = held(tmp_path)
    lease.leases, lease.deliveries = Unanswered(StateRegisters(tmp_path)), 1
    lease.leases.repeats = True
    assert lease.store(position="p2", owner=owner, covered=(1, 0))
    assert (lease.lease.position, lease.lease.owner) == ("p2", "w" if owner is None else owner)
    assert lease.is_checkpointed
