"""From the moment an event is produced until it can be read in HBase, at a share of the full rate."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.bench.hbase import HBaseRungs
from tests.bench.ready_made import ReadyMade, batch
from tests.bench.rungs import LONG_LIVED
from tests.bench.workload import FAMILY, PIPELINE, TABLE, Workload
from tests.support.servers import HBase, Kafka
from tests.support.service import Service

SHARES = (0.1, 0.5, 0.8)
WARM_S, SETTLE_S, MEASURED_S = 40.0, 10.0, 30.0
WARM_RATE_SHARE = 0.2
"""Of the rate, while the service becomes warm: what it could not do then would still wait when it is measured."""
TICK_S = 0.02
DIFFERENT_TICKS = 50
"""Made before, and sent again and again."""
PROBE_S = 0.05
"""Every so often one event is looked for."""
LOOK_S = 0.01
"""And as often asked for until it is there; each question takes a millisecond of the CPU that the service needs."""
LOST_S = 60.0


class Latency(NamedTuple):
    """
    What was seen.

    Attributes:
        per_s: events produced a second.
        probes: events that were looked for.
        p50_s, p90_s, p99_s, worst_s: from produced to readable.
    """

    per_s: float
    probes: int
    p50_s: float
    p90_s: float
    p99_s: float
    worst_s: float


def share_of(rate: float) -> str:
    """A share as it is called in results: 0.5 is `50 %`."""
    return f"{rate:.0%}".replace("%", " %")


def measured(kafka: Kafka, hbase: HBase, rungs: HBaseRungs, rate: float, folder: Path, partitions: int) -> Latency:
    """Produce at a steady rate into an idle pipeline and look for events, once it is warm."""
    topic = kafka.create_topic("latency", partitions=partitions)
    rungs.empty_table()
    folder.mkdir(parents=True)
    with Service(folder, rungs.content(Workload(), topic)) as service:
        service.start(env=LONG_LIVED)
        service.wait_for_state("running", PIPELINE)
        watch = _Probes(hbase)
        try:
            _produce(kafka, topic, rate, partitions, watch)
        finally:
            waits = watch.finish()
        service.stop()
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return Latency(rate, len(waits), cuts[49], cuts[89], cuts[98], max(waits))


def _produce(kafka: Kafka, topic: str, rate: float, partitions: int, watch: "_Probes") -> None:
    """At every tick a batch for each partition; the last event of a tick is a probe, now and then."""
    made = list(_ticks(rate, partitions))
    a_batch = _events_of_a_batch(rate, partitions)
    tick_s = a_batch * partitions / rate
    due = started = time.monotonic()
    next_probe = started + WARM_S + SETTLE_S
    number = 0
    with ReadyMade(kafka.server.port, topic) as producer:
        while (now := time.monotonic()) - started < WARM_S + SETTLE_S + MEASURED_S:
            offsets = producer.send(made[number % len(made)])
            number += 1
            if now >= next_probe:
                last = partitions - 1
                watch.expect(f"{topic}:{last}:{offsets[last] + a_batch - 1}".encode(), now)
                next_probe = now + PROBE_S
            due += tick_s / (WARM_RATE_SHARE if now - started < WARM_S else 1)
            time.sleep(max(0.0, due - time.monotonic()))


def _events_of_a_batch(rate: float, partitions: int) -> int:
    return max(1, round(rate * TICK_S / partitions))


def _ticks(rate: float, partitions: int) -> Iterator[dict[int, bytes]]:
    a_batch = _events_of_a_batch(rate, partitions)
    lines = Workload().lines(a_batch * partitions * DIFFERENT_TICKS)
    for _ in range(DIFFERENT_TICKS):
        yield {number: batch((None, line) for line in islice(lines, a_batch)) for number in range(partitions)}


class _Probes:
    """Asks HBase for events until they are there, oldest first, on a thread of its own."""

    def __init__(self, hbase: HBase) -> None:
        self._hbase = hbase
        self._waiting: deque[tuple[bytes, float]] = deque()
        self._waits: list[float] = []
        self._is_over = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def expect(self, row: bytes, produced_s: float) -> None:
        """Look for a row."""
        self._waiting.append((row, produced_s))

    def finish(self) -> list[float]:
        """Seconds that each row took, once all were seen."""
        self._is_over.set()
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._waits

    def _look(self) -> None:
        try:
            while not self._waiting and not self._is_over.is_set():
                time.sleep(TICK_S)  # a connection that is silent for a minute is closed by the server
            with self._hbase.connection() as connection:
                table = connection.table(TABLE)
                while self._waiting or not self._is_over.is_set():
                    if not self._waiting:
                        time.sleep(0.002)
                        continue
                    row, produced_s = self._waiting[0]
                    found = table.row(row, columns=[f"{FAMILY}:ip"])
                    waited = time.monotonic() - produced_s
                    if found:
                        self._waits.append(waited)
                        self._waiting.popleft()
                    elif waited > LOST_S:
                        raise RuntimeError(f"row {row!r} did not appear within {LOST_S:.0f} s")  # noqa: TRY301 - as any
                    else:
                        time.sleep(LOOK_S)
        except BaseException as error:  # noqa: BLE001 - raised by finish
            self._failed = error
