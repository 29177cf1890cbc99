"""How clients of kafka-python are made: safely connected, and never waiting for long."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.net.compat import KafkaNetClient

from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection, Mechanism
from ingest.kafka.tokens import ClientCredentials

ANSWER_MS = 5_000  # patience for one answer; a working broker needs milliseconds, a frozen one must not hold a service

Part = tuple[str, int]
"""Topic and partition."""


def client_options(connection: KafkaConnection) -> dict[str, Any]:
    """Options of every client; they hold secrets."""
    options = connection.python_options()
    options |= {"request_timeout_ms": ANSWER_MS, "bootstrap_timeout_ms": ANSWER_MS, "reconnect_backoff_max_ms": 1_000}
    sasl = connection.security.sasl
    if sasl is not None and sasl.mechanism is Mechanism.OAUTHBEARER:
        options["sasl_oauth_token_provider"] = ClientCredentials(sasl, connection.security.tls)
    return options


def admin_client(connection: KafkaConnection) -> KafkaAdminClient:
    """
    A connected client for questions.

    Raises:
        SourceUnavailableError: no broker answers.
        SourceError: the cluster refuses us.
    """
    with _connecting(connection) as options:
        return KafkaAdminClient(**options)


def consumer(connection: KafkaConnection) -> KafkaConsumer:
    """A reader of committed records that belongs to no group and makes no topics."""
    with _connecting(connection) as options:
        return KafkaConsumer(
            **options,
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            metrics_enabled=False,
        )


def producing_client(connection: KafkaConnection, **options: Any) -> KafkaProducer:
    """
    A sender that waits for all in-sync replicas and makes no topics.

    Args:
        connection: of the cluster.
        options: more of kafka-python's.
    """
    with _connecting(connection) as reached:
        return KafkaProducer(**reached, acks="all", allow_auto_create_topics=False, metrics_enabled=False, **options)


@contextmanager
def _connecting(connection: KafkaConnection) -> Iterator[dict[str, Any]]:
    """
    Options to make one client with.

    A client of kafka-python that can not be made leaves a thread behind that goes on trying, with its sockets. So the
    part of it that has them is ended here.
    """
    made: list[KafkaNetClient] = []

    def net_client(**options: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**options))
        return made[-1]

    try:
        with translating(f'connecting to Kafka at "{connection.brokers}"'):
            yield client_options(connection) | {"kafka_client": net_client}
    except BaseException:
        for client in made:
            client.close()
        raise


def partition(part: Part) -> TopicPartition:
    """As kafka-python wants it."""
    return TopicPartition(*part)
