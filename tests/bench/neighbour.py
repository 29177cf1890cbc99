"""A pipeline into RocksDB, alone and in a service with another pipeline whose Thrift server is frozen."""

from pathlib import Path
from typing import Any

from tests.bench.rungs import LONG_LIVED
from tests.bench.watching import Sample, follow, processes_of
from tests.bench.workload import FAMILY, PIPELINE, STORE, TABLE, Workload
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import Service

ALONE, BESIDE = "rocksdb, alone", "rocksdb, beside a frozen Thrift server"
NEIGHBOURS = (ALONE, BESIDE)
BLOCKED = "blocked"
"""The pipeline of the frozen server."""
ROWS = 10_000
TIMEOUT = "2s"
"""Of calls to the frozen server: a short one, so that many calls wait during the run."""


def run(rung: str, folder: Path, content: dict[str, Any], events: int, *, kafka: Kafka, hbase: HBase) -> Sample:
    """
    Run one of `NEIGHBOURS` until all events of the topic are stored.

    The other pipeline is blocked before the measured half begins.

    Args:
        content: a pipeline file into RocksDB.

    Raises:
        RuntimeError: the other pipeline was not blocked during all of the measured half.
    """
    with Service(folder, content if rung == ALONE else with_blocked(content, kafka, hbase)) as service:
        service.start(env=LONG_LIVED)
        if rung == BESIDE:
            service.wait_for_batches(1, BLOCKED)
            hbase.pause("thrift")
            kafka.produce(content["pipelines"][BLOCKED]["source"]["kafka"]["topics"][0], Workload().lines(ROWS))
            service.wait_for_state("blocked", BLOCKED)
        try:
            if _stored(service) > events / 2:
                raise RuntimeError("the measured half began too early; choose more events")
            sample = follow(
                events,
                lambda: _stored(service),
                its=service.processes,
                servers=processes_of(kafka.server.process),  # a frozen JVM cannot list its threads
                runs=lambda: service.is_running,
            )
            if rung == BESIDE and service.states()[BLOCKED] != "blocked":
                raise RuntimeError("the other pipeline was not blocked at the end")
            return sample
        finally:
            if rung == BESIDE:
                hbase.resume("thrift")


def _stored(service: Service) -> int:
    return int(service.metric("attr2hbase_events_stored_total", pipeline=PIPELINE))


def with_blocked(content: dict[str, Any], kafka: Kafka, hbase: HBase) -> dict[str, Any]:
    """Add the pipeline that will be blocked, with its table, store and topic of some lines."""
    topic, table = kafka.create_topic("frozen", partitions=2), hbase.create_table("frozen", families=[FAMILY])
    kafka.produce(topic, Workload().lines(ROWS))
    store = {"hbase": {"host": hbase.host, "port": hbase.port, "timeout": TIMEOUT}}
    other = Workload(sink={"store": "cluster", "table": table}).content(
        brokers=kafka.brokers, topic=topic, group=unique("frozen"), store=store
    )
    content["stores"]["cluster"] = store
    content["tables"][TABLE]["store"] = STORE
    content["pipelines"][BLOCKED] = other["pipelines"][PIPELINE]
    content["pipelines"][PIPELINE]["sinks"][0]["attr2hbase"]["store"] = STORE
    return content
