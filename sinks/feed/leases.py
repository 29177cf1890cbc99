"""
The leases of consumer groups: which worker reads a shard, and how far it has come.

A lease is in a register, so two workers never both hold a shard. The registers are where every consumer of the table
can write: for HBase properties of the feed table; for RocksDB, which only its service may write, files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import ConfigError
from ingest.durable.record import Record, UnreadableRecordError
from ingest.durable.register import Registers

SHARD_END = "SHARD_END"
"""Position of a lease whose shard has been read to its end."""
_GROUP = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_PREFIX = "group."
_REMEDY = "remove the group, and another one of its name starts anew"


@dataclass(frozen=True, slots=True)
class ShardLease(Record, kind="lease of consumer group", remedy=_REMEDY, unnumbered=True):
    """
    How far a group has read a shard, and the worker that reads it.

    Attributes:
        position: iterator of the last checkpoint; `SHARD_END` after the last change.
        owner: worker that reads the shard; empty if there is none.
        holder: id of the owner's process; empty until the owner has taken a lease that was passed on to it.
        counter: rises with each renewal; a lease whose text stays the same for too long may be taken over.
        wanted_by: worker that has requested the shard; the owner releases it to this worker after its next checkpoint.
        followed_by: shards that continue this one and have leases; only at the end of the shard.
        gaps: number of gaps in the shard that the group has skipped.
        group_id: id of the group's record; a lease with another one is left of an earlier group of this name.
    """

    position: str
    owner: str = ""
    counter: int = 0
    wanted_by: str = ""
    followed_by: tuple[int, ...] = ()
    gaps: int = 0
    holder: str = ""
    group_id: str = ""

    @property
    def is_ended(self) -> bool:
        """Whether the shard has been read to its end."""
        return self.position == SHARD_END

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The lease of an earlier version, in which a worker was one process, and a group had no id."""
        return {"holder": "", "group_id": "", **content}


@dataclass(frozen=True, slots=True)
class GroupRecord(Record, kind="record of consumer group", remedy=_REMEDY, unnumbered=True):
    """
    The beginning of a group.

    Attributes:
        feed_id: of the feed that it reads.
        starts: shard -> iterator, or `SHARD_END`, of the shards that existed.
        is_begun: whether each of them has got its lease; from then on a missing one is an error.
        is_removed: whether the group is being removed: its leases are of no use any more.
        id: differs from the ids of other groups that have had this name.
    """

    feed_id: str
    starts: Mapping[int, str]
    is_begun: bool = False
    is_removed: bool = False
    id: str = ""

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The record of an earlier version, in which a group had no id, and was removed without a mark."""
        return {"is_removed": False, "id": "", **content}


class GroupLeases:
    """
    The leases of all groups of one table, each in a register `group.NAME.SHARD`; the record of a group is of shard 0.

    A call whose outcome is unknown can be repeated.

    Args:
        registers: of the table.
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    def groups(self) -> tuple[str, ...]:
        """
        Names of the groups, sorted.

        Raises:
            StoreError: the registers do not answer.
        """
        names = self._registers.texts(_PREFIX, unchanged="")
        return tuple(sorted({name.removeprefix(_PREFIX).rpartition(".")[0] for name in names}))

    def read(self, group: str) -> Mapping[int, str]:
        """
        The texts of a group by shard; none if there is no such group.

        A text may name the lease of another; and the leases of a group that begins anew have the names of the old ones.

        Raises:
            StoreError: the registers do not answer.
        """
        prefix = f"{_PREFIX}{group}."
        found = self._registers.texts(prefix, unchanged=f"{prefix}0")
        return {int(name.removeprefix(prefix)): text for name, text in found.items()}

    def replace(self, group: str, shard: int, before: str | None, after: str | None) -> bool:
        """
        Replace a text if it is the one before, as `Register.replace`.

        Args:
            group: its name.
            shard: number of the shard, or 0.
            before: the expected text; None for none.
            after: the new text, which is not empty; None removes it.

        Returns:
            Whether it is the new text now.

        Raises:
            StoreError: the register does not answer.
        """
        return self._registers.named(register_name(group, shard)).replace(before, after)

    def remove(self, group: str) -> None:
        """
        Remove a group with its leases; another one of this name starts anew.

        The record is marked first. So after an interruption the next call, or the next worker that starts, removes the
        rest; and a worker that runs ends with an error at its next look. A group that begins meanwhile is not removed.

        Raises:
            StoreError: the store is unavailable.
        """
        texts = self.read(group)
        removed = GroupRecord("", {}, is_removed=True).to_text()
        while texts.get(0) != removed:
            before = texts.get(0)
            if not texts or self.replace(group, 0, before, removed):
                break
            texts = self.read(group)
            if not _are_of_one_group(group, before, texts.get(0)):
                return
        self.finish_removal(group)

    def finish_removal(self, group: str) -> None:
        """
        Remove a group whose record is marked; nothing without the mark.

        Raises:
            StoreError: the store is unavailable.
        """
        while (record := group_record(group, texts := self.read(group))) is not None and record.is_removed:
            leases = [shard for shard in texts if shard]
            if not leases:
                self.replace(group, 0, texts[0], None)
                return
            for shard in leases:
                self.replace(group, shard, texts[shard], None)


def check_group(name: str) -> str:
    """
    The name of a group.

    Raises:
        ConfigError: it is not allowed.
    """
    if not _GROUP.fullmatch(name):
        raise ConfigError(
            f'"{name[:120]}" cannot be the name of a group',
            hint="up to 100 characters a to z, 0 to 9, _ and -, of which the first is a letter or digit",
        )
    return name


def register_name(group: str, shard: int) -> str:
    """Name of the register of a lease; of the record of a group for shard 0."""
    return f"{_PREFIX}{group}.{shard}"


def group_record(group: str, texts: Mapping[int, str]) -> GroupRecord | None:
    """
    The record in the texts of a group, as `GroupLeases.read` returns them; None if it has none.

    Raises:
        UnreadableRecordError: it cannot be read.
    """
    return GroupRecord.of(texts[0], register_name(group, 0)) if 0 in texts else None


def leases_of(group: str, texts: Mapping[int, str], group_id: str) -> dict[int, ShardLease]:
    """
    The leases of a group by shard, without those that are left of earlier groups of its name.

    Args:
        group: its name.
        texts: of the group, as `GroupLeases.read` returns them.
        group_id: id of its record.

    Raises:
        UnreadableRecordError: one cannot be read.
    """
    found = {shard: ShardLease.of(text, register_name(group, shard)) for shard, text in texts.items() if shard}
    return {shard: lease for shard, lease in found.items() if lease.group_id == group_id}


def _are_of_one_group(group: str, before: str | None, after: str | None) -> bool:
    """Whether two records, of which the second one can be any text, are of the same group."""
    if before is None or after is None:
        return False
    place = register_name(group, 0)
    try:
        return GroupRecord.of(before, place).id == GroupRecord.of(after, place).id
    except UnreadableRecordError:
        return False
