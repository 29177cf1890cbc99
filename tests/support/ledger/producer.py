"""The ledger: a file with the status of each sent event, ok, fail, or info for unknown."""

import contextlib
import os
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from kafka import KafkaProducer
from kafka.errors import InvalidTopicError, KafkaError, MessageSizeTooLargeError, RecordListTooLargeError
from kafka.net.compat import KafkaNetClient

from ingest.kafka.producer import give_up
from tests.support.ledger.events import Events

ANSWER_FIELDS = 7
CHUNK = 2_000  # events in one batch of sends
NEVER_WRITTEN = (MessageSizeTooLargeError, RecordListTooLargeError, InvalidTopicError)
TIMEOUT_S = 120.0  # to wait for a broker


class Status(StrEnum):
    """The response of the broker."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Entry(NamedTuple):
    """One event in the ledger; partition and offset are -1 unless the status is ok."""

    producer: int
    number: int
    topic: str
    partition: int
    offset: int
    hash: bytes
    status: Status


class LedgerFile:
    """
    Appends and syncs lines: `sending P FIRST LAST` before events are sent, then a line for each response.

    The status of an event without a response is unknown.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: Iterable[str]) -> None:
        """Append lines and sync the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> list[Entry]:
        """All sent events; several responses for an event are several entries."""
        found: list[Entry] = []
        sending: list[tuple[int, range]] = []
        answered: dict[int, set[int]] = {}
        for fields in self._lines():
            if fields[0] == "sending":
                sending.append((int(fields[1]), range(int(fields[2]), int(fields[3]) + 1)))
            elif len(fields) == ANSWER_FIELDS:  # the last line of a killed producer may be incomplete
                status, producer, number, topic, partition, offset, text = fields
                entry = Entry(
                    int(producer),
                    int(number),
                    sys.intern(topic),
                    int(partition),
                    int(offset),
                    text.encode(),
                    Status(status),
                )
                answered.setdefault(entry.producer, set()).add(entry.number)
                found.append(entry)
        for whose, numbers in sending:
            known = answered.setdefault(whose, set())
            unknown = [number for number in numbers if number not in known]
            known.update(unknown)
            found += [Entry(whose, number, "", -1, -1, b"", Status.INFO) for number in unknown]
        return found

    def _lines(self) -> Iterator[list[str]]:
        if self.path.exists():
            with self.path.open() as file:
                for line in file:
                    yield line.rstrip("\n").split("\t")


class Places:
    """Positions of the events in the topic."""

    def __init__(self, file: LedgerFile) -> None:
        self._offsets: dict[int, list[int]] = {}
        for entry in file.entries():
            if entry.status is Status.OK:
                self._offsets.setdefault(entry.partition, []).append(entry.offset)
        for offsets in self._offsets.values():
            offsets.sort()
        self.count = sum(map(len, self._offsets.values()))

    def fraction(self, acknowledged: Mapping[int, int]) -> float:
        """The fraction of them that is below these offsets."""
        done = sum(bisect_left(offsets, acknowledged.get(part, 0)) for part, offsets in self._offsets.items())
        return done / self.count if self.count else 1.0


class Producer:
    """
    Sends events in order, and resumes after an outage of the broker.

    Args:
        brokers: may be changed between calls.
        partitions: number of partitions of the topic; may be changed between calls.
        producer: its number in the events.
    """

    def __init__(
        self, brokers: str, topic: str, events: Events, file: LedgerFile, *, partitions: int, producer: int = 0
    ) -> None:
        self.brokers = brokers
        self.partitions = partitions
        self.sent = 0
        self._topic = topic
        self._events = events
        self._file = file
        self._producer = producer
        self._client: KafkaProducer | None = None
        self._lock = threading.Lock()

    def produce(self, count: int, *, rate: float | None = None, stop: threading.Event | None = None) -> int:
        """Send `count` more events until `stop` is set; returns the number of sent events."""
        with self._lock:
            first, started = self.sent, time.monotonic()
            while (left := first + count - self.sent) > 0 and not (stop is not None and stop.is_set()):
                size = min(left, CHUNK if rate is None else max(1, int(rate / 20)))
                if not self._send(self.sent, size, stop):
                    break
                self.sent += size
                if rate is not None:
                    ahead_s = (self.sent - first) / rate - (time.monotonic() - started)
                    (stop or threading.Event()).wait(max(0.0, ahead_s))
            return self.sent - first

    def again(self, first: int, last: int) -> None:
        """Send events a second time, like a producer whose acknowledgement was lost."""
        with self._lock:
            self._send(first, last - first + 1, None)

    @contextlib.contextmanager
    def in_background(self, rate: float) -> Iterator[None]:
        """Send events in a thread until the block ends."""
        stop = threading.Event()
        raised: list[BaseException] = []

        def run() -> None:
            try:
                while not stop.is_set():
                    self.produce(10**9, rate=rate, stop=stop)
            except BaseException as error:  # noqa: BLE001 - raised again where the block ends
                raised.append(error)

        thread = threading.Thread(target=run, name="ledger-producer")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        if raised:
            raise raised[0]

    def close(self) -> None:
        """Close the connection to the broker."""
        client, self._client = self._client, None
        if client is not None:
            give_up(client, 1.0)

    def _send(self, first: int, size: int, stop: threading.Event | None) -> bool:
        client = self._connected(stop)
        if client is None:
            return False
        self._file.append([f"sending\t{self._producer}\t{first}\t{first + size - 1}"])
        waiting = []
        for number in range(first, first + size):
            event = self._events.event(self._producer, number)
            partition = self._events.partition(number, self.partitions)
            try:
                future = client.send(
                    self._topic, value=event.body, key=event.key, headers=list(event.headers), partition=partition
                )
            except KafkaError:
                future = None  # it was not sent
            waiting.append((event, future))
        with contextlib.suppress(KafkaError):
            client.flush(timeout=30)
        lines = []
        whole = True
        for event, future in waiting:
            status, partition, offset = Status.FAIL, -1, -1
            if future is not None:
                try:
                    metadata = future.get(timeout=0)
                    status, partition, offset = Status.OK, metadata.partition, metadata.offset
                except NEVER_WRITTEN:
                    pass
                except KafkaError:
                    status = Status.INFO
            whole &= status is Status.OK
            text = event.hash.decode()
            lines.append(f"{status}\t{self._producer}\t{event.number}\t{self._topic}\t{partition}\t{offset}\t{text}")
        self._file.append(lines)
        if not whole:
            self.close()  # buffered events must not be written after they were recorded as unknown
        return True

    def _connected(self, stop: threading.Event | None) -> KafkaProducer | None:
        end = time.monotonic() + TIMEOUT_S
        made: list[KafkaNetClient] = []

        def net_client(**options: Any) -> KafkaNetClient:
            made.append(KafkaNetClient(**options))
            return made[-1]

        while self._client is None:
            try:
                self._client = KafkaProducer(
                    bootstrap_servers=self.brokers,
                    acks="all",
                    linger_ms=5,
                    batch_size=512 * 1024,
                    max_request_size=16 * 1024 * 1024,
                    request_timeout_ms=5_000,
                    delivery_timeout_ms=15_000,
                    max_block_ms=10_000,
                    bootstrap_timeout_ms=2_000,
                    kafka_client=net_client,
                )
            except KafkaError:
                made.pop().close()  # else it keeps retrying
                if time.monotonic() > end:
                    raise
                if (stop or threading.Event()).wait(0.2):
                    return None
        return self._client
