"""A producer: after a flush without an error, all in-sync replicas have the records."""

import time
from collections.abc import Sequence

import kafka
from kafka.errors import KafkaError
from kafka.producer.future import FutureRecordMetadata

from ingest.api import IngestError, SourceUnavailableError
from ingest.kafka.clients import ANSWER_MS, producing_client
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection

MAX_REQUEST_BYTES = 32 * 1024 * 1024  # below a broker's limit of 100 MiB, which also holds for requests of many records
_BATCH_BYTES = 128 * 1024
_LINGER_MS = 10  # fills batches, and adds little to a flush
_DELIVERY_MS = 2 * ANSWER_MS  # a request that times out, and one retry
_FLUSH_TIMEOUT_S = (_DELIVERY_MS + ANSWER_MS) / 1000
_CLOSE_S = 5.0


class KafkaProducer:
    """
    A producer whose records are durable after `flush`.

    Used by one thread. Connects at the first `send`, and again at the first one after a failure. After a failure the
    caller sends all records since the last flush again, so the topic may have some twice.
    """

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._client: kafka.KafkaProducer | None = None
        self._sent: list[tuple[str, FutureRecordMetadata]] = []
        self._lost: IngestError | None = None  # the error of records that were lost with an earlier connection

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """
        Queue a record for sending; without a partition the key determines it.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            NotFoundError: there is no such topic.
            IngestError: this record cannot be sent, code `record_too_large` or `bad_record`; others stay queued.
        """
        client = self._connected()
        try:
            with translating(f'sending to topic "{topic}"'):
                answer = client.send(
                    topic,
                    value=value,
                    key=key,
                    headers=list(headers),
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                )
        except (ValueError, TypeError, AssertionError) as error:  # also names that are not UTF-8
            raise IngestError(f'record cannot be sent to topic "{topic}": {error}', code="bad_record") from error
        except SourceUnavailableError as error:
            if self._sent:
                self._lost = error
            self._abandon()
            raise
        self._sent.append((topic, answer))

    def flush(self) -> None:
        """
        Wait until every record since the last flush is durable.

        Raises:
            SourceUnavailableError: the outcome of one of them is unknown; send them all again.
            IngestError: one of them was rejected, for instance as too large; others may be durable.
        """
        sent, self._sent = self._sent, []
        lost, self._lost = self._lost, None
        deadline_s = time.monotonic() + _FLUSH_TIMEOUT_S
        for topic, answer in sent:
            try:
                # not the client's own flush, which fails if it splits a batch that is too large for the topic
                with translating(f'sending to topic "{topic}"'):
                    answer.get(timeout=max(0.0, deadline_s - time.monotonic()))
            except IngestError:
                self._abandon()
                raise
        if lost is not None:
            raise lost

    def close(self) -> None:
        """Close the connection; records that were not flushed may be lost. A later `send` would connect again."""
        client, self._client = self._client, None
        self._sent = []
        if client is not None:
            with translating("closing the producer"):
                client.close(timeout=_CLOSE_S)

    def _connected(self) -> kafka.KafkaProducer:
        if self._client is None:
            self._client = producing_client(
                self._connection,
                batch_size=_BATCH_BYTES,
                delivery_timeout_ms=_DELIVERY_MS,
                linger_ms=_LINGER_MS,
                max_block_ms=ANSWER_MS,
                max_request_size=MAX_REQUEST_BYTES,
            )
        return self._client

    def _abandon(self) -> None:
        """Close a connection that failed, with all its requests in flight."""
        client, self._client = self._client, None
        self._sent = []
        if client is not None:
            give_up(client)


def give_up(client: kafka.KafkaProducer, timeout_s: float = 0.0) -> None:
    """Close a client of kafka-python; records that it has not sent after `timeout_s` are dropped."""
    try:
        client.close(timeout=timeout_s)
    except KafkaError:  # not all records were sent, as expected; but the sender thread keeps running
        client._sender.force_close()  # noqa: SLF001 - no public method stops the thread
