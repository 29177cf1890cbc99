"""The maximum rate of a pipeline that reads a real broker."""

from itertools import pairwise
from pathlib import Path

from ingest.spark.streaming.batch_log import BatchLog
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service

RATE = 100  # records per second
CLOCKS_MS = 50  # between the wall clock of batch times and the monotonic one of the rate


def test_backlog_is_read_at_the_maximum_rate_until_a_reload_raises_it(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic("limited", partitions=2)
    kafka.produce(topic, [str(number) for number in range(5 * RATE)])
    pipeline = {
        "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": unique("group")}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{body}"}},
            {"value": {"attribute": "2hb_f:q", "value": "x"}},
        ],
        "sinks": [{"attr2hbase": {"table": "t"}}],
        "max_rate": RATE,
    }
    content = {"stores": {"rows": {"rocksdb": {"path": str(tmp_path / "store")}}}, "pipelines": {"p": pipeline}}
    log = BatchLog(tmp_path / "service" / "data" / "state" / "batches" / "p")
    with Service(tmp_path / "service", content) as service:
        service.start()
        service.wait_for(lambda: service.metric("ingest_events_stored_total", pipeline="p") == 5 * RATE, "all", 120)
        limited = list(log.batches())
        content["pipelines"]["p"]["max_rate"] = 1_000 * RATE
        service.write(content)
        service.post("/reload")
        service.wait_for(lambda: service.reload_phase() == "done", "reloaded")
        kafka.produce(topic, [str(number) for number in range(5 * RATE, 20 * RATE)])
        service.wait_for(lambda: service.metric("ingest_events_stored_total", pipeline="p") == 20 * RATE, "all again")
        assert service.stop() == 0, service.last_lines()
    sizes = [sum(end - begin for begin, end in batch.ranges.values()) for batch in limited]
    assert sum(sizes) == 5 * RATE
    assert max(sizes) <= 2 * RATE
    for (before, after), size in zip(pairwise(limited), sizes, strict=False):
        assert after.time_ms - before.time_ms >= 1000 * size / RATE - CLOCKS_MS
    later = [batch.ranges for batch in log.batches()][len(limited) :]
    assert max(sum(end - begin for begin, end in ranges.values()) for ranges in later) > 2 * RATE
