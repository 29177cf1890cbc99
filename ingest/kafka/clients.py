"""Clients of kafka-python, with secure connections and short timeouts."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.net.compat import KafkaNetClient

from ingest.api import SourceUnavailableError
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection, Mechanism
from ingest.kafka.tls import tls_context
from ingest.kafka.tokens import ClientCredentials

ANSWER_MS = 5_000  # timeout of a request; a working broker needs milliseconds, a frozen one must not block a service

_log_of_connections = logging.getLogger("kafka.net.manager")
_IS_IT_THERE = "is a Kafka broker running there, and does `security` match its listener?"

Part = tuple[str, int]
"""Topic and partition."""


def client_options(connection: KafkaConnection) -> dict[str, Any]:
    """
    Options of every client; they contain secrets.

    Raises:
        SourceError: certificates or the key cannot be used.
    """
    options = connection.python_options()
    options |= {"request_timeout_ms": ANSWER_MS, "bootstrap_timeout_ms": ANSWER_MS, "reconnect_backoff_max_ms": 1_000}
    if connection.security.tls is not None:
        # created here, so that files that cannot be used are an error at once instead of endless retries
        options = {name: value for name, value in options.items() if not name.startswith("ssl_")}
        options["ssl_context"] = tls_context(connection.security.tls)
    sasl = connection.security.sasl
    if sasl is not None and sasl.mechanism is Mechanism.OAUTHBEARER:
        options["sasl_oauth_token_provider"] = ClientCredentials(sasl, connection.security.tls)
    return options


def admin_client(connection: KafkaConnection) -> KafkaAdminClient:
    """
    A connected admin client.

    Raises:
        SourceUnavailableError: no broker answers.
        SourceError: the cluster denies access.
    """
    with _connecting(connection) as options:
        return KafkaAdminClient(**options)


def consumer(connection: KafkaConnection) -> KafkaConsumer:
    """A consumer of committed records, without a group, that creates no topics."""
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
    A producer that waits for all in-sync replicas and creates no topics.

    Args:
        connection: of the cluster.
        options: further options of kafka-python.
    """
    with _connecting(connection) as common:
        return KafkaProducer(**common, acks="all", allow_auto_create_topics=False, metrics_enabled=False, **options)


@contextmanager
def _connecting(connection: KafkaConnection) -> Iterator[dict[str, Any]]:
    """
    Options to create one client with.

    If the constructor of a client of kafka-python fails, it leaves a thread behind that keeps retrying, with its
    sockets. So the network client inside it is closed here.
    """
    created: list[KafkaNetClient] = []
    last_failure = _LastFailure()

    def net_client(**options: Any) -> KafkaNetClient:
        created.append(KafkaNetClient(**options))
        return created[-1]

    _log_of_connections.addHandler(last_failure)
    try:
        with translating(f'connecting to Kafka at "{connection.brokers}"'):
            yield client_options(connection) | {"kafka_client": net_client}
    except BaseException as error:
        for client in created:
            client.close()
        if isinstance(error, SourceUnavailableError):
            reason = f" ({last_failure.text})" if last_failure.text else ""
            raise SourceUnavailableError(f"{error.message}{reason}", hint=_IS_IT_THERE) from error
        raise
    finally:
        _log_of_connections.removeHandler(last_failure)


class _LastFailure(logging.Handler):
    """The last reason why a connection failed: kafka-python only logs it, and raises a timeout."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if str(record.msg).startswith("Bootstrap connection") and isinstance(record.args, tuple):
            self.text = str(record.args[1])


def partition(part: Part) -> TopicPartition:
    """The partition as a value of kafka-python."""
    return TopicPartition(*part)
