"""A lease that a worker holds."""

from pathlib import Path

from sinks.feed.held_lease import HeldLease
from sinks.feed.leases import FileLeases, ShardLease


def held(folder: Path) -> HeldLease:
    leases, lease = FileLeases(folder), ShardLease("p1", "w", counter=3)
    assert leases.replace("g", 1, None, lease.to_text())
    return HeldLease(leases, "g", "w", 1, lease, "p1", 0.0)


def test_lease_is_stored_with_its_next_counter(tmp_path: Path):
    lease = held(tmp_path)
    assert lease.store(position="p2", gaps=1)
    assert lease.lease == ShardLease("p2", "w", counter=4, gaps=1)
    assert lease.leases.read("g") == {1: lease.lease.to_text()}


def test_request_of_another_worker_is_kept_until_the_lease_is_released(tmp_path: Path):
    lease = held(tmp_path)
    requested = lease.lease._replace(wanted_by="v")
    assert lease.leases.replace("g", 1, lease.lease.to_text(), requested.to_text())
    assert lease.store(position="p2")
    assert lease.lease == ShardLease("p2", "w", counter=4, wanted_by="v")
    assert lease.store(position="p2", owner="v")
    assert lease.lease == ShardLease("p2", "v", counter=5)


def test_lease_of_another_worker_is_not_replaced(tmp_path: Path):
    lease = held(tmp_path)
    taken = ShardLease("p1", "v", counter=4)
    assert lease.leases.replace("g", 1, lease.lease.to_text(), taken.to_text())
    assert not lease.store(position="p2")
    assert lease.leases.read("g") == {1: taken.to_text()}
    assert lease.leases.replace("g", 1, taken.to_text(), None)
    assert not lease.store(position="p2")


def test_lease_is_settled_once_every_delivery_has_its_checkpoint(tmp_path: Path):
    lease = held(tmp_path)
    assert lease.is_settled
    lease.deliveries = 1
    assert not lease.is_settled
    lease.covered = (1, 0)
    assert lease.is_settled
