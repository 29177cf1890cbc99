"""The rate of a pipeline into RocksDB beside a replay by the same service, relative to its rate alone."""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from ingest.formats.times import moment
from tests.bench.rungs import LONG_LIVED
from tests.support import ticks
from tests.support.lost_batches import with_lost_batches
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

LIVE, OLD = "live", "old"
EVENTS, OLD_EVENTS = 1_200_000, 400_000
MAX_EVENTS_PER_BATCH = 20_000
WINDOW_S = 6.0
HOUR_MS = 3_600_000


class Rates(NamedTuple):
    """Events per second of the pipeline."""

    alone_per_s: float
    beside_per_s: float


def run(kafka: Kafka, folder: Path) -> Rates:
    """
    Measure the rate before, beside and after a replay of another pipeline with one of two task slots.

    Raises:
        RuntimeError: the pipeline had read everything, or the replay had ended, before the end of the measurement.
    """
    live, old = Ticks.produced(kafka, EVENTS), Ticks.produced(kafka, OLD_EVENTS, partitions=2)
    with Service(folder / "service", _content(kafka, folder, {LIVE: live.topic, OLD: old.topic})) as service:
        step = MAX_EVENTS_PER_BATCH // 2
        with_lost_batches(service, OLD, old.topic, range(step, OLD_EVENTS // 2 + 1, step))
        service.start(env=LONG_LIVED)
        service.wait_for(lambda: _stored(service) >= EVENTS / 20, "warm", 300)
        before = _rate(service)
        request = {"pipeline": OLD, "from": moment(ticks.FIRST_MS), "to": moment(ticks.FIRST_MS + HOUR_MS)}
        _, text = service.post("/jobs/replay", json.dumps(request).encode())
        job_id = json.loads(text)["id"]
        service.wait_for(lambda: _job(service, job_id)["done"] >= 1, "a replayed batch", 120)
        beside = _rate(service)
        if _job(service, job_id)["state"] != "running":
            raise RuntimeError("the replay was too short; choose more events")
        service.post(f"/jobs/{job_id}/cancel")
        service.wait_for(lambda: _job(service, job_id)["state"] == "cancelled", "cancelled")
        return Rates((before + _rate(service)) / 2, beside)


def _content(kafka: Kafka, folder: Path, topics: dict[str, str]) -> dict[str, Any]:
    return {
        "stores": {"embedded": ticks.rocksdb(folder / "store")},
        "tables": {name: ticks.table("embedded") for name in topics},
        "pipelines": {
            name: ticks.pipeline(
                kafka,
                topic,
                "embedded",
                name,
                group=unique("group"),
                max_events_per_batch=MAX_EVENTS_PER_BATCH,
                replay={"keep": "10000d"},
            )
            for name, topic in topics.items()
        },
    }


def _job(service: Service, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(service.get(f"/jobs/{job_id}")[1])
    return found


def _stored(service: Service) -> float:
    return service.metric("attr2hbase_events_stored_total", pipeline=LIVE)


def _rate(service: Service) -> float:
    """The rate over `WINDOW_S`, from the end of one batch to the end of another."""

    def edge() -> tuple[float, float]:
        before = _stored(service)
        service.wait_for(lambda: _stored(service) > before, "a batch", 120)
        return time.monotonic(), _stored(service)

    begin_s, begin = edge()
    time.sleep(WINDOW_S)
    end_s, end = edge()
    if end >= EVENTS:
        raise RuntimeError("all events were read during the measurement; choose more")
    return (end - begin) / (end_s - begin_s)
