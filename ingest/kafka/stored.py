"""Records and settings of a topic, as far as a queue of dead letters needs them; imports no client."""

from typing import NamedTuple


class Stored(NamedTuple):
    """A record at its place in a topic."""

    partition: int
    offset: int
    value: bytes | None


class TopicSettings(NamedTuple):
    """
    What a topic takes, and for how long it keeps that.

    Attributes:
        max_message_bytes: of one record with its overhead.
        retention_ms: age at which records go, -1 for none.
        retention_bytes: of a partition, beyond which the oldest records go; -1 for no limit.
        cleanup_policy: how they go, as Kafka writes it: "delete" by age and size, "compact" all but the last of a key.
    """

    max_message_bytes: int
    retention_ms: int
    retention_bytes: int
    cleanup_policy: str
