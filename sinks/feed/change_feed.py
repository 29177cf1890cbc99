"""
A change feed: its identity, and its shards, the ranges of row keys whose changes are in order.

A shard takes the changes of a range of physical row keys whose batch times are in [from, until). The shards that are
open at a batch time cover all row keys, each one once. A split closes a shard and opens two, a merge closes two and
opens one; both take effect at a batch time, the edge, so no shard is changed within a micro-batch. Users request them,
and the pipeline that owns the table applies the requests when a new micro-batch begins.

Physical row keys here have the bucket, in a salted table, and the logical row key, also in a table with deferred
updates.
"""

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.api import ConfigError
from ingest.api.notation import shown
from ingest.durable.record import Hex, Plain, Record
from sinks.feed.errors import ShardNotFoundError
from sinks.feed.keys import MAX_SHARD

MAX_SHARDS = 4_096
"""Number of open shards of a feed; the property of the table has all of them."""


class BadShardMergeError(ConfigError):
    """The shards of a merge are not adjacent, or not in the order of their keys."""

    code = "bad_shard_merge"
    hint = "name two adjacent shards, the lower row keys first, see 'attr2hbase feed describe'"


class BadShardSplitError(ConfigError):
    """A shard has no row keys on one side of the key of a split, or the change feed cannot have more shards."""

    code = "bad_shard_split"
    hint = "name a row key inside of the shard, see 'attr2hbase feed describe'"


class ShardClosedError(ConfigError):
    """A split or a merge names a shard that is closed."""

    code = "shard_closed"
    hint = "name an open shard, see 'attr2hbase feed describe'"


class ShardRequestedError(ConfigError):
    """A split or a merge names a shard that the next micro-batch splits or merges already."""

    code = "shard_requested"
    hint = "'attr2hbase feed describe' shows the requests; wait until they are executed"


@dataclass(frozen=True, slots=True)
class Shard(Plain):
    """
    A range of physical row keys over an interval of batch times.

    Attributes:
        number: unique in the feed, from 1.
        start: first physical row key; empty for the first range.
        stop: the physical row key after the last one; None for no bound.
        from_ms: first batch time.
        until_ms: the batch time after the last one; None for an open shard.
        parents: numbers of the shards that it continues: one after a split, two after a merge; the feed lacks
            those that were trimmed.
    """

    number: int
    start: Hex
    stop: Hex | None
    from_ms: int
    until_ms: int | None = None
    parents: tuple[int, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it takes further changes."""
        return self.until_ms is None

    def takes(self, time_ms: int) -> bool:
        """Whether it takes the changes of a batch time."""
        return self.from_ms <= time_ms and (self.until_ms is None or time_ms < self.until_ms)

    def has(self, physical_key: bytes) -> bool:
        """Whether a physical row key is in its range."""
        return self.start <= physical_key and (self.stop is None or physical_key < self.stop)


@dataclass(frozen=True, slots=True)
class SplitRequest(Plain):
    """
    Divide a shard in two.

    Attributes:
        shard: its number.
        at: first physical row key of the second half.
    """

    shard: int
    at: Hex


@dataclass(frozen=True, slots=True)
class MergeRequest(Plain):
    """
    Replace two adjacent shards by one.

    Attributes:
        shards: their numbers, the lower range first.
    """

    shards: tuple[int, int]


Request = SplitRequest | MergeRequest


@dataclass(frozen=True, slots=True)
class ShardMap:
    """
    The shards of one batch time.

    Attributes:
        starts: first physical row keys of the shards, ascending; the first is empty.
        numbers: of these shards.
    """

    starts: tuple[bytes, ...]
    numbers: tuple[int, ...]

    def of(self, physical_key: bytes) -> int:
        """Number of the shard that has a physical row key."""
        return self.numbers[bisect_right(self.starts, physical_key) - 1]


@dataclass(frozen=True, slots=True)
class ChangeFeed(Record, kind="change feed of table", format=2):
    """
    The change feed of a table.

    Attributes:
        id: unique; another one after the feed was switched off and on again.
        since_ms: batch time of its first micro-batch.
        expiration_ms: how long its changes can be read, by their batch times.
        shards: by their numbers, closed ones too until `trimmed`.
        requested: splits and merges that wait for the next micro-batch, in order.
        kept_from_ms: changes before this batch time may have expired, when the expiration was shorter.
    """

    id: str
    since_ms: int
    expiration_ms: int
    shards: tuple[Shard, ...]
    requested: tuple[Request, ...] = ()
    kept_from_ms: int = 0

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """Format 1 did not tell of an earlier expiration."""
        return {**content, "kept_from_ms": 0}

    @classmethod
    def opened(
        cls, time_ms: int, expiration_ms: int, starts: Sequence[bytes], new_id: str | None = None
    ) -> "ChangeFeed":
        """
        A new feed.

        Args:
            time_ms: batch time of its first micro-batch.
            expiration_ms: as the attribute.
            starts: first physical row keys of its shards, as in `even_starts`.
            new_id: of the feed; by default a random one.
        """
        stops = (*starts[1:], None)
        shards = tuple(
            Shard(number, start, stop, time_ms)
            for number, (start, stop) in enumerate(zip(starts, stops, strict=True), start=1)
        )
        return cls(new_id or secrets.token_hex(8), time_ms, expiration_ms, shards)

    def with_expiration(self, expiration_ms: int, now_ms: int) -> "ChangeFeed":
        """The feed with another expiration; what has expired by the one before stays expired."""
        kept_from_ms = self.horizon_ms(now_ms) if expiration_ms > self.expiration_ms else self.kept_from_ms
        return replace(self, expiration_ms=expiration_ms, kept_from_ms=kept_from_ms)

    def horizon_ms(self, now_ms: int) -> int:
        """The batch time before which changes may have expired."""
        return max(0, self.kept_from_ms, now_ms - self.expiration_ms)

    def shard(self, number: int) -> Shard:
        """
        The shard of a number.

        Raises:
            ShardNotFoundError: there is none.
        """
        for shard in self.shards:
            if shard.number == number:
                return shard
        raise ShardNotFoundError(f"the feed has no shard {number}")

    @property
    def numbers(self) -> frozenset[int]:
        """Numbers of its shards."""
        return frozenset(shard.number for shard in self.shards)

    def open_shards(self) -> tuple[Shard, ...]:
        """The open shards, by their ranges."""
        return tuple(sorted((shard for shard in self.shards if shard.is_open), key=lambda shard: shard.start))

    def children(self, number: int) -> tuple[Shard, ...]:
        """The shards that continue a shard, by their ranges."""
        return tuple(sorted((one for one in self.shards if number in one.parents), key=lambda shard: shard.start))

    def map_at(self, time_ms: int) -> ShardMap:
        """The shards that take the changes of a batch time, which is not before the feed."""
        taking = sorted((shard for shard in self.shards if shard.takes(time_ms)), key=lambda shard: shard.start)
        return ShardMap(tuple(shard.start for shard in taking), tuple(shard.number for shard in taking))

    def with_request(self, request: Request) -> "ChangeFeed":
        """
        The feed with one more request.

        Raises:
            ConfigError: the request is not possible after the ones before it, or one of its shards has a request.
            ShardNotFoundError: there is no such shard.
        """
        taken = {number for each in self.requested for number in _shards_of(each)}
        for number in _shards_of(request):
            if number in taken:
                raise ShardRequestedError(f"shard {number} is split or merged with the next micro-batch already")
        requested = (*self.requested, request)
        replace(self, requested=requested).at_edge(self._last_edge_ms() + 1)
        return replace(self, requested=requested)

    def at_edge(self, time_ms: int) -> "ChangeFeed":
        """
        The feed after its requests took effect.

        Args:
            time_ms: batch time of the micro-batch that begins; later than all micro-batches before.

        Raises:
            ConfigError: a request is not possible.
            ShardNotFoundError: a request names an unknown shard.
        """
        change_feed = replace(self, requested=())
        for request in self.requested:
            change_feed = change_feed._applied(request, time_ms)  # noqa: SLF001 - of this class
        return change_feed

    def trimmed(self, before_ms: int) -> "ChangeFeed":
        """The feed without the shards that were closed at or before a time; their children keep their numbers."""
        shards = tuple(shard for shard in self.shards if shard.until_ms is None or shard.until_ms > before_ms)
        return self if len(shards) == len(self.shards) else replace(self, shards=shards)

    def _applied(self, request: Request, edge_ms: int) -> "ChangeFeed":
        if isinstance(request, SplitRequest):
            closed: tuple[Shard, ...] = (self._open_shard(request.shard),)
            bounds = [(closed[0].start, request.at), (request.at, closed[0].stop)]
            if not closed[0].has(request.at) or request.at == closed[0].start:
                raise BadShardSplitError(f"shard {request.shard} has no row keys on both sides of {shown(request.at)}")
        else:
            low, high = closed = tuple(map(self._open_shard, request.shards))
            bounds = [(low.start, high.stop)]
            if low.stop is None or low.stop != high.start:
                raise BadShardMergeError(f"shards {low.number} and {high.number} are not adjacent")
        if len(bounds) > 1 and len(self.open_shards()) >= MAX_SHARDS:
            raise BadShardSplitError(
                f"the feed has {MAX_SHARDS} open shards, the maximum",
                hint="merge adjacent shards first, with 'attr2hbase admin feed merge'",
            )
        parents = tuple(shard.number for shard in closed)
        first = max(shard.number for shard in self.shards) + 1
        if first + len(bounds) > MAX_SHARD:
            raise BadShardSplitError(
                "the feed has used all numbers of shards",
                hint="remove `feed` from the table, and declare it again: that is a new feed",
            )
        children = tuple(
            Shard(number, start, stop, edge_ms, parents=parents)
            for number, (start, stop) in enumerate(bounds, start=first)
        )
        # a shard that a request of the same edge has opened never takes a change, so its children follow its parents
        shards = (replace(shard, until_ms=edge_ms) if shard.number in parents else shard for shard in self.shards)
        return replace(self, shards=(*shards, *children))

    def _open_shard(self, number: int) -> Shard:
        shard = self.shard(number)
        if not shard.is_open:
            raise ShardClosedError(f"shard {number} is closed")
        return shard

    def _last_edge_ms(self) -> int:
        return max((max(shard.from_ms, shard.until_ms or 0) for shard in self.shards), default=self.since_ms)


def even_starts(count: int, buckets: int | None = None, splits: Sequence[bytes] = ()) -> tuple[bytes, ...]:
    """
    First physical row keys of the shards of a new feed.

    Args:
        count: number of shards, 1 or more; a salted table has at most one for each bucket.
        buckets: of a salted table: the shards have about as many buckets each.
        splits: split points of the table: the shards start at some of them, if there are enough; else they divide the
            range of all row keys evenly by their first two bytes.
    """
    if buckets is not None:
        count = min(count, buckets)
        return (b"", *(bytes([index * buckets // count]) for index in range(1, count)))
    points = sorted({split for split in splits if split})
    if len(points) >= count - 1 > 0:
        return (b"", *(points[index * (len(points) + 1) // count - 1] for index in range(1, count)))
    return (b"", *((index * 65_536 // count).to_bytes(2) for index in range(1, count)))


def _shards_of(request: Request) -> tuple[int, ...]:
    return (request.shard,) if isinstance(request, SplitRequest) else request.shards
