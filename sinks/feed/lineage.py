"""
Which shards a consumer group reads, and in which order: a shard begins once all of its parents have been read.

Nothing here reads or writes a lease. A shard that should have a lease and has none is lost to the group: to count it as
read would lose its changes. It and the shards that follow it are not read; the others are.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sinks.feed.change_feed import ChangeFeed
from sinks.feed.client import PAGING_MS
from sinks.feed.errors import InvalidIteratorError
from sinks.feed.leases import SHARD_END, GroupRecord, ShardLease
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState, at_time, latest


class ChildShard(NamedTuple):
    """
    A shard whose parents have been read.

    Attributes:
        shard: the shard.
        lease: its first lease.
        parents: numbers of its parents that have a lease, which must name the shard in `followed_by`.
    """

    shard: int
    lease: ShardLease
    parents: tuple[int, ...]


def starts_at_oldest(state: FeedState) -> dict[int, str]:
    """
    The beginning of a group that reads everything that has not expired.

    A shard counts as read if it was closed and all its changes have expired before the group existed. The feed may no
    longer have the parents of a shard; those were closed before all shards that it has.

    The others begin at the retention horizon, not at the oldest change that is left whenever they are read: changes
    that expire before the first checkpoint are a gap.
    """
    change_feed = state.feed
    expired = {
        shard.number
        for shard in change_feed.shards
        if shard.until_ms is not None and shard.until_ms <= state.retention_horizon_ms
    }
    firsts = (
        shard for shard in change_feed.shards if expired.issuperset(change_feed.numbers.intersection(shard.parents))
    )
    kept_until_ms = state.retention_horizon_ms + PAGING_MS
    oldest = {
        shard.number: at_time(state, shard, state.retention_horizon_ms, kept_until_ms).to_token() for shard in firsts
    }
    return oldest | dict.fromkeys(expired, SHARD_END)


def starts_at_latest(state: FeedState, now_ms: int) -> dict[int, str]:
    """The beginning of a group that reads the changes from now on."""
    return {
        shard.number: latest(state, shard, now_ms).to_token() if shard.is_open else SHARD_END
        for shard in state.feed.shards
    }


def starts_at(state: FeedState, iterators: Mapping[int, str]) -> dict[int, str]:
    """
    The beginning of a group that resumes at the iterators of a dump.

    Args:
        state: of the feed.
        iterators: of the shards that were open when the dump began; these cover all row keys.

    Raises:
        InvalidIteratorError: they do not cover all row keys.
    """
    later = descendants(state.feed, iterators)
    for shard in state.feed.open_shards():
        if shard.number not in iterators and (shard.number not in later or not shard.parents):
            raise InvalidIteratorError(
                f"the iterators do not cover all row keys: shard {shard.number} has none",
                hint="give the iterators of all shards that were open when the dump began, as the dump recorded them",
            )
    others = (shard.number for shard in state.feed.shards if shard.number not in later)
    return dict.fromkeys(others, SHARD_END) | dict(iterators)


def lost_shards(record: GroupRecord, leases: Mapping[int, ShardLease], change_feed: ChangeFeed) -> tuple[int, ...]:
    """
    The shards that got a lease and have none any more, unless all shards after them have begun.

    A lease is removed once the feed has forgotten its shard and all others have theirs. So a shard whose parents have
    no leases, and are unknown to the feed, had one, unless leases of other forgotten shards are left.
    """
    created = set(record.starts) if record.is_begun else set()
    for lease in leases.values():
        created.update(lease.followed_by)
    known = change_feed.numbers
    if known.issuperset(leases):
        created.update(shard.number for shard in change_feed.shards if not known.issuperset(shard.parents))
    lost = []
    for number in sorted(created & known - leases.keys()):
        children = change_feed.children(number)
        if not children or any(child.number not in leases for child in children):
            lost.append(number)
    return tuple(lost)


def followers(
    leases: Mapping[int, ShardLease], change_feed: ChangeFeed, lost: Collection[int] = ()
) -> Iterator[ChildShard]:
    """
    The shards that can begin, since their parents have been read, and those that a parent does not name yet.

    Args:
        leases: of the group.
        change_feed: of the table.
        lost: shards that do not begin anew, as `lost_shards`.
    """
    forgotten = _unread_and_forgotten(leases, change_feed)
    known = change_feed.numbers
    for shard in change_feed.shards:
        if shard.number in lost or not shard.parents:  # one without parents has begun with the group
            continue
        parents = [number for number in shard.parents if number in leases or number in known]
        if any(number not in leases or not leases[number].is_ended for number in parents):
            continue
        has_begun = shard.number in leases
        if has_begun and all(shard.number in leases[number].followed_by for number in parents):
            continue
        if not parents and forgotten:
            continue  # the feed no longer has its parents, and one of them may be unread
        yield ChildShard(shard.number, ShardLease(FeedPosition.at_start(change_feed, shard).to_token()), tuple(parents))


def forgotten_leases(leases: Mapping[int, ShardLease], change_feed: ChangeFeed) -> tuple[int, ...]:
    """The leases that are no longer needed: of shards that were read and that the feed no longer has."""
    known = change_feed.numbers
    if not known.issubset(leases):
        return ()  # a shard without a lease may follow one of them
    return tuple(number for number, lease in leases.items() if lease.is_ended and number not in known)


def _unread_and_forgotten(leases: Mapping[int, ShardLease], change_feed: ChangeFeed) -> bool:
    """Whether the group has not read a shard to its end that the feed no longer has."""
    known = change_feed.numbers
    return any(not lease.is_ended for number, lease in leases.items() if number not in known)


def descendants(change_feed: ChangeFeed, numbers: Collection[int]) -> set[int]:
    """
    The shards that were opened after these.

    They are found by their numbers, since the feed may no longer have the shards between.

    Args:
        change_feed: of the table.
        numbers: of all shards that were open at one time; the newest shard of a feed is always open.
    """
    newest = max(numbers, default=change_feed.shards[-1].number)
    return {shard.number for shard in change_feed.shards if shard.number > newest}
