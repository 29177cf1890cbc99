"""A record of a topic, and the settings of one; imports no client."""

from collections.abc import Sequence
from typing import NamedTuple

Header = tuple[str, bytes | None]
NO_TIME = -1
"""Timestamp of a record without one, as of a producer before Kafka 0.10; a broker accepts it whatever its clock is."""


class Stored(NamedTuple):
    """A record with its position in a topic."""

    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: Sequence[Header] = ()


class TopicSettings(NamedTuple):
    """
    The size limit and retention of a topic.

    Attributes:
        max_message_bytes: of one record with its overhead.
        retention_ms: age at which records are deleted; -1 for no limit.
        retention_bytes: size of a partition above which its oldest records are deleted; -1 for no limit.
        cleanup_policy: as in Kafka: "delete" by age and size, "compact" to the last record of each key.
        max_decompressed_bytes: of one record when it is decompressed; None if the brokers do not know such a limit.
    """

    max_message_bytes: int
    retention_ms: int
    retention_bytes: int
    cleanup_policy: str
    max_decompressed_bytes: int | None = None

    @property
    def is_compacted(self) -> bool:
        """Whether superseded records are removed."""
        return "compact" in self._policies

    @property
    def deletes(self) -> bool:
        """Whether records are deleted by age and size."""
        return "delete" in self._policies

    @property
    def _policies(self) -> set[str]:
        return {policy.strip() for policy in self.cleanup_policy.split(",")}
