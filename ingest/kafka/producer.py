"""A producer: after a flush without an error, all in-sync replicas have the records."""

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import kafka
from kafka.errors import InvalidTimestampError, KafkaError
from kafka.partitioner.default import murmur2

from ingest.api import IngestError, SourceUnavailableError
from ingest.kafka.clients import ANSWER_MS, is_named, producing_client, sending_at_once, unsent
from ingest.kafka.errors import OF_A_RECORD, BadRecordError, translated, translating
from ingest.kafka.settings import Compression, KafkaConnection
from ingest.kafka.stored import NO_TIME

MAX_REQUEST_BYTES = 32 * 1024 * 1024  # below a broker's limit of 100 MiB, which also holds for requests of many records
_BATCH_BYTES = 128 * 1024
_LINGER_MS = 10  # fills batches, and adds little to a flush
_GROUP_LINGER_MS = 60_000  # longer than it takes to hand a group over, whose end sends it
_WINDOW_BYTES = 1024 * 1024  # not acknowledged at one time; lost with a connection, so a slow link sends them again
_STALLED_S = 3 * ANSWER_MS / 1000
_WATCH_S = 0.5
_RETRIES = 100  # of an answer that is an error, 0.1 s apart: about as long, but then the answer is the reason
_CLOSE_S = 5.0
_RECORD_BYTES = 100  # of a record beside key, value and headers, rounded up
_MESSAGE_CHARS = 200  # of a key in a message


@dataclass(eq=False, slots=True)
class SentRecord:
    """
    A record that a producer has taken.

    Attributes:
        is_durable: whether all in-sync replicas have it; false if that is unknown.
        time_refused: the broker's words if it was sent again without a time, because the broker refused that of this
            machine's clock; else "".
        about: what the caller knows it by.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    partition: int | None
    timestamp_ms: int | None
    partition_hash: int | None = None
    is_durable: bool = False
    time_refused: str = ""
    answer: Any = None
    about: Any = None

    @property
    def size(self) -> int:
        """Bytes that it takes in a request, about."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers + _RECORD_BYTES

    @property
    def name(self) -> str:
        """For messages."""
        if self.key is None:
            return "a record without a key"
        key = self.key.decode("utf-8", "backslashreplace")
        return f'the record with key "{key[:_MESSAGE_CHARS]}{"…" if len(key) > _MESSAGE_CHARS else ""}"'


class KafkaProducer:
    """
    A producer whose records are durable after `flush`.

    Used by one thread. Connects at the first `send`, and again at the first one after a failure. After a failure the
    caller sends the records again that are not durable, so the topic may have some twice. A slow link is no failure:
    only if for 15 s no record is acknowledged and no byte leaves this machine, the cluster counts as unavailable.

    Args:
        connection: to the cluster.
        compression: of the batches.
        on_refused: called with each record that the broker has refused, and why, in `send` and `flush`; the records
            after it are sent. None: the first such record is the error of the call.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        compression: Compression = Compression.NONE,
        on_refused: Callable[[SentRecord, IngestError], None] | None = None,
    ) -> None:
        self._connection = connection
        self._compression = compression
        self._on_refused = on_refused
        self._client: kafka.KafkaProducer | None = None
        self._pending: deque[SentRecord] = deque()
        self._pending_bytes = 0
        self._lost: IngestError | None = None  # the error of a `send` with which earlier records were lost
        self._time_refused = ""  # by the broker, since the last flush

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        partition_key: bytes | int | None = None,
    ) -> SentRecord:
        """
        Queue a record for sending, once few enough of the earlier ones are not acknowledged yet.

        Args:
            topic: its name.
            key: determines the partition if nothing else does.
            value: None for a tombstone.
            headers: name and value of each; kafka-python refuses those without a value.
            partition: number of the partition, or None.
            timestamp_ms: None for now, or for no time at all if the broker refuses that of this machine's clock;
                `NO_TIME` for none.
            partition_key: determines the partition as a `key` would, or is the hash of such a key, and is not sent;
                None for `key`.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            NotFoundError: there is no such topic.
            IngestError: this record cannot be sent, code `record_too_large` or `bad_record`; others stay queued. Or an
                earlier one was rejected, as in `flush`.
        """
        hash_ = _hash_of_key(partition_key) if isinstance(partition_key, bytes) else partition_key
        record = SentRecord(topic, key, value, headers, partition, timestamp_ms, hash_)
        try:
            self._wait_for_sent(_WINDOW_BYTES - record.size)
        except IngestError as error:
            self._lost = error
            raise
        try:
            self._hand_over(record)
        except (ValueError, TypeError, AssertionError) as error:  # also names that are not UTF-8
            raise BadRecordError(f'record cannot be sent to topic "{topic}": {error}') from error
        except SourceUnavailableError as error:
            if self._pending:
                self._lost = error
            self._abandon()
            raise
        self._pending.append(record)
        self._pending_bytes += record.size
        return record

    def flush(self) -> None:
        """
        Wait until every record since the last flush is durable.

        Raises:
            SourceUnavailableError: the outcome of one of them is unknown.
            IngestError: one of them was rejected; code `record_too_large`, `record_time_refused` or `bad_record`, with
                its key in the message.
        """
        lost, self._lost = self._lost, None
        self._wait_for_sent(0)
        self._time_refused = ""
        if lost is not None:
            raise lost

    def discard(self) -> None:
        """Forget the records that were not flushed, which may be in the topic or not."""
        self._abandon()
        self._lost = None

    def close(self) -> None:
        """Close the connection; records that were not flushed may be lost. A later `send` would connect again."""
        self._abandon(_CLOSE_S)

    def _wait_for_sent(self, most_bytes: int) -> None:
        """As `_wait`; an exception of the client is about all records that it has, not about the caller's."""
        try:
            self._wait(most_bytes)
        except IngestError:
            raise
        except Exception as bug:
            self._abandon()
            raise SourceUnavailableError(f"the Kafka client has failed: {type(bug).__name__}: {bug}") from bug

    def _wait(self, most_bytes: int) -> None:
        """Wait until at most this many bytes are not acknowledged; at last until none are."""
        while self._pending and self._pending_bytes > most_bytes:
            oldest = self._pending[0]
            error = self._outcome(oldest)
            if error is None:
                self._settle()
            elif _may_be_of_another(error):
                self._send_divided()
            else:
                self._abandon()
                raise translated(error, f'sending to topic "{oldest.topic}"') from error

    def _settle(self) -> None:
        """Forget the oldest records up to the first one that is not acknowledged."""
        while self._pending and _is_acknowledged(self._pending[0]):
            record = self._pending.popleft()
            record.is_durable = True
            self._pending_bytes -= record.size

    def _send_divided(self) -> None:
        """
        Send the records that are not acknowledged again, in ever smaller groups, until the refused ones are alone.

        An error of a broker is about a batch: its other records fail too, and with kafka-python also batches of other
        partitions. Alone, each gets its own answer. The client has no idempotence: with it kafka-python fails the
        records after a refused one as well. A broker names the records whose content or time it refuses (since Kafka
        2.4), so that however many these are, they are known at once.
        """
        left = self._abandon()
        # without `on_refused` none is sent after the first refused one, so each is sent alone
        groups = [[record] for record in reversed(left)] if self._on_refused is None else _halves(left)
        try:
            while groups:
                group = groups.pop()
                error = self._error_of(group)
                if error is not None and len(group) > 1 and _may_be_of_another(error):
                    groups += self._settle_named([record for record in group if not record.is_durable])
                elif error is not None:
                    self._settle_failed(group[0], error)
        finally:
            self._abandon()

    def _settle_named(self, failed: list[SentRecord]) -> list[list[SentRecord]]:
        """Tell the records of a group that the broker has named, and return groups of the others to send again."""
        others = []
        for record in failed:
            error = record.answer.exception
            if is_named(error):
                self._settle_failed(record, error)
            else:
                others.append(record)
        return _halves(others) if len(others) == len(failed) else [others] if others else []

    def _settle_failed(self, record: SentRecord, error: KafkaError) -> None:
        """Tell that a record is refused, or raise the error: also if it is of no record."""
        if isinstance(error, InvalidTimestampError) and record.timestamp_ms is None:
            self._time_refused = str(error)
            second = self._error_of([record])
            if second is None:
                return
            error = second
        of_record = isinstance(error, OF_A_RECORD)
        refusal = translated(error, f'sending {record.name if of_record else "records"} to topic "{record.topic}"')
        if not of_record or self._on_refused is None:
            raise refusal from error
        self._on_refused(record, refusal)

    def _error_of(self, group: Sequence[SentRecord]) -> KafkaError | None:
        """An error of records that are sent while no others are; first one that is of no record."""
        for record in group:
            self._hand_over(record, in_group=True)
        errors = []
        with sending_at_once(self._client):
            for record in group:
                error = self._outcome(record)
                record.is_durable = error is None
                if error is not None:
                    errors.append(error)
        return next((error for error in errors if not _may_be_of_another(error)), errors[0] if errors else None)

    def _hand_over(self, record: SentRecord, *, in_group: bool = False) -> None:
        time_ms = record.timestamp_ms
        if time_ms is None and self._time_refused:
            time_ms, record.time_refused = NO_TIME, self._time_refused
        with translating(f'sending to topic "{record.topic}"'):
            client, partition = self._connected(in_group=in_group), record.partition
            if partition is None and record.partition_hash is not None:
                partition = record.partition_hash % len(client.partitions_for(record.topic))  # numbered from 0
            record.answer = client.send(
                record.topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                partition=partition,
                timestamp_ms=time_ms,
            )

    def _outcome(self, record: SentRecord) -> KafkaError | None:
        """
        The error of a record that was handed over; None once it is durable.

        Raises:
            SourceUnavailableError: there was no progress for too long.
        """
        left, moved_s = unsent(self._client), time.monotonic()
        while True:
            with suppress(KafkaError):
                # not the client's own flush, which fails if it splits a batch that is too large for the topic
                record.answer.get(timeout=_WATCH_S)
            if record.answer.is_done:
                error: KafkaError | None = record.answer.exception
                return error
            before, left = left, unsent(self._client)
            if any(left.get(connection, size) < size for connection, size in before.items()):
                moved_s = time.monotonic()
            if time.monotonic() - moved_s > _STALLED_S:
                self._abandon()
                raise SourceUnavailableError(
                    f'sending to topic "{record.topic}" failed: no progress for {_STALLED_S:g} s',
                    hint="are all brokers of the cluster running?",
                )

    def _connected(self, *, in_group: bool) -> kafka.KafkaProducer:
        if self._client is None:
            self._client = producing_client(
                self._connection,
                batch_size=_BATCH_BYTES,
                linger_ms=_GROUP_LINGER_MS if in_group else _LINGER_MS,
                enable_idempotence=not in_group,
                max_block_ms=ANSWER_MS,
                max_request_size=MAX_REQUEST_BYTES,
                retries=_RETRIES,
                compression_type=None if self._compression is Compression.NONE else self._compression.value,
            )
        return self._client

    def _abandon(self, timeout_s: float = 0.0) -> list[SentRecord]:
        """Close the connection once all records are sent, or after the timeout; return those whose fate is unknown."""
        client, self._client = self._client, None
        if client is not None:
            give_up(client, timeout_s)
        pending, self._pending, self._pending_bytes = self._pending, deque(), 0
        for record in pending:
            record.is_durable = _is_acknowledged(record)
        return [record for record in pending if not record.is_durable]


def partition_of_key(key: bytes, partitions: Collection[int]) -> int:
    """The partition to which Kafka's clients send a record with a key."""
    return _hash_of_key(key) % len(partitions)


def _hash_of_key(key: bytes) -> int:
    """Not negative, as in Kafka's clients."""
    positive: int = murmur2(key) & 0x7FFFFFFF
    return positive


def _halves(records: list[SentRecord]) -> list[list[SentRecord]]:
    """Both halves that have records, the first one last."""
    middle = len(records) // 2
    return [half for half in (records[middle:], records[:middle]) if half]


def _is_acknowledged(record: SentRecord) -> bool:
    return bool(record.answer.succeeded())


def _may_be_of_another(error: KafkaError) -> bool:
    """Whether an error tells that a record is at fault, perhaps another one; kafka-python has no class for that."""
    return isinstance(error, OF_A_RECORD) or type(error) is KafkaError


def give_up(client: kafka.KafkaProducer, timeout_s: float = 0.0) -> None:
    """Close a client of kafka-python; records that it has not sent after `timeout_s` are dropped."""
    try:
        client.close(timeout=timeout_s)
    except KafkaError:  # not all records were sent, as expected; but the sender thread keeps running
        client._sender.force_close()  # noqa: SLF001 - no public method stops the thread
        client._closed = True  # noqa: SLF001 - else its finalizer waits for these records again, and prints an error
