"""The record and the leases of a consumer group, as one of its workers reads and completes them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import uuid4

from sinks.feed.errors import FeedIdMismatchError, GroupRemovedError
from sinks.feed.leases import GroupLeases, GroupRecord, ShardLease, group_record, leases_of
from sinks.feed.lineage import followers, forgotten_leases, lost_shards
from sinks.feed.state import FeedState


class JoinedGroup:
    """
    A group that a worker has joined with the first `read`; another one of its name is not taken for it.

    Args:
        leases: of the table.
        table: its name.
        group: name of the group.
        starts: returns where a new group begins, by shard.

    Attributes:
        lost: shards whose leases were missing in the last `read`.
    """

    def __init__(
        self, leases: GroupLeases, table: str, group: str, starts: Callable[[FeedState], Mapping[int, str]]
    ) -> None:
        self._leases = leases
        self._table = table
        self._group = group
        self._starts = starts
        self._id: str | None = None
        self.lost: tuple[int, ...] = ()

    def read(self, state: FeedState) -> dict[int, ShardLease]:
        """
        The leases by shard. A missing group is created by the first call, and missing leases by all calls.

        Raises:
            GroupRemovedError: the group was removed since the first call.
            FeedIdMismatchError: the group is of an earlier feed.
            StoreError: the leases are unavailable.
        """
        texts = self._leases.read(self._group)
        if self._id is None and self._record(texts) is None:
            texts = self._created(texts, state)
        record = self._own(texts)
        self._id = record.id
        if record.feed_id != state.feed.id:
            raise FeedIdMismatchError(self._table, record.feed_id, state.feed.id)
        if not record.is_begun:
            texts = self._begun(texts, record)
            record = self._own(texts)
        leases = self._of_group(texts, record)
        self.lost = lost_shards(record, leases, state.feed)
        return self._with_followers(texts, record, leases, state)

    def texts(self) -> Mapping[int, str]:
        """
        The texts as they are stored.

        Raises:
            GroupRemovedError: the group was removed since the first read.
            StoreError: the leases are unavailable.
        """
        texts = self._leases.read(self._group)
        self._own(texts)
        return texts

    def _created(self, texts: Mapping[int, str], state: FeedState) -> Mapping[int, str]:
        if 0 in texts:
            self._leases.finish_removal(self._group)
        record = GroupRecord(state.feed.id, self._starts(state), id=uuid4().hex)
        self._leases.replace(self._group, 0, None, record.to_text())
        return self._leases.read(self._group)

    def _begun(self, texts: Mapping[int, str], record: GroupRecord) -> Mapping[int, str]:
        """Create the first leases. The group has begun once it has all of them; else the next read goes on."""
        created = leases_of(self._group, texts, record.id)
        for shard, start in record.starts.items():
            if shard not in created:
                lease = ShardLease(start, group_id=record.id)
                self._leases.replace(self._group, shard, texts.get(shard), lease.to_text())
        if leases_of(self._group, self._leases.read(self._group), record.id).keys() >= record.starts.keys():
            self._leases.replace(self._group, 0, texts[0], replace(record, is_begun=True).to_text())
        return self._leases.read(self._group)

    def _of_group(self, texts: Mapping[int, str], record: GroupRecord) -> dict[int, ShardLease]:
        leases = leases_of(self._group, texts, record.id)
        for shard, lease in leases.items():
            if texts[shard] != lease.to_text():  # of an earlier version, which has fewer fields
                self._leases.replace(self._group, shard, texts[shard], lease.to_text())
        return leases

    def _with_followers(
        self, texts: Mapping[int, str], record: GroupRecord, leases: dict[int, ShardLease], state: FeedState
    ) -> dict[int, ShardLease]:
        """Create the leases of shards whose parents have been read; the parents name them afterwards."""
        has_new = False
        for shard, lease, parents in list(followers(leases, state.feed, self.lost)):
            if shard not in leases:
                own = replace(lease, group_id=record.id)
                if not self._leases.replace(self._group, shard, texts.get(shard), own.to_text()):
                    continue  # the next read tells who has created it
                leases[shard] = own
                has_new = True
            for parent in parents:
                before = leases[parent]
                after = replace(before, followed_by=tuple(sorted({*before.followed_by, shard})))
                if self._leases.replace(self._group, parent, before.to_text(), after.to_text()):
                    leases[parent] = after
        for shard in forgotten_leases(leases, state.feed):
            self._leases.replace(self._group, shard, leases.pop(shard).to_text(), None)
        if has_new:
            self.texts()  # else the lease of a group that was removed meanwhile would be taken
        return leases

    def _own(self, texts: Mapping[int, str]) -> GroupRecord:
        record = self._record(texts)
        if record is None or self._id not in {None, record.id}:
            raise GroupRemovedError(self._group)
        return record

    def _record(self, texts: Mapping[int, str]) -> GroupRecord | None:
        """The record of the group; None if there is none, or the group is being removed."""
        record = group_record(self._group, texts)
        return None if record is None or record.is_removed else record
