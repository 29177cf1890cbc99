"""Leases of other processes."""

from dataclasses import replace

from ingest.durable.lease import Grant, grant_in
from ingest.durable.register import Register


def left_lease(register: Register, owner: str = "other", *, grant_id: str = "") -> str:
    """Write the lease of another process into a register without one; returns its id."""
    grant = Grant(grant_id or f"id of {owner}", owner, 1_308_748_686_334)
    assert register.replace(None, grant.to_text())
    return grant.id


def expire_lease(register: Register) -> None:
    """Let the lease of a killed process, if there is one, expire."""
    assert register.replace(register.read(), None)


def taken_over(register: Register, owner: str = "other") -> str:
    """Write the lease of another process in place of the present one; returns its id."""
    assert register.replace(register.read(), None)
    return left_lease(register, owner)


def send_beat(register: Register) -> None:
    """Send a heartbeat of the process that has the lease."""
    present = grant_in(register)
    assert present is not None
    assert register.replace(present.to_text(), replace(present, beat=present.beat + 1).to_text())
