"""How far a consumer group is behind its feed, and how much of the retention it has left."""

from typing import NamedTuple

from sinks.feed.change_feed import Shard
from sinks.feed.leases import GroupLeases, ShardLease, group_record, leases_of
from sinks.feed.lineage import lost_shards
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState


class ShardLag(NamedTuple):
    """
    A shard that a group reads.

    Attributes:
        shard: its number.
        owner: worker that has the lease; empty if there is none.
        is_ended: whether it has been read to its end.
        behind_ms: batch time of the newest complete micro-batch minus the checkpoint's, at least 1; 0 after
            all changes of the shard.
        margin: fraction of the retention that is left until a change after the checkpoint expires; 1 if there is none.
        gaps: number of gaps in the shard that the group has skipped.
        is_lost: whether its lease is missing, so that it and the shards after it are not read.
    """

    shard: int
    owner: str
    is_ended: bool
    behind_ms: int
    margin: float
    gaps: int
    is_lost: bool = False


def lags_of(state: FeedState, leases: GroupLeases, group: str) -> list[ShardLag] | None:
    """
    The shards of a group by their numbers; None if the group is of an earlier feed.

    Those that have not begun count from their start: no worker may be left that would begin them.

    Raises:
        StoreError: the leases are unavailable.
    """
    texts = leases.read(group)
    record = group_record(group, texts)
    if record is not None and record.feed_id != state.feed.id:
        return None
    shards = {shard.number: shard for shard in state.feed.shards}
    of_group = leases_of(group, texts, "" if record is None else record.id)
    lost: tuple[int, ...] = ()
    if record is not None and record.is_begun:
        lost = lost_shards(record, of_group, state.feed)
        for number in shards.keys() - of_group.keys():
            of_group[number] = ShardLease(FeedPosition.at_start(state.feed, shards[number]).to_token())
    lags = (_lag(state, shards.get(number), number, lease) for number, lease in sorted(of_group.items()))
    return [lag._replace(is_lost=lag.shard in lost) for lag in lags]


def _lag(state: FeedState, shard: Shard | None, number: int, lease: ShardLease) -> ShardLag:
    if lease.is_ended:
        return ShardLag(number, "", is_ended=True, behind_ms=0, margin=1.0, gaps=lease.gaps)
    behind_ms, margin = _distance(state, shard, FeedPosition.from_token(lease.position))
    return ShardLag(number, lease.owner, is_ended=False, behind_ms=behind_ms, margin=margin, gaps=lease.gaps)


def _distance(state: FeedState, shard: Shard | None, position: FeedPosition) -> tuple[int, float]:
    if shard is None:  # all of its changes have expired
        return state.feed.expiration_ms, 0.0
    end_ms = state.end_ms if shard.until_ms is None else min(state.end_ms, shard.until_ms)
    time_ms = max(position.time_ms, shard.from_ms, state.retention_horizon_ms if position.is_oldest else 0)
    if time_ms >= end_ms:
        return 0, 1.0
    left = (max(time_ms, position.kept_until_ms) - state.retention_horizon_ms) / state.feed.expiration_ms
    return state.behind_ms(time_ms), min(1.0, max(0.0, left))
