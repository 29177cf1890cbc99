"""Store and dead-letter broker are unavailable at the start: the service is blocked until they are available."""

from pathlib import Path

import pytest

from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service

PIPELINE = "lines"


def blocked_by(service: Service, code: str) -> bool:
    """Whether the pipeline is blocked with an error code; the process stays alive."""
    if f'"reason":"{code}: ' not in service.get("/pipelines")[1].replace('": "', '":"'):
        return False
    assert service.states() == {PIPELINE: "blocked"}
    assert service.get("/readyz")[0] == 503
    assert service.get("/livez")[0] == 200
    assert service.metric("attr2hbase_pipeline_state", pipeline=PIPELINE, state="blocked") == 1
    return True


@pytest.mark.slow
def test_start_waits_for_store_and_dead_letter_broker(
    kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path
) -> None:
    topic, table = kafka.create_topic("dead"), hbase.create_table("away", families=["cf"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("good\npoison\ngood\n")
    content = {
        "stores": {"cluster": {"hbase": hbase.store_options(protocol, thrift2=True)}},
        "pipelines": {
            PIPELINE: {
                "source": {"files": {"path": str(tmp_path / "in")}},
                "decorators": [
                    {"split": {"separator": "(?<=d)", "index": 0, "attribute": "2hb_cf:q"}},
                    {"value": {"attribute": "2hb_", "value": "%{offset}"}},
                    {"value": {"attribute": "2hb_.no family:q", "value": "x", "when": "%{body} == 'poison'"}},
                ],
                "error_budget": {"share": "100%"},
                "dead_letters": {"kafka": {"topic": topic, "brokers": kafka.brokers}},
                "sinks": [{"attr2hbase": {"table": table}}],
            }
        },
    }
    hbase.kill("thrift" if protocol == "thrift" else "hbase")
    kafka.kill()
    with Service(tmp_path / unique("service"), content) as service:
        service.start()
        service.wait_for(lambda: blocked_by(service, "store_unavailable"), "blocked by the store", 180)
        hbase.start()
        service.wait_for(lambda: blocked_by(service, "source_unavailable"), "blocked by its dead letters", 120)
        assert service.checkpoint(PIPELINE).commits() == []
        kafka.start()
        service.wait_for_state("running", PIPELINE, 120)
        assert service.stop() == 0, service.last_lines()
    assert [row[b"cf:q"][0] for row in hbase.rows(table).values()] == [b"good", b"good"]
    assert len(kafka.records(topic)) == 1
