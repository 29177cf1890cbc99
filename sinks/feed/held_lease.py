"""A lease that a worker of a consumer group holds."""

from dataclasses import dataclass, replace

from sinks.feed.errors import WorkerReplacedError
from sinks.feed.leases import GroupLeases, ShardLease, register_name


@dataclass(slots=True)
class HeldLease:
    """
    A shard whose lease this worker holds.

    Attributes:
        leases: of the table.
        group: name of the group.
        worker: name of this worker.
        holder: id of its process.
        shard: number of the shard.
        lease: as it is stored.
        position: iterator of the next page; `SHARD_END` after the last one.
        active_s: when it had its last change or heartbeat.
        deliveries: number of deliveries so far.
        covered: by checkpoints: number of deliveries, and number of changes of the next one.
        asked: a lease, and what it covers, whose call has no answer yet; None if the last one was answered.
    """

    leases: GroupLeases
    group: str
    worker: str
    holder: str
    shard: int
    lease: ShardLease
    position: str
    active_s: float
    deliveries: int = 0
    covered: tuple[int, int] = (0, 0)
    asked: tuple[ShardLease, tuple[int, int]] | None = None

    @property
    def is_checkpointed(self) -> bool:
        """Whether every delivery has its checkpoint."""
        return self.deliveries == self.covered[0]

    def settle(self) -> None:
        """
        Learn whether a call was executed whose answer was lost.

        Raises:
            StoreError: the leases are unavailable.
        """
        if self.asked is None:
            return
        (asked, covered), present = self.asked, self._present()
        if present is not None and _is_same_call(present, asked):
            self.lease, self.covered = present, covered
        self.asked = None

    def store(
        self, *, position: str, owner: str | None = None, gaps: int = 0, covered: tuple[int, int] | None = None
    ) -> bool:
        """
        Store the lease with its next counter; no earlier call may be without an answer.

        Args:
            position: of the last checkpoint.
            owner: next owner; "" for none, None for this worker.
            gaps: number of gaps that were skipped since the last checkpoint.
            covered: what the position covers; None for what was covered before.

        Returns:
            False if another worker has the lease.

        Raises:
            WorkerReplacedError: another process with the name of this worker has it.
            StoreError: the leases are unavailable.
        """
        new_owner = self.worker if owner is None else owner
        new_holder = self.holder if new_owner == self.worker else ""
        while True:
            before = self.lease
            after = replace(
                before,
                position=position,
                owner=new_owner,
                holder=new_holder,
                counter=before.counter + 1,
                wanted_by=before.wanted_by if new_owner == self.worker else "",
                gaps=before.gaps + gaps,
            )
            self.asked = after, covered or self.covered
            is_stored = self.leases.replace(self.group, self.shard, before.to_text(), after.to_text())
            self.asked = None
            present = after if is_stored else self._present()
            if present is None or (present.owner != self.worker and not _is_same_call(present, after)):
                return False
            if present.owner == self.worker and present.holder != self.holder:
                raise WorkerReplacedError(self.group, self.worker)
            self.lease = present
            if _is_same_call(present, after):  # also if the store has repeated the call
                self.covered = covered or self.covered
                return True
            # another worker has requested the shard, or an earlier call was executed late

    def _present(self) -> ShardLease | None:
        text = self.leases.read(self.group).get(self.shard)
        return None if text is None else ShardLease.of(text, register_name(self.group, self.shard))


def _is_same_call(present: ShardLease, asked: ShardLease) -> bool:
    """Whether a lease is one that a call has stored, though others may have added requests and followers since."""
    return asked == replace(present, wanted_by=asked.wanted_by, followed_by=asked.followed_by)
