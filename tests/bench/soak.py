"""A soak test at full rate: memory, rate and lag over time."""

import threading
import time
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.bench.ready_made import ReadyMade, batch
from tests.bench.rungs import LONG_LIVED
from tests.bench.workload import PIPELINE, Workload
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service

SAMPLE_S = 10.0
SETTLED_S = 600.0
"""Duration of the warm-up, during which memory may grow."""
DIFFERENT, A_BATCH = 200_000, 1_000
"""Number of prepared events, and of events in a batch for a partition."""
AHEAD = 400_000
"""Maximum number of produced events that are not stored: two micro-batches, so that one can always be read."""


class Moment(NamedTuple):
    """
    A sample.

    Attributes:
        second: since the start.
        stored: number of events stored so far.
        lag: number of events produced and not stored.
        driver_mib, jvm_mib, workers_mib: resident memory.
    """

    second: float
    stored: int
    lag: int
    driver_mib: float
    jvm_mib: float
    workers_mib: float


def run(kafka: Kafka, folder: Path, minutes: float, partitions: int) -> list[Moment]:
    """Run the service with a producer slightly ahead of it, and take samples."""
    topic = kafka.create_topic("soak", partitions=partitions, config={"retention.bytes": str(512 << 20)})
    store = {"rocksdb": {"path": "./store"}}
    content = Workload(row="%{key}").content(brokers=kafka.brokers, topic=topic, group=unique("soak"), store=store)
    folder.mkdir(parents=True)
    produced, stored = [0], [0]
    over = threading.Event()
    producer = threading.Thread(target=_produce, args=(kafka, topic, partitions, produced, stored, over), daemon=True)
    seen: list[Moment] = []
    with Service(folder, content) as service:
        service.start(env=LONG_LIVED)
        service.wait_for_state("running", PIPELINE)
        started = time.monotonic()
        producer.start()
        while (second := time.monotonic() - started) < minutes * 60 and service.is_running:
            stored[0] = int(service.metric("attr2hbase_events_stored_total"))
            if not seen or second - seen[-1].second >= SAMPLE_S:
                seen.append(Moment(second, stored[0], produced[0] - stored[0], *_memory(service)))
            time.sleep(0.5)
        over.set()
        producer.join()
        if not service.is_running:
            raise RuntimeError(f"the service ended after {seen[-1].second:.0f} s: {service.last_lines()}")
        service.stop()
    return seen


def summary(seen: list[Moment]) -> dict[str, Any]:
    """Rate, and relative growth of memory after the warm-up; None if the run was too short."""
    settled = [moment for moment in seen if moment.second >= SETTLED_S]
    first, last = seen[0], seen[-1]
    rate = (last.stored - first.stored) / (last.second - first.second)
    growth = None
    if len(settled) >= 12:  # two minutes
        early, late = settled[: len(settled) // 4], settled[-(len(settled) // 4) :]
        growth = _mean(late) / _mean(early) - 1
    return {"per_s": rate, "memory_growth": growth, "seconds": last.second, "moments": [list(each) for each in seen]}


def _mean(moments: list[Moment]) -> float:
    return sum(each.driver_mib + each.jvm_mib + each.workers_mib for each in moments) / len(moments)


def _memory(service: Service) -> tuple[float, float, float]:
    jvm, workers = service.jvm(), service.workers()
    return _mib([psutil.Process(service.pid)]), _mib([] if jvm is None else [jvm]), _mib(workers)


def _mib(processes: list[psutil.Process]) -> float:
    memory = 0
    for process in processes:
        try:
            memory += process.memory_info().rss
        except psutil.Error:
            continue
    return memory / 2**20


def _produce(
    kafka: Kafka, topic: str, partitions: int, produced: list[int], stored: list[int], over: threading.Event
) -> None:
    """Send the same events repeatedly, so that row keys repeat and the store does not grow."""
    records = ((b"%07d" % number, line) for number, line in enumerate(Workload().lines(DIFFERENT)))
    made = [batch(islice(records, A_BATCH)) for _ in range(DIFFERENT // A_BATCH)]
    number = 0
    with ReadyMade(kafka.server.port, topic) as producer:
        while not over.is_set():
            if produced[0] - stored[0] >= AHEAD:
                time.sleep(0.05)
                continue
            producer.send({partition: made[(number + partition) % len(made)] for partition in range(partitions)})
            number += partitions
            produced[0] += A_BATCH * partitions
