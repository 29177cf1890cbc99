"""Time from producing an event until it can be read in HBase, at the same rates by attr2hbase and by Flume."""

import re
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.bench.hbase import FLUME_FILE, FLUME_MEMORY, NATIVE, PRODUCTS, THRIFT, HBaseRungs
from tests.bench.ready_made import ReadyMade, batch
from tests.bench.rungs import LONG_LIVED
from tests.bench.workload import FAMILY, PATTERN, PIPELINE, TABLE, Workload
from tests.support.servers import HBase, Kafka
from tests.support.service import Service

LOADS = (0.5, 0.8)
"""Fractions of one rate: the full rate of attr2hbase with HBase's native RPC in the same run."""
RUNGS = (NATIVE, FLUME_FILE, FLUME_MEMORY)
THRIFT_RUNGS = (THRIFT,)
WARM_UP, SETTLING = 4 / 3, 1 / 3
"""Of the measured time, before it."""
WARM_UP_LOAD = 0.2
"""Fraction of the rate during the warm-up, so that no backlog remains for the measurement."""
TICK_S = 0.02
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


class Tick(NamedTuple):
    """
    What is sent at once.

    Attributes:
        batches: partition -> record batch.
        path: of the last line of the last partition; no other line has it.
    """

    batches: dict[int, bytes]
    path: bytes


def load_name(rate: float, rung: str = THRIFT) -> str:
    """Name of a load in results: 0.5 is `50 %`, or `50 %, native RPC`, or `50 %, flume file channel`."""
    called = "" if rung == THRIFT else ", native RPC" if rung == NATIVE else f", {rung}"
    return f"{rate:.0%}".replace("%", " %") + called


def ticks(rate: float, partitions: int, measured_s: float) -> list[Tick]:
    """All that is sent during a measurement; no line occurs twice, so that Flume's rows are as many as events."""
    a_batch = _events_of_a_batch(rate, partitions)
    tick_s = a_batch * partitions / rate
    count = int(measured_s * (WARM_UP * WARM_UP_LOAD + SETTLING + 1) / tick_s) + 2
    lines = Workload().lines(a_batch * partitions * count)
    path_of = re.compile(PATTERN.encode()).match
    found = []
    for _ in range(count):
        batches = {}
        for number in range(partitions):
            made = list(islice(lines, a_batch))
            batches[number] = batch((None, line) for line in made)
        parts = path_of(made[-1])
        assert parts is not None
        found.append(Tick(batches, parts[6]))
    return found


def measured(
    kafka: Kafka, hbase: HBase, rungs: HBaseRungs, rung: str, rate: float, made: Sequence[Tick], *, folder: Path,
    measured_s: float,
) -> Latency:  # fmt: skip
    """
    Produce at a constant rate and measure events after the warm-up.

    Args:
        rung: one of `RUNGS` or `THRIFT_RUNGS`.
        rate: events a second.
        made: what to send, of `ticks` with this rate.
    """
    partitions = len(made[0].batches)
    topic = kafka.create_topic("latency", partitions=partitions)
    rungs.empty_table()
    folder.mkdir(parents=True)
    with _running(rungs, rung, topic, folder):
        probes = _Probes(hbase)
        try:
            for tick, offset, sent_s in _sent(kafka, topic, rate, made, measured_s):
                row = f"{topic}:{partitions - 1}:{offset}".encode() if rung in PRODUCTS else tick.path
                probes.expect(row, sent_s)
        finally:
            waits = probes.finish()
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return Latency(rate, len(waits), cuts[49], cuts[89], cuts[98], max(waits))


@contextmanager
def _running(rungs: HBaseRungs, rung: str, topic: str, folder: Path) -> Iterator[None]:
    """Run attr2hbase or a peer."""
    if rung not in PRODUCTS:
        with rungs.peer(rung, folder, topic, keyed=True).running():
            yield
        return
    with Service(folder, rungs.content(Workload(), topic, **PRODUCTS[rung][1])) as service:
        service.start(env=LONG_LIVED)
        service.wait_for_state("running", PIPELINE)
        yield
        service.stop()


def _sent(
    kafka: Kafka, topic: str, rate: float, made: Sequence[Tick], measured_s: float
) -> Iterator[tuple[Tick, int, float]]:
    """Send the ticks; every PROBE_S after the warm-up a tick, the offset of its last event, and the time."""
    partitions = len(made[0].batches)
    a_batch = _events_of_a_batch(rate, partitions)
    tick_s = a_batch * partitions / rate
    due = started = time.monotonic()
    warm_s = measured_s * WARM_UP
    next_probe = started + warm_s + measured_s * SETTLING
    with ReadyMade(kafka.server.port, topic) as producer:
        for tick in made:
            now = time.monotonic()
            offsets = producer.send(tick.batches)
            if now >= next_probe:
                yield tick, offsets[partitions - 1] + a_batch - 1, now
                next_probe = now + PROBE_S
            due += tick_s / (WARM_UP_LOAD if now - started < warm_s else 1)
            time.sleep(max(0.0, due - time.monotonic()))


def _events_of_a_batch(rate: float, partitions: int) -> int:
    return max(1, round(rate * TICK_S / partitions))


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
