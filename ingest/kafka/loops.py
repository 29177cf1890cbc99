"""A pipeline must not read what it writes, and its dead letters have a topic of their own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ingest.api import ConfigError, Model, SourceSettings
from ingest.kafka.settings import KafkaConnection, connection_of, topic_of


class HasClusterId(Protocol):
    """An admin connection."""

    def cluster_id(self) -> str:
        """The id of the cluster."""


def cluster_of_reader(source: SourceSettings, topic: str) -> Callable[[], str] | None:
    """Requests the id of the cluster whose topic of this name a source reads; None if it reads no such topic."""
    connection = connection_of(source)
    return None if connection is None or not source.reads_topic(topic) else _request(connection)


def clusters_of_sinks(sinks: Iterable[tuple[str, Model]], topic: str) -> dict[str, Callable[[], str]]:
    """
    Requests the id of the cluster of each sink that writes a topic of this name, by the name of the sink.

    Args:
        sinks: name and options of each.
        topic: its name.
    """
    written = ((name, topic_of(settings)) for name, settings in sinks)
    return {name: _request(to.connection()) for name, to in written if to is not None and to.topic == topic}


def _request(connection: KafkaConnection) -> Callable[[], str]:
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


def refuse_topic_of_sinks(topic: str, admin: HasClusterId, clusters_of_sinks: Mapping[str, Callable[[], str]]) -> None:
    """
    Refuse a topic of dead letters into which a sink writes: its readers would take them for events, or the reverse.

    Args:
        topic: of dead letters.
        admin: of its cluster.
        clusters_of_sinks: name of a sink that writes a topic of this name -> requests the id of its cluster.

    Raises:
        ConfigError: it is the same cluster, with other names of its brokers in the file.
    """
    for name, cluster in clusters_of_sinks.items():
        if cluster() == admin.cluster_id():
            raise ConfigError(
                f'dead letters are written to "{topic}", and so are the records of the sink {name}: `brokers` are of '
                "the same cluster",
                hint="give one of them another topic",
            )
