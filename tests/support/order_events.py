"""Events of orders: each sets a cell of a row, or deletes the row; all events of a row are in one partition."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice

from tests.support.servers import Given, Kafka

PARTITIONS = 4
DELETED = 0.05  # of the events
_CHUNK = 20_000


def order_key(row: int) -> bytes:
    """The key of the events of a row, and of the row."""
    return b"order-%08d" % (row * 7_919 % 100_000_000)


class OrderEvents:
    """
    A topic with events of orders.

    Args:
        rows: number of rows for which `all_rows` has an event.
        rate: events a second in the background.

    Attributes:
        topic: its name.
    """

    def __init__(self, kafka: Kafka, *, rows: int, rate: int, seed: int) -> None:
        self.topic = kafka.create_topic("orders", partitions=PARTITIONS)
        self._kafka = kafka
        self._rows = rows
        self._rate = rate
        self._random = random.Random(seed)

    @property
    def ends(self) -> dict[int, int]:
        """Partition -> the offset after its last event."""
        return self._kafka.ends(self.topic)

    def all_rows(self) -> None:
        """An event for each row."""
        rows = iter(range(self._rows))
        while found := list(islice(rows, _CHUNK)):
            self._kafka.produce(self.topic, (self._event(row, deletes=False) for row in found))

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Events of random rows, until the end of the block."""
        ended = threading.Event()

        def produce() -> None:
            while not ended.is_set():
                started_s = time.monotonic()
                rows = (self._random.randrange(self._rows + self._rows // 10) for _ in range(self._rate))
                self._kafka.produce(self.topic, [self._event(row, deletes=True) for row in rows])
                ended.wait(max(0.0, started_s + 1 - time.monotonic()))

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(produce)
            try:
                yield
            finally:
                ended.set()
                future.result()

    def newest(self) -> dict[bytes, bytes]:
        """Row key -> the value of its newest event, of the rows that it does not delete."""
        found = {record.key: record.value for record in self._kafka.records(self.topic)}
        return {row: value for row, value in found.items() if row is not None and value is not None}

    def _event(self, row: int, *, deletes: bool) -> Given:
        key = order_key(row)
        is_delete = deletes and self._random.random() < DELETED
        value = None if is_delete else b"%d:%d" % (self._random.randrange(10**6), row)
        return Given(value, key=key, partition=row % PARTITIONS, timestamp_ms=time.time_ns() // 1_000_000)
