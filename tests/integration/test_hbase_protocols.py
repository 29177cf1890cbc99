"""A pipeline changes between Thrift and HBase's native RPC at restarts."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka
from tests.support.service import Service

EACH = 500


def content(kafka: Kafka, hbase: HBase, protocol: str, topic: str, table: str) -> dict[str, Any]:
    pipeline = {
        "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "max_events_per_batch": 200}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{key}"}},
            {"value": {"attribute": "2hb_f:body", "value": "%{body}"}},
        ],
        "sinks": [{"attr2hbase": {"table": table}}],
    }
    return {
        "stores": {"cluster": {"hbase": hbase.store_options(protocol, thrift2=True)}},
        "tables": {table: {"families": {"f": {"versions": 5}}}},
        "pipelines": {"moving": pipeline},
    }


@pytest.mark.slow
@pytest.mark.one_protocol("it moves between the protocols")
def test_pipeline_moves_to_the_other_protocol_and_back(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    topic, table = kafka.create_topic("moving", partitions=2), unique("moving")
    expected: dict[bytes, bytes] = {}
    with Service(tmp_path, {}) as service:
        for number, protocol in enumerate(("thrift", "rpc", "thrift", "rpc")):
            service.write(content(kafka, hbase, protocol, topic, table))
            if number == 0:
                applied = service.ingest("table apply")
                assert applied.returncode == 0, applied.stderr
            else:  # the last batch was stored by the other protocol, and not acknowledged
                service.checkpoint("moving").forget_commit()
            events = {f"{number}-{at}": f"{protocol} {at}" for at in range(EACH)}
            kafka.produce(topic, [Given(body, key=key) for key, body in events.items()])
            expected |= {key.encode(): body.encode() for key, body in events.items()}
            planned = service.ingest("table plan")
            assert planned.returncode == 0, planned.stdout
            assert service.run_once() == 0, service.last_lines()
    found = hbase.rows(table)
    assert {row: columns[b"f:body"][0] for row, columns in found.items()} == expected
    for row in list(found)[:: EACH // 10]:
        assert len(hbase.versions(table, row, b"f:body")) == 1
