"""Time from producing an event until it can be read in HBase, at a fraction of the full rate."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.bench.hbase import NATIVE, PRODUCTS, HBaseRungs
from tests.bench.ready_made import ReadyMade, batch
from tests.bench.rungs import LONG_LIVED
from tests.bench.workload import FAMILY, PIPELINE, TABLE, Workload
from tests.support.servers import HBase, Kafka
from tests.support.service import Service

LOADS = (0.1, 0.5, 0.8)
"""Fractions of the full rate of the same protocol."""
RUNGS = ("hbase", NATIVE)
WARM_S, SETTLE_S, MEASURED_S = 40.0, 10.0, 30.0
WARM_UP_LOAD = 0.2
"""Fraction of the rate during the warm-up, so that no backlog remains for the measurement."""
TICK_S = 0.02
DIFFERENT_TICKS = 50
"""Number of prepared ticks, which are sent repeatedly."""
PROBE_S = 0.05
"""Interval of the events that are measured."""
POLL_S = 0.01
"""Interval of reads until an event is found; each read takes a millisecond of CPU."""
LOST_S = 60.0


class Latency(NamedTuple):
    """
    Latency at one rate.

    Attributes:
        per_s: events produced per second.
        probes: number of measured events.
        p50_s, p90_s, p99_s, worst_s: time from produced to readable.
    """

    per_s: float
    probes: int
    p50_s: float
    p90_s: float
    p99_s: float
    worst_s: float


def load_name(rate: float, rung: str = "hbase") -> str:
    """Name of a load in results: 0.5 is `50 %`, or `50 %, native RPC`."""
    return f"{rate:.0%}".replace("%", " %") + (", native RPC" if rung == NATIVE else "")


def measured(
    kafka: Kafka, hbase: HBase, rungs: HBaseRungs, rung: str, rate: float, folder: Path, partitions: int
) -> Latency:
    """Produce at a constant rate and measure events after the warm-up."""
    topic = kafka.create_topic("latency", partitions=partitions)
    rungs.empty_table()
    folder.mkdir(parents=True)
    with Service(folder, rungs.content(Workload(), topic, **PRODUCTS[rung][1])) as service:
        service.start(env=LONG_LIVED)
        service.wait_for_state("running", PIPELINE)
        probes = _Probes(hbase)
        try:
            _produce(kafka, topic, rate, partitions, probes)
        finally:
            waits = probes.finish()
        service.stop()
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return Latency(rate, len(waits), cuts[49], cuts[89], cuts[98], max(waits))


def _produce(kafka: Kafka, topic: str, rate: float, partitions: int, probes: "_Probes") -> None:
    """Send a batch to each partition at every tick; every PROBE_S the last event of a tick is measured."""
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
                probes.expect(f"{topic}:{last}:{offsets[last] + a_batch - 1}".encode(), now)
                next_probe = now + PROBE_S
            due += tick_s / (WARM_UP_LOAD if now - started < WARM_S else 1)
            time.sleep(max(0.0, due - time.monotonic()))


def _events_of_a_batch(rate: float, partitions: int) -> int:
    return max(1, round(rate * TICK_S / partitions))


def _ticks(rate: float, partitions: int) -> Iterator[dict[int, bytes]]:
    a_batch = _events_of_a_batch(rate, partitions)
    lines = Workload().lines(a_batch * partitions * DIFFERENT_TICKS)
    for _ in range(DIFFERENT_TICKS):
        yield {number: batch((None, line) for line in islice(lines, a_batch)) for number in range(partitions)}


class _Probes:
    """Polls HBase for events, oldest first, in a thread of its own."""

    def __init__(self, hbase: HBase) -> None:
        self._hbase = hbase
        self._waiting: deque[tuple[bytes, float]] = deque()
        self._waits: list[float] = []
        self._is_over = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def expect(self, row: bytes, produced_s: float) -> None:
        """Add a row to wait for."""
        self._waiting.append((row, produced_s))

    def finish(self) -> list[float]:
        """Wait until all rows were found; returns the seconds that each took."""
        self._is_over.set()
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._waits

    def _look(self) -> None:
        try:
            while not self._waiting and not self._is_over.is_set():
                time.sleep(TICK_S)  # connect late: the server closes a connection that is idle for a minute
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
                        time.sleep(POLL_S)
        except BaseException as error:  # noqa: BLE001 - raised by finish
            self._failed = error
