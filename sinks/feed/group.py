"""
A worker of a consumer group: it reads the shards whose leases it holds, and checkpoints how far it has come.

At least once: after a worker has ended, another one resumes at the last checkpoints. A worker that checkpoints each
delivery before its next call gives up a shard only after a checkpoint, so no change is delivered twice while workers
join and leave.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from ingest.api import IngestError, Row
from ingest.clock import now_ms
from sinks.feed.balance import RENEW_S, LeaseObserver, lease_moves
from sinks.feed.client import FeedClient, FeedRecord
from sinks.feed.delivery import Delivery
from sinks.feed.errors import ParentUnknownError, ShardLeaseLostError, TrimmedError
from sinks.feed.gaps import Gap, GapPolicy
from sinks.feed.held_lease import HeldLease
from sinks.feed.joined_group import JoinedGroup
from sinks.feed.leases import SHARD_END, GroupLeases, ShardLease, check_group, register_name
from sinks.feed.lineage import starts_at, starts_at_latest, starts_at_oldest
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState

Start = str | Mapping[int, str]
"""Where a new group begins: `oldest`, `latest`, or the iterators of a dump by shard."""
OLDEST, LATEST = "oldest", "latest"


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """
    How a worker takes part in a group.

    Attributes:
        group: name of the group; a new one is created.
        worker: name of the worker, unique in the group. One that starts again has its shards at once.
        start: where a new group begins; an existing one resumes at its checkpoints.
        limit: maximum number of changes of a delivery.
        gap_policy: what is done about changes that have expired, in a delivery that names the gap; None for an error.
        heartbeat_s: a shard without changes for so long gets a heartbeat; 0 for none.

    Raises:
        ConfigError: the name of the group is not allowed.
    """

    group: str
    worker: str
    start: Start = OLDEST
    limit: int = 1_000
    gap_policy: GapPolicy | None = None
    heartbeat_s: float = 0.0

    def __post_init__(self) -> None:
        check_group(self.group)


class GroupMember:
    """
    One worker of a group. Called by one thread, at least every 20 seconds, or another worker takes its shards.

    Args:
        client: of the feed.
        leases: of the table.
        options: of the worker.
        clock_s: monotonic seconds.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self,
        client: FeedClient,
        leases: GroupLeases,
        options: GroupOptions,
        clock_s: Callable[[], float] = time.monotonic,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._client = client
        self._leases = leases
        self._options = options
        self._group, self._worker = options.group, options.worker
        self._clock_s = clock_s
        self._clock_ms = clock_ms
        self._holder = uuid4().hex
        self._joined = JoinedGroup(leases, client.table, options.group, self._starts)
        self._has_taken = False
        self._observer = LeaseObserver()
        self._elsewhere: set[int] = set()
        self._held: dict[int, HeldLease] = {}
        self._turn = 0
        self._refreshed_s: float | None = None

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards whose leases this worker holds."""
        return tuple(sorted(self._held))

    @property
    def shards_elsewhere(self) -> tuple[int, ...]:
        """Numbers of the shards, not read to their end, whose leases other workers hold, at the last `refresh`."""
        return tuple(sorted(self._elsewhere))

    @property
    def may_get_shards(self) -> bool:
        """Whether another worker holds a lease that it was not seen to renew, so that it may have ended."""
        return not all(map(self._observer.is_live, self._elsewhere))

    def poll(self) -> Delivery | None:
        """
        The next changes of one of the worker's shards, in turn; None if there are none now.

        Raises:
            FeedDisabledError: the table has no change feed.
            FeedIdMismatchError: the group is of an earlier feed.
            ParentUnknownError: the lease of a shard is missing, and there are no changes of the other shards now.
            GroupRemovedError: the group was removed since the first call.
            WorkerReplacedError: another process has started as this worker.
            TrimmedError: changes have expired before the group has read them.
            StoreError: the store or the leases are unavailable; the call may be repeated.
        """
        self.keep()
        state = self._client.state() if self._held else None
        for _ in range(len(self._held)):
            shards = sorted(self._held)
            shard = next((each for each in shards if each > self._turn), shards[0]) if shards else 0
            self._turn = shard
            held = self._held.get(shard)
            delivery = None if held is None else self._next_of(held, state)
            if delivery is not None:
                return delivery
        if self._joined.lost:
            raise ParentUnknownError(self._group, self._joined.lost[0])
        return None

    def heartbeats(self) -> list[tuple[str, int, int]]:
        """
        The shards that had no change for the time of the option, with the id of the feed and a batch time.

        All changes of the shard up to the batch time have been delivered. A shard is returned once in that time.
        """
        found = []
        for held in self._held.values():
            quiet_s = self._clock_s() - held.active_s
            if 0 < self._options.heartbeat_s <= quiet_s and held.position != SHARD_END:
                position = FeedPosition.from_token(held.position)
                held.active_s = self._clock_s()
                if not position.is_oldest:
                    found.append((position.feed_id, held.shard, position.time_ms - 1))
        return found

    def keep(self) -> None:
        """Renew the leases of this worker if that is due, while it processes a delivery for long."""
        if self._refreshed_s is None or self._clock_s() - self._refreshed_s >= RENEW_S:
            self.refresh()

    def refresh(self) -> bool:
        """
        Renew the leases of this worker, and take those without a live owner; `poll` does so every 6 seconds.

        Returns:
            Whether the worker has other shards than before.

        Raises:
            IngestError: as `poll`, but not for a missing lease.
        """
        before = self.shards
        for held in list(self._held.values()):
            self._renew(held)
        state = self._client.state()
        self._take(self._joined.read(state))
        self._refreshed_s = self._clock_s()
        return self.shards != before

    def close(self) -> None:
        """
        Release all leases that can be released, so that other workers can take them at once.

        Raises:
            IngestError: of the first lease that cannot; it ends by itself after 20 seconds.
        """
        failure: IngestError | None = None
        for held in list(self._held.values()):
            try:
                self._renew(held, releases=True)
            except IngestError as error:
                failure = failure or error
        self._held.clear()
        if failure is not None:
            raise failure

    def _next_of(self, held: HeldLease, state: FeedState | None) -> Delivery | None:
        """The next changes of a shard; None if there are none, or another worker has taken it."""
        if held.position == SHARD_END:
            if held.is_checkpointed and self._store(held, position=SHARD_END, owner=""):
                self._end(held)
            return None
        position = FeedPosition.from_token(held.position)
        try:
            page = self._client.page(position, self._options.limit, state)
        except TrimmedError:
            if self._options.gap_policy is None:
                raise
            return self._resumed(held, position, self._options.gap_policy)
        held.position = page.next_iterator or SHARD_END
        if page.records:
            return self._delivery(held, position.feed_id, page.records, page.behind_ms)
        return None if page.next_iterator is not None else self._next_of(held, state)

    def _resumed(self, held: HeldLease, position: FeedPosition, policy: GapPolicy) -> Delivery:
        """Move a shard beyond a gap."""
        state = self._client.state()
        shard = next((each for each in state.feed.shards if each.number == held.shard), None)
        resumed = policy.resume(state, shard, position)
        until_ms = state.retention_horizon_ms
        if resumed != SHARD_END:
            self._client.records(resumed, 1)  # refused if that has expired too
            until_ms = FeedPosition.from_token(resumed).time_ms
        held.position = resumed
        gap = Gap(position.time_ms, until_ms)
        return self._delivery(held, position.feed_id, (), 0, gap, lambda: policy.rows(shard))

    def _delivery(
        self,
        held: HeldLease,
        feed_id: str,
        records: tuple[FeedRecord, ...],
        behind_ms: int,
        gap: Gap | None = None,
        rows: Callable[[], Iterator[Row]] = lambda: iter(()),
    ) -> Delivery:
        held.deliveries += 1
        held.active_s = self._clock_s()
        number, after = held.deliveries, held.position

        def check() -> None:
            self._check(held)

        def checkpoint(record: FeedRecord | None) -> None:
            if record is None:
                self._checkpoint(held, after, (number, 0), 0 if gap is None else 1)
            else:
                kept_ms = 0 if after == SHARD_END else FeedPosition.from_token(after).kept_until_ms
                covered = (number - 1, records.index(record) + 1)
                self._checkpoint(held, record.after(kept_ms).to_token(), covered)

        return Delivery(feed_id, held.shard, records, behind_ms, gap, rows, checkpoint, check)

    def _check(self, held: HeldLease) -> None:
        """Raise `ShardLeaseLostError` if this worker has lost a lease, even if it has another one of the shard."""
        if self._held.get(held.shard) is not held:
            text = self._joined.texts().get(held.shard)
            owner = "" if text is None else ShardLease.of(text, register_name(self._group, held.shard)).owner
            raise ShardLeaseLostError(self._group, held.shard, "" if owner == self._worker else owner)

    def _checkpoint(self, held: HeldLease, position: str, covered: tuple[int, int], gaps: int = 0) -> None:
        """Record a position of a shard, unless a later one is recorded, and the number of gaps before it."""
        if self._held.get(held.shard) is held:
            held.settle()
        if covered > held.covered:
            self._check(held)
            owner = "" if position == SHARD_END else None
            self._store(held, position=position, owner=owner, gaps=gaps, covered=covered)
            self._check(held)
        if position == SHARD_END and self._held.get(held.shard) is held:
            self._end(held)

    def _end(self, held: HeldLease) -> None:
        """Let the shards begin that continue one which has been read."""
        self._held.pop(held.shard, None)
        self._refreshed_s = None

    def _starts(self, state: FeedState) -> Mapping[int, str]:
        start = self._options.start
        if not isinstance(start, str):
            return starts_at(state, start)
        return starts_at_oldest(state) if start == OLDEST else starts_at_latest(state, self._clock_ms())

    def _take(self, leases: Mapping[int, ShardLease]) -> None:
        active = {shard: lease for shard, lease in leases.items() if not lease.is_ended}
        stale = self._observer.stale(active, self._clock_s())
        # passed on to this worker, or by a call whose answer was lost, or before it was started again
        holders = {"", self._holder}
        still_ours = {
            shard
            for shard, lease in active.items()
            if lease.owner == self._worker
            and shard not in self._held
            and (lease.holder in holders or not self._has_taken)
        }
        mine = lease_moves(self._worker, active, stale - set(self._held) - still_ours)
        for shard in sorted({*still_ours, *mine.take}):
            lease = active[shard]
            taken = replace(lease, owner=self._worker, holder=self._holder, counter=lease.counter + 1, wanted_by="")
            if self._leases.replace(self._group, shard, lease.to_text(), taken.to_text()):
                self._held[shard] = HeldLease(
                    self._leases, self._group, self._worker, self._holder, shard, taken, taken.position, self._clock_s()
                )
        self._has_taken = True
        self._elsewhere = {shard for shard, lease in active.items() if lease.owner and shard not in self._held}
        if mine.request is not None:
            lease = active[mine.request]
            wanted = replace(lease, wanted_by=self._worker)
            self._leases.replace(self._group, mine.request, lease.to_text(), wanted.to_text())

    def _renew(self, held: HeldLease, *, releases: bool = False) -> None:
        """Renew a lease, or pass it on to the worker that has requested it."""
        held.settle()
        if held.lease.owner != self._worker:  # passed on, or at its end, by a call whose answer was lost
            if held.lease.position != SHARD_END:
                self._held.pop(held.shard, None)
            return
        position = held.position if held.is_checkpointed and held.position != SHARD_END else held.lease.position
        wanted_by = held.lease.wanted_by if held.is_checkpointed else ""
        owner = "" if releases else wanted_by or self._worker
        if not self._store(held, position=position, owner=owner) or owner != self._worker:
            self._held.pop(held.shard, None)

    def _store(
        self,
        held: HeldLease,
        *,
        position: str,
        owner: str | None = None,
        gaps: int = 0,
        covered: tuple[int, int] | None = None,
    ) -> bool:
        """Store a lease of this worker; False if another worker has it, so that it is no longer held."""
        is_stored = held.store(position=position, owner=owner, gaps=gaps, covered=covered)
        if not is_stored:
            self._held.pop(held.shard, None)
        return is_stored
