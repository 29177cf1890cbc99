"""Clients of kafka-python, with secure connections and short timeouts."""

import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaError
from kafka.net.compat import KafkaNetClient
from kafka.protocol.producer import ProduceRequest

from ingest.api import SourceUnavailableError, TopicPartition
from ingest.kafka.compression import enable_zstd
from ingest.kafka.decompression import read_all_codecs
from ingest.kafka.errors import timed_out, translating, unreachable
from ingest.kafka.settings import Compression, KafkaConnection, Mechanism
from ingest.kafka.tls import CompleteSocket, tls_context
from ingest.kafka.tokens import ClientCredentials
from ingest.server_kinds import KAFKA, server_instead

ANSWER_MS = 5_000  # timeout of a request; a working broker needs milliseconds, a frozen one must not block a service
_TIMEOUT_MS = 3_600_000
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    # small, so that what the kernel takes is soon sent: up to 4 MB would hide for minutes that a slow link works
    (socket.SOL_SOCKET, socket.SO_SNDBUF, 128 * 1024),
    # what is unsent when a producer is given up would arrive later, after the same records of another producer
    (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
]

_log_of_connections = logging.getLogger("kafka.net.manager")


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
        options["ssl_context"].sslsocket_class = CompleteSocket
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


def consumer(connection: KafkaConnection, *, out_of_range: Literal["earliest", "none"] = "earliest") -> KafkaConsumer:
    """
    A consumer of committed records in any codec, without a group, that creates no topics.

    Args:
        connection: of the cluster.
        out_of_range: where it continues if the next record is gone; with "none" that is an error.
    """
    read_all_codecs()
    with _connecting(connection) as options:
        return KafkaConsumer(
            **options,
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            auto_offset_reset=out_of_range,
            isolation_level="read_committed",
            metrics_enabled=False,
        )


def producing_client(connection: KafkaConnection, **options: Any) -> KafkaProducer:
    """
    A producer that waits for all in-sync replicas and creates no topics.

    Its own timeouts count from the beginning of a batch, whatever has been sent of it since, so they are too long to
    matter. The caller watches `unsent` and gives up.

    Args:
        connection: of the cluster.
        options: further options of kafka-python.
    """
    if options.get("compression_type") == Compression.ZSTD.value:
        read_all_codecs()  # a producer reads a batch that is too large for the topic, to divide it
        enable_zstd()
    with _connecting(connection, _ProducingNetClient) as common:
        client = KafkaProducer(
            **common,
            acks="all",
            allow_auto_create_topics=False,
            delivery_timeout_ms=_TIMEOUT_MS,
            metrics_enabled=False,
            socket_options=_SOCKET_OPTIONS,
            **options,
        )
    sender = client._sender  # noqa: SLF001 - no public method tells which records the broker has named
    sender._record_exceptions_fn = partial(_errors_of_records, sender._record_exceptions_fn)  # noqa: SLF001
    return client


def _errors_of_records(
    original: Callable[..., Callable[[int], KafkaError]],
    refusal: KafkaError,
    named: Sequence[tuple[int, str | None]] | None,
    message: str | None,
) -> Callable[[int], KafkaError]:
    """
    As the function of kafka-python, but a record that the broker has named among others has the error of its batch.

    kafka-python makes an InvalidRecordError of it, also if the broker refuses its time.
    """
    error_of, words = original(refusal, named, message), dict(named or ())

    def error_of_record(at: int) -> KafkaError:
        if at not in words:
            return error_of(at)
        error = type(refusal)(words[at] or message or refusal.description)
        error.is_named = True
        return error

    return error_of_record


def is_named(error: KafkaError) -> bool:
    """Whether the broker has told that this record is at fault, and not another one of its batch."""
    return getattr(error, "is_named", False)


@contextmanager
def sending_at_once(client: KafkaProducer) -> Iterator[None]:
    """
    Send what a producer has taken, without its `linger_ms`, in the block.

    Its own `flush` fails if the client divides a batch that is too large for the topic.
    """
    client._accumulator.begin_flush()  # noqa: SLF001 - no public method
    client._sender.wakeup()  # noqa: SLF001
    try:
        yield
    finally:
        client._accumulator._flushes_in_progress.decrement()  # noqa: SLF001


def unsent(client: KafkaProducer) -> dict[int, int]:
    """Connection of a producer -> bytes of its requests that this machine's kernel has not taken yet."""
    connections = list(client._sender._client._manager._conns.values())  # noqa: SLF001 - no public method tells it
    transports = [connection.transport for connection in connections]
    return {id(each): sum(map(len, list(each._write_buffer))) for each in transports if each is not None}  # noqa: SLF001


class _ProducingNetClient(KafkaNetClient):  # type: ignore[misc]  # kafka-python has no types
    """Gives a request with records as much time as it takes."""

    def send(self, node_id: Any, request: Any, **options: Any) -> Any:
        if isinstance(request, ProduceRequest):
            return self._manager.send(request, node_id=node_id, request_timeout_ms=_TIMEOUT_MS)
        return super().send(node_id, request, **options)


@contextmanager
def _connecting(
    connection: KafkaConnection, net_class: type[KafkaNetClient] = KafkaNetClient
) -> Iterator[dict[str, Any]]:
    """
    Options to create one client with.

    If the constructor of a client of kafka-python fails, it leaves a thread behind that keeps retrying, with its
    sockets. So the network client inside it is closed here.
    """
    created: list[KafkaNetClient] = []
    last_failure = _LastFailure(created)

    def net_client(**options: Any) -> KafkaNetClient:
        created.append(net_class(**options))
        return created[-1]

    _log_of_connections.addHandler(last_failure)
    try:
        with translating(f'connecting to Kafka at "{connection.brokers}"'):
            yield client_options(connection) | {"kafka_client": net_client}
    except BaseException as error:
        for client in created:
            client.close()
        if isinstance(error, SourceUnavailableError):
            # a timeout of kafka-python says nothing: the reason is that of the last attempt
            is_timeout = timed_out(error.__cause__)
            message = f'no broker at "{connection.brokers}" accepts connections' if is_timeout else error.message
            raise unreachable(message, last_failure.error, partial(_server_instead, connection)) from error
        raise
    finally:
        _log_of_connections.removeHandler(last_failure)


def _server_instead(connection: KafkaConnection) -> str | None:
    addresses = (broker.rpartition(":") for broker in connection.broker_list)
    return server_instead(KAFKA, [(host.strip("[]"), int(port)) for host, _, port in addresses])


class _LastFailure(logging.Handler):
    """Why a connection failed at last: kafka-python only logs it, and raises a timeout."""

    def __init__(self, clients: Sequence[KafkaNetClient]) -> None:
        super().__init__(logging.WARNING)
        self._clients = clients
        self._caller = threading.current_thread()
        self.error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        # clients of other pipelines write to the same log; a client connects in its own thread, or in the caller's
        threads = [client._net._io_thread for client in self._clients]  # noqa: SLF001 - the log does not name the client
        if threading.current_thread() not in (self._caller, *threads):
            return
        if str(record.msg).startswith("Bootstrap connection") and isinstance(record.args, tuple):
            reason = record.args[1]
            # the last attempt may end with the time of all attempts, which is no reason
            if isinstance(reason, BaseException) and not (self.error and timed_out(reason)):
                self.error = reason


def partition(part: TopicPartition) -> KafkaTopicPartition:
    """The partition as a value of kafka-python."""
    return KafkaTopicPartition(*part)
