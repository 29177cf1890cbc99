"""A replay by a running service, with real servers."""

import json
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ingest.reference.readable import moment
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support import ticks
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

NOON_MS = 1_763_899_200_000
HOUR_MS = 3_600_000
KEPT = {"keep": "10000d"}
LIVE, OLD = "live", "old"
EVENTS = 1_200_000
WINDOW_S = 6.0


def with_lost_batches(service: Service, pipeline: str, topic: str, ends: Sequence[int]) -> None:
    """Acknowledge batches of a pipeline, by their ends in each of two partitions, whose rows no store has."""
    checkpoint = service.checkpoint(pipeline)
    with closing(BatchLog(service.folder / "data" / "state" / "batches" / pipeline)) as log:
        for number, (begin, end) in enumerate(pairwise([0, *ends])):
            acknowledge(checkpoint.folder, number, {topic: {0: end, 1: end}})
            checkpoint.set_time(number, NOON_MS + 2 * number)
            log.append(LoggedBatch(number, NOON_MS + 2 * number, {(topic, part): (begin, end) for part in (0, 1)}))
    (checkpoint.folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))


def test_replay_by_a_running_service_restores_lost_rows_beside_new_ones(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 600, partitions=2)
    store = tmp_path / "store"
    content = {
        "stores": {"embedded": ticks.rocksdb(store)},
        "tables": {"t": ticks.table("embedded")},
        "pipelines": {
            "ticks": ticks.pipeline(kafka, made.topic, "embedded", "t", group=unique("group"), replay=KEPT),
        },
    }
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, "ticks", made.topic, [100, 300])
        service.start()
        service.wait_for_state("running", "ticks")
        made = made.more(kafka, 400)

        times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + HOUR_MS))
        done = service.ingest("replay", *times, "--output", "json", timeout_s=300.0)
        assert done.returncode == 0, done.stderr + service.last_lines()
        totals = json.loads(done.stdout)
        service.wait_for_offsets(made.ends, "ticks", made.topic)
        assert totals["read"] == totals["stored"] >= 600
        expected = made.expected(service.checkpoint("ticks"), "t")
        service.wait_for(lambda: service.metric("ingest_duties_ended_total", duty="replay", state="done") == 1, "ended")
        [duty] = json.loads(service.get("/duties")[1])["duties"]
        assert (duty["state"], duty["subject"], duty["done"]) == ("done", "ticks", duty["total"])
        assert duty["result"] == totals
        assert service.stop() == 0, service.last_lines()
    assert_same_table(table_of(expected, "t", versions=10), rocksdb_table(store, "t"))


def stored(service: Service) -> float:
    return service.metric("ingest_events_stored_total", pipeline=LIVE)


def rate(service: Service, seconds: float) -> float:
    """Events per second of the live pipeline, from the end of one batch to the end of another."""

    def edge() -> tuple[float, float]:
        before = stored(service)
        service.wait_for(lambda: stored(service) > before, "a batch", 120)
        return time.monotonic(), stored(service)

    begin_s, begin = edge()
    time.sleep(seconds)
    end_s, end = edge()
    assert end < EVENTS, "all events were read during the measurement; use more"
    return (end - begin) / (end_s - begin_s)


@pytest.mark.slow
def test_pipeline_keeps_half_of_its_rate_beside_a_duty(kafka: Kafka, tmp_path: Path) -> None:
    live, old = Ticks.produced(kafka, EVENTS, partitions=4), Ticks.produced(kafka, 400_000, partitions=2)
    content = {
        "stores": {"embedded": ticks.rocksdb(tmp_path / "store")},
        "tables": {name: ticks.table("embedded") for name in (LIVE, OLD)},
        "pipelines": {
            name: ticks.pipeline(
                kafka, made.topic, "embedded", name, group=unique("group"), max_events_per_batch=20_000, replay=KEPT
            )
            for name, made in ((LIVE, live), (OLD, old))
        },
    }
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, OLD, old.topic, range(10_000, 200_001, 10_000))
        service.start()
        service.wait_for(lambda: stored(service) >= EVENTS / 20, "warm", 300)
        alone = [rate(service, WINDOW_S)]
        request = {"start": moment(ticks.FIRST_MS), "end": moment(ticks.FIRST_MS + HOUR_MS)}
        status, text = service.post(f"/pipelines/{OLD}/replay", json.dumps(request).encode())
        assert status == 202, text
        duty = json.loads(text)["id"]

        def about() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(service.get(f"/duties/{duty}")[1])
            return found

        service.wait_for(lambda: about()["done"] >= 1, "a replayed batch", 120)
        beside = rate(service, WINDOW_S)
        assert about()["state"] == "running", "the duty was too short"
        service.post(f"/duties/{duty}/cancel")
        service.wait_for(lambda: about()["state"] == "cancelled", "cancelled")
        alone.append(rate(service, WINDOW_S))

        # a stop does not wait for a duty, and leaves a replay that can be resumed
        assert service.post(f"/pipelines/{OLD}/replay", json.dumps(request).encode())[0] == 202
        service.wait_for(lambda: service.metric("ingest_duties", duty="replay", state="running") == 1, "running again")
        assert service.stop() == 0, service.last_lines()
    assert [each.suffix for each in (service.folder / "data" / "state" / "replays" / OLD).iterdir()].count(".plan") == 1
    assert beside >= sum(alone) / len(alone) / 2, (alone, beside)
