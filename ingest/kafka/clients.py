"""How clients of kafka-python are made: safely connected, and never waiting for long."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.net.compat import KafkaNetClient

from ingest.api import SourceError, SourceUnavailableError
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection, Mechanism, TlsSettings
from ingest.kafka.tokens import ClientCredentials

ANSWER_MS = 5_000  # patience for one answer; a working broker needs milliseconds, a frozen one must not hold a service

_log_of_connections = logging.getLogger("kafka.net.manager")

Part = tuple[str, int]
"""Topic and partition."""


def client_options(connection: KafkaConnection) -> dict[str, Any]:
    """
    Options of every client; they hold secrets.

    Raises:
        SourceError: certificates or the key can not be used.
    """
    options = connection.python_options()
    options |= {"request_timeout_ms": ANSWER_MS, "bootstrap_timeout_ms": ANSWER_MS, "reconnect_backoff_max_ms": 1_000}
    if connection.security.tls is not None:
        # made here, so that files that can not be used are an error at once instead of tries without an end
        options = {name: value for name, value in options.items() if not name.startswith("ssl_")}
        options["ssl_context"] = _tls(connection.security.tls)
    sasl = connection.security.sasl
    if sasl is not None and sasl.mechanism is Mechanism.OAUTHBEARER:
        options["sasl_oauth_token_provider"] = ClientCredentials(sasl, connection.security.tls)
    return options


def _tls(tls: TlsSettings) -> ssl.SSLContext:
    """Checks the certificate and the name of the other side, always."""
    password = None if tls.key_password is None else tls.key_password.get_secret_value()
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.key_file is not None:
            # without a password it would be asked for at the terminal
            context.load_cert_chain(tls.key_file, password=password or "")
    except OSError as error:
        files = " or ".join(f'"{path}"' for path in (tls.ca_file, tls.key_file) if path is not None)
        raise SourceError(f"{files} can not be used: {error}", hint="check security: {tls: …}") from error
    return context


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
    heard = _LastReason()

    def net_client(**options: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**options))
        return made[-1]

    _log_of_connections.addHandler(heard)
    try:
        with translating(f'connecting to Kafka at "{connection.brokers}"'):
            yield client_options(connection) | {"kafka_client": net_client}
    except BaseException as error:
        for client in made:
            client.close()
        if isinstance(error, SourceUnavailableError) and heard.text:
            raise SourceUnavailableError(f"{error.message} ({heard.text})") from error
        raise
    finally:
        _log_of_connections.removeHandler(heard)


class _LastReason(logging.Handler):
    """Why connections fail: kafka-python tells it to its log alone, and raises that time is up."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if str(record.msg).startswith("Bootstrap connection") and isinstance(record.args, tuple):
            self.text = str(record.args[1])


def partition(part: Part) -> TopicPartition:
    """As kafka-python wants it."""
    return TopicPartition(*part)
