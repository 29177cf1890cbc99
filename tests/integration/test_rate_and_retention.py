"""The maximum rate of a pipeline, and Kafka's retention while another one is paused, with a real broker."""

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from ingest.service.pauses import Pauses
from ingest.spark.streaming.batch_log import BatchLog
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service

RATE = 100  # records per second
FIRST = 3 * RATE
CLOCKS_MS = 50  # between the wall clock of batch times and the monotonic one of the rate
HOUR_MS = 3_600_000


def pipeline(kafka: Kafka, topic: str, **options: object) -> dict[str, Any]:
    return {
        "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": unique("group")}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{body}"}},
            {"value": {"attribute": "2hb_f:q", "value": "x"}},
        ],
        "sinks": [{"attr2hbase": {"table": "t"}}],
        **options,
    }


def test_rate_of_a_running_pipeline_and_retention_of_a_paused_one(kafka: Kafka, tmp_path: Path) -> None:
    limited = kafka.create_topic("limited", partitions=2)
    kafka.produce(limited, [str(number) for number in range(FIRST)])
    held = kafka.create_topic("held", config={"retention.ms": str(HOUR_MS)})
    old_ms = int(time.time() * 1000) - HOUR_MS * 3 // 4
    kafka.produce(held, [Given(b"1", timestamp_ms=old_ms)] * 5)
    content = {
        "stores": {"rows": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "pipelines": {"limited": pipeline(kafka, limited, max_rate=RATE), "held": pipeline(kafka, held)},
    }
    state = tmp_path / "service" / "data" / "state"
    acknowledge(state / "checkpoints" / "held", 0, {held: {0: 4}})
    (state / "checkpoints" / "held" / "metadata").write_text('{"id": "00000000-0000-0000-0000-000000000000"}')
    Pauses(state).set("held")
    log = BatchLog(state / "batches" / "limited")

    with Service(tmp_path / "service", content) as service:

        def stored() -> float:
            return service.metric("attr2hbase_events_stored_total", pipeline="limited")

        service.start()
        service.wait_for(lambda: stored() == FIRST, "all records", 120)
        batches = list(log.batches())

        # the paused pipeline has read all but one record, which is 45 minutes old
        used = service.metric("attr2hbase_retention_used_ratio", pipeline="held", topic=held, partition="0")
        assert used in (0.75, 0.76)
        shown = service.command("status", "--output", "json").stdout.splitlines()
        status = {each["name"]: each for each in map(json.loads, shown)}
        assert (status["held"]["state"], status["held"]["retention"]["used"]) == ("paused", used)
        assert 0 < status["held"]["retention"]["partitions"][0]["remaining_s"] <= 900
        assert (status["limited"]["max_rate"], status["limited"]["throttle"]["ratio"]) == (RATE, 1.0)
        warnings = [line for line in service.lines() if line["message"] == "unread records near Kafka's retention"]
        assert [(line["pipeline"], line["level"]) for line in warnings] == [("held", "warning")]

        # a reload applies another rate
        content["pipelines"]["limited"]["max_rate"] = 1_000 * RATE
        service.write(content)
        service.post("/reload")
        service.wait_for(lambda: service.reload_phase() == "done", "reloaded")
        kafka.produce(limited, [str(number) for number in range(FIRST, 20 * RATE)])
        service.wait_for(lambda: stored() == 20 * RATE, "all new records")
        assert service.stop() == 0, service.last_lines()

    sizes = [sum(end - begin for begin, end in batch.ranges.values()) for batch in batches]
    assert sum(sizes) == FIRST
    assert max(sizes) <= 2 * RATE
    for (before, after), size in zip(pairwise(batches), sizes, strict=False):
        assert after.time_ms - before.time_ms >= 1000 * size / RATE - CLOCKS_MS
    later = [batch.ranges for batch in log.batches()][len(batches) :]
    assert max(sum(end - begin for begin, end in ranges.values()) for ranges in later) > 2 * RATE
