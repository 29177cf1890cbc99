"""A pipeline must not read what it writes."""

from collections.abc import Callable
from typing import Protocol

from ingest.api import ConfigError, SourceSettings
from ingest.kafka.settings import connection_of


class HasClusterId(Protocol):
    """An admin connection."""

    def cluster_id(self) -> str:
        """The id of the cluster."""


def cluster_of_reader(source: SourceSettings, topic: str) -> Callable[[], str] | None:
    """Requests the id of the cluster whose topic of this name a source reads; None if it reads no such topic."""
    connection = connection_of(source)
    if connection is None or not source.reads_topic(topic):
        return None

    def request() -> str:
        from ingest.kafka.admin import KafkaAdmin

        with KafkaAdmin(connection) as admin:
            return admin.cluster_id()

    return request


def refuse_topic_of_source(
    topic: str, admin: HasClusterId, cluster_of_reader: Callable[[], str] | None, what: str
) -> None:
    """
    Refuse a topic that the pipeline reads: each record that it writes would become another one, for ever.

    Args:
        topic: that is written.
        admin: of its cluster.
        cluster_of_reader: requests the id of the cluster whose topic of this name the source reads; None if it reads
            none.
        what: is written, for the message.

    Raises:
        ConfigError: it is the same cluster, with other names of its brokers in the file.
    """
    if cluster_of_reader is not None and cluster_of_reader() == admin.cluster_id():
        raise ConfigError(
            f'{what} would be read again: the source reads "{topic}", and `brokers` are of the same cluster',
            hint="use another topic",
        )
