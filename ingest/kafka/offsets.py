"""
Offsets of a consumer group, for monitoring tools and for new checkpoints.

A pipeline that has a checkpoint resumes from the checkpoint alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NoError, NotCoordinatorError
from kafka.structs import OffsetAndMetadata

from ingest.amounts import counted
from ingest.api import IngestError, NotFoundError, TopicPartition
from ingest.kafka.clients import ANSWER_MS, admin_client, partition
from ingest.kafka.errors import GroupInUseError, translating
from ingest.kafka.settings import KafkaConnection
from ingest.retry import Retry

_MOVING = (CoordinatorNotAvailableError, CoordinatorLoadInProgressError, NotCoordinatorError)
_PAUSE_S = 0.2
_SHOWN = 5  # members of a group in a message

_Answer = TypeVar("_Answer")


class GroupOffset(NamedTuple):
    """
    The committed offset of a group for a partition.

    Attributes:
        offset: of the next record to read.
        note: metadata that was committed with it; "" for none.
    """

    offset: int
    note: str


class Member(NamedTuple):
    """
    A consumer that is a member of a group now.

    Attributes:
        client_id: as the consumer names itself.
        host: its address, as the broker writes it.
    """

    client_id: str
    host: str


def group_in_use(group: str, members: Sequence[Member]) -> GroupInUseError:
    """The error of offsets that a pipeline would start from while the members of their group read on from there."""
    shown = ", ".join(f"{each.client_id} at {each.host.lstrip('/')}" for each in members[:_SHOWN])
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return GroupInUseError(
        f'group "{group}" has {counted(len(members), "active member")}, which would read the same records: '
        f"{shown}{more}",
        hint="stop these consumers, and wait until they have left the group; one that was killed leaves with the end "
        "of its session, by default after 45 s",
    )


class NoCheckpointError(NotFoundError):
    """
    A group has acknowledged offsets, but its pipeline has no checkpoint: where it starts must be chosen.

    Args:
        group: its name.
        folder: where the checkpoint would be.
    """

    def __init__(self, group: str, folder: object) -> None:
        super().__init__(
            f'group "{group}" has acknowledged offsets, but there is no checkpoint in "{folder}"',
            hint="restore the folder, or choose where to resume: "
            "'attr2hbase run --start-from group|earliest|latest|TIME'; if another pipeline uses the group, choose "
            "another `group` in the source",
        )


class GroupOffsets:
    """
    The committed offsets of a group, without joining it.

    Used by one thread. Connects at the first call, and again at the first call after a failure. Each call succeeds or
    fails within seconds.
    """

    def __init__(self, connection: KafkaConnection, group: str) -> None:
        self._connection = connection
        self._group = group
        self._client: KafkaAdminClient | None = None

    def committed(self, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """
        Committed offsets by topic and partition; partitions without an offset are left out.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: it denies access, code `access_denied`.
        """
        return {part: committed.offset for part, committed in self.committed_with_notes(topics).items()}

    def committed_with_notes(self, topics: Sequence[str]) -> dict[TopicPartition, GroupOffset]:
        """
        Committed offsets with their notes, by topic and partition; partitions without an offset are left out.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: it denies access, code `access_denied`.
        """
        wanted = set(topics)
        found = self._request("reading offsets", lambda client: client.list_group_offsets(self._group)[self._group])
        return {
            (part.topic, part.partition): GroupOffset(committed.offset, committed.metadata)
            for part, committed in found.items()
            if part.topic in wanted and committed.offset >= 0
        }

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        note: str = "",
        lower: bool = False,
        check: Callable[[Mapping[TopicPartition, GroupOffset]], None] = lambda _committed: None,
    ) -> None:
        """
        Commit offsets of the next records to read.

        Args:
            offsets: by topic and partition; an offset that is already committed is committed again, which renews its
                retention.
            note: metadata to commit with them.
            lower: also commit offsets below the committed ones, as a reset does; else the higher offset stays.
            check: called with the present offsets of the topics before that, unless `lower`; its error ends the call.

        Raises:
            SourceUnavailableError: the cluster does not answer; the outcome is unknown, so repeat the call.
            NotFoundError: a topic no longer exists.
            SourceError: the group has members, code `group_in_use`, or access is denied, code `access_denied`.
        """
        if not lower and offsets:
            now = self.committed_with_notes(sorted({topic for topic, _ in offsets}))
            check({part: now[part] for part in offsets.keys() & now.keys()})
            offsets = {
                part: offset for part, offset in offsets.items() if part not in now or offset >= now[part].offset
            }
        if not offsets:
            return
        wanted = {partition(part): OffsetAndMetadata(offset, note, None) for part, offset in offsets.items()}

        def commit(client: KafkaAdminClient) -> None:
            for part, answer in client.alter_group_offsets(self._group, wanted).items():
                if answer is not NoError:
                    raise answer(f'topic "{part.topic}" partition {part.partition}')

        self._request("committing offsets", commit)

    def delete(self, topics: Sequence[str]) -> None:
        """
        Delete the committed offsets of topics, as if the group had never read them.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: the group has members, code `group_in_use`, or access is denied, code `access_denied`.
        """
        wanted = [partition(part) for part in self.committed(topics)]
        if not wanted:
            return

        def delete(client: KafkaAdminClient) -> None:
            for part, answer in client.delete_group_offsets(self._group, wanted).items():
                if answer is not NoError:
                    raise answer(f'topic "{part.topic}" partition {part.partition}')

        self._request("deleting offsets", delete)

    def operations(self) -> frozenset[str] | None:
        """
        The operations that the user may perform on the group, by Kafka's names, such as READ.

        None if the cluster does not report them, as for a group without offsets; a cluster without ACLs reports all.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: it denies access, code `access_denied`.
        """
        found = self._request("reading rights", lambda client: client.describe_groups([self._group]))
        group = found.get(self._group, {})
        operations = group.get("authorized_operations")
        return frozenset(operations) if operations and not group.get("error") else None

    def members(self) -> list[Member]:
        """
        The consumers that are members of the group now, by client id; none if the cluster does not report them.

        Pipelines are never members: Spark reads without the group, and offsets are committed without joining it.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: it denies access, code `access_denied`.
        """
        found = self._request("reading members", lambda client: client.describe_groups([self._group]))
        group = found.get(self._group, {})
        return sorted(
            Member(str(each["client_id"]), str(each["client_host"]))
            for each in ([] if group.get("error") else group.get("members") or [])
        )

    def refuse_members(self) -> None:
        """
        Refuse to start from the offsets of a group whose members read on.

        Raises:
            GroupInUseError: it has members.
            SourceUnavailableError: the cluster does not answer.
            SourceError: it denies access, code `access_denied`.
        """
        if members := self.members():
            raise group_in_use(self._group, members)

    def close(self) -> None:
        """Close the connection; the next call would open a new one."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _request(self, what: str, send: Callable[[KafkaAdminClient], _Answer]) -> _Answer:
        """Send a request, and retry for some seconds if the group's coordinator is being created, loaded or moved."""

        def attempt() -> _Answer:
            if self._client is None:
                self._client = admin_client(self._connection)
            try:
                with translating(f'{what} of group "{self._group}"'):
                    return send(self._client)
            except IngestError:
                self.close()  # it may have cached the former coordinator
                raise

        retry = Retry(
            pauses_s=(_PAUSE_S,),
            timeout_s=ANSWER_MS / 1000,
            is_transient=lambda error: isinstance(error.__cause__, _MOVING),
        )
        return retry.run(attempt)
