"""Offsets of a consumer group, kept for people and their tools: the pipeline itself reads its checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kafka import KafkaAdminClient
from kafka.errors import NoError
from kafka.structs import OffsetAndMetadata

from ingest.api import IngestError
from ingest.kafka.clients import Part, admin_client, partition
from ingest.kafka.errors import translated, translating
from ingest.kafka.settings import KafkaConnection


class GroupOffsets:
    """
    The offsets a group has committed; no member is in the group, nobody is asked to join.

    Used by one thread. Connects at the first call, and again at the first call after one that failed. Each call is
    answered or fails within seconds.
    """

    def __init__(self, connection: KafkaConnection, group: str) -> None:
        self._connection = connection
        self._group = group
        self._client: KafkaAdminClient | None = None

    def committed(self, topics: Sequence[str]) -> dict[Part, int]:
        """
        What is committed, by topic and partition; partitions without an offset are left out.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            SourceError: it refuses us, code `access_denied`.
        """
        wanted = set(topics)
        with self._trying("asking for") as client:
            found = client.list_group_offsets({self._group: None})[self._group]
        return {
            (part.topic, part.partition): kept.offset
            for part, kept in found.items()
            if part.topic in wanted and kept.offset >= 0
        }

    def commit(self, offsets: Mapping[Part, int], *, lower: bool = False) -> None:
        """
        Commit offsets of the next records to read.

        Args:
            offsets: by topic and partition.
            lower: commit also what is less than committed now, as a reset does; else the higher one stays.

        Raises:
            SourceUnavailableError: the cluster does not answer; what was committed is unknown, and may be again.
            NotFoundError: a topic is gone.
            SourceError: members are in the group, code `group_in_use`, or we may not, code `access_denied`.
        """
        if not lower and offsets:
            now = self.committed(sorted({topic for topic, _ in offsets}))
            offsets = {part: offset for part, offset in offsets.items() if offset > now.get(part, -1)}
        if not offsets:
            return
        with self._trying("committing") as client:
            answers = client.alter_group_offsets(
                self._group, {partition(part): OffsetAndMetadata(offset, "", None) for part, offset in offsets.items()}
            )
        for part, answer in answers.items():
            if answer is not NoError:
                self.close()  # the coordinator may have moved, which a new connection finds out
                raise translated(answer(), f'committing offset of topic "{part.topic}" partition {part.partition}')

    def close(self) -> None:
        """Let go of the connection; the next call would make a new one."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _trying(self, what: str) -> Iterator[KafkaAdminClient]:
        if self._client is None:
            self._client = admin_client(self._connection)
        try:
            with translating(f'{what} offsets of group "{self._group}"'):
                yield self._client
        except IngestError:
            self.close()
            raise
