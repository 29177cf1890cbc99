"""How clients of kafka-python are made: safely connected, and never waiting for long."""

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

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
    with translating(f'connecting to Kafka at "{connection.brokers}"'):
        return KafkaAdminClient(**client_options(connection))


def consumer(connection: KafkaConnection) -> KafkaConsumer:
    """A reader of committed records that belongs to no group and makes no topics."""
    with translating(f'connecting to Kafka at "{connection.brokers}"'):
        return KafkaConsumer(
            **client_options(connection),
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            metrics_enabled=False,
        )


def partition(part: Part) -> TopicPartition:
    """As kafka-python wants it."""
    return TopicPartition(*part)
