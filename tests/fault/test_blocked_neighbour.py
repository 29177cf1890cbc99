"""A blocked pipeline holds no task slot while its store is frozen."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.proxy import Proxy
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service

ROWS = 2_000


@pytest.fixture
def proxy(hbase: HBase, protocol: Protocol) -> Iterator[Proxy]:
    with hbase.proxy(protocol) as target:
        yield target


@pytest.mark.slow
def test_pipeline_of_a_frozen_store_holds_no_task_slot(
    kafka: Kafka, hbase: HBase, protocol: Protocol, proxy: Proxy, tmp_path: Path
) -> None:
    table = hbase.create_table("frozen", families=["f"])
    topics = {name: kafka.create_topic(name, partitions=2) for name in ("frozen", "free")}
    keyed = [{"value": {"attribute": "2hb_", "value": "%{body}"}}, {"value": {"attribute": "2hb_f:q", "value": "v"}}]
    options = hbase.store_options(protocol, port=proxy.port)
    stores = {"cluster": {"hbase": options}, "local": {"rocksdb": {"path": "data"}}}
    pipelines = {
        name: {
            "source": {"kafka": {"brokers": kafka.brokers, "topics": [topics[name]]}},
            "decorators": keyed,
            "sinks": [{"attr2hbase": {"store": store, "table": table}}],
        }
        for name, store in (("frozen", "cluster"), ("free", "local"))
    }
    with Service(tmp_path, {"stores": stores, "pipelines": pipelines}) as service:
        service.start()
        for name, topic in topics.items():
            kafka.produce(topic, [f"{name}-before-{number}" for number in range(ROWS)])
            service.wait_for_batches(1, name)
        proxy.behave(stalled=True)
        try:
            kafka.produce(topics["frozen"], [f"frozen-during-{number}" for number in range(ROWS)])
            service.wait_for_state("blocked", "frozen")
            blocked = attempts(service)
            # if the frozen batch ran again, half a second later, its tasks would hold both slots for 20 s
            for number in range(10):
                stored = service.metric("attr2hbase_events_stored_total", pipeline="free")
                kafka.produce(topics["free"], [f"free-{number}-{row}" for row in range(ROWS)])
                service.wait_for(
                    lambda before=stored: (
                        service.metric("attr2hbase_events_stored_total", pipeline="free") >= before + ROWS
                    ),
                    "the free pipeline stores what it reads",
                )
            assert attempts(service) == blocked
            assert service.states()["frozen"] == "blocked"
        finally:
            proxy.behave()
        service.wait_for(
            lambda: service.metric("attr2hbase_events_stored_total", pipeline="frozen") == 2 * ROWS,
            "it resumes",
        )
        assert service.stop() == 0


def attempts(service: Service) -> float:
    """Number of attempts of the frozen pipeline."""
    return service.metric("attr2hbase_batch_attempts_total", pipeline="frozen")
