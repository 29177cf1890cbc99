"""Which leases a worker takes: those without a live owner, up to its part of the shards; or one of a busier worker."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from sinks.feed.leases import ShardLease

LEASE_S = 20.0
"""A lease that is not renewed for so long may be taken over."""
RENEW_S = 6.0
"""Between two renewals of the leases of a worker, and two looks at those of the others."""


class LeaseMoves(NamedTuple):
    """
    What a worker does with the leases of others.

    Attributes:
        take: shards to take over now.
        request: shard that its owner should release; None for none.
    """

    take: tuple[int, ...] = ()
    request: int | None = None


class LeaseObserver:
    """
    Tells which leases are no longer renewed.

    It compares what this worker sees over time by its own clock, so clocks of two machines are never compared.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[str, int, float]] = {}
        self._live: set[int] = set()

    def stale(self, leases: Mapping[int, ShardLease], now_s: float) -> set[int]:
        """
        The shards whose leases have no owner, or have not been renewed while this worker observed them.

        Args:
            leases: of shards that are not read to their end.
            now_s: monotonic seconds.
        """
        found = set()
        for shard, lease in leases.items():
            owner, counter, since_s = self._seen.get(shard, ("", -1, now_s))
            if (owner, counter) != (lease.owner, lease.counter):
                if owner == lease.owner:
                    self._live.add(shard)
                else:
                    self._live.discard(shard)
                self._seen[shard] = (lease.owner, lease.counter, now_s)
                since_s = now_s
            if not lease.owner or now_s - since_s >= LEASE_S:
                found.add(shard)
                self._live.discard(shard)
        return found

    def is_live(self, shard: int) -> bool:
        """Whether the owner of a lease has renewed it while this worker observed it."""
        return shard in self._live


def lease_moves(worker: str, leases: Mapping[int, ShardLease], stale: set[int]) -> LeaseMoves:
    """
    What a worker does, so that all live workers get about the same number of shards.

    Args:
        worker: its name.
        leases: of shards that are not read to their end.
        stale: shards without a live owner.
    """
    live = Counter(lease.owner for shard, lease in leases.items() if shard not in stale)
    mine = live.pop(worker, 0)
    workers = len(live) + 1
    target = -(-len(leases) // workers)
    take = tuple(sorted(stale)[: max(0, target - mine)])
    if take or not live:
        return LeaseMoves(take)
    busiest, most = max(live.items(), key=lambda each: (each[1], each[0]))
    if most <= mine + 1 or any(lease.wanted_by == worker for lease in leases.values()):
        return LeaseMoves()
    free = (shard for shard, lease in sorted(leases.items()) if lease.owner == busiest and not lease.wanted_by)
    return LeaseMoves(request=next(free, None))
