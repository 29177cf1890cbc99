"""`keys analyse --topic` with a real Kafka."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.cli import main
from tests.support.names import unique
from tests.support.servers import Given, Kafka


@pytest.fixture
def analysed(kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """Analyse pipelines p and q, each with the options of its source."""

    def run(p: dict[str, Any], q: dict[str, Any], *options: str) -> tuple[int, Any, str]:
        pipelines = {
            name: {
                "source": {"kafka": {"brokers": kafka.brokers, **source}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_f:q", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
            for name, source in (("p", p), ("q", q))
        }
        file = tmp_path / "p.yaml"
        file.write_text(json.dumps({"version": 1, "stores": {"logs": {"memory": {}}}, "pipelines": pipelines}))
        capfd.readouterr()
        code = main(["admin", "keys", "analyse", "-f", str(file), *options, "--output", "json"])
        out, err = capfd.readouterr()
        return code, json.loads(out) if out else None, err

    return run


def test_newest_records_of_each_pipeline_in_the_order_of_their_times(kafka: Kafka, analysed: Any) -> None:
    prefix = unique("keys")
    topics = [kafka.create_topic(f"{prefix}-{name}", partitions=2) for name in ("one", "two")]
    other = kafka.create_topic("other")
    for topic in topics:
        records = [
            Given("b", key=f"{number:04d}", partition=number % 2, timestamp_ms=1_000 + number)
            for number in range(1_000)
        ]
        kafka.produce(topic, records)
    kafka.produce(other, [Given("b", key="old", timestamp_ms=number) for number in range(1, 101)])
    code, found, err = analysed({"topics_pattern": f"{prefix}_.*"}, {"topics": [other]}, "--topic", "800")
    assert code == 0, err
    assert found["events"] == {"kept": 900}
    (table,) = found["tables"]
    assert (table["writes"], table["rows"]) == (900, 401)
    assert [warning["kind"] for warning in table["warnings"]] == ["increasing_keys"]
    assert table["even"]["newest"][:4] == [0, 0, 0, 0]


def test_topics_that_do_not_exist(analysed: Any) -> None:
    code, _, err = analysed({"topics_pattern": "none-.*"}, {"topics": ["none"]}, "--topic", "5")
    assert code == 3
    assert 'no topic matches \\"none-.*\\"' in err
