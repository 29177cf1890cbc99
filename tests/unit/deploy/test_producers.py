"""The configurations and pipelines of docs/guides/producers.md."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.guides import run_tests

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs/guides/producers.md").read_text(encoding="utf-8")
BLOCKS = {
    match[1]: match[2] for match in re.finditer(r"^```yaml\n# ([^\n]+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
}
PIPELINES = {
    "vector.yaml": "pipeline of Vector",
    "fluent-bit.yaml": "pipeline of Fluent Bit",
    "otel-collector.yaml": "pipeline of the OpenTelemetry Collector",
}


def output(name: str) -> dict[str, Any]:
    """The part of a configuration that writes to Kafka."""
    content = yaml.safe_load(BLOCKS[name])
    match name:
        case "vector.yaml":
            return dict(content["sinks"]["kafka"])
        case "fluent-bit.yaml":
            (found,) = content["pipeline"]["outputs"]
            return dict(found)
        case _:
            return dict(content["exporters"]["kafka"])


def test_each_configuration_has_a_pipeline():
    assert BLOCKS.keys() == {*PIPELINES, *PIPELINES.values()}


@pytest.mark.parametrize("name", PIPELINES.values())
def test_pipeline_passes_its_tests(name, tmp_path):
    done = run_tests(BLOCKS[name], tmp_path, KAFKA_PASSWORD="a-password")  # noqa: S106 - of no account
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline_reads_the_topic_that_is_written(name):
    (pipeline,) = yaml.safe_load(BLOCKS[PIPELINES[name]])["pipelines"].values()
    written = output(name)
    topic = written.get("topic") or written.get("topics") or written["logs"]["topic"]
    assert pipeline["source"]["kafka"]["topics"] == [topic]


@pytest.mark.parametrize(
    ("name", "acks"),
    [
        ("vector.yaml", lambda found: found["librdkafka_options"]["acks"] == "all"),
        ("fluent-bit.yaml", lambda found: found["rdkafka.acks"] == "all"),
        ("otel-collector.yaml", lambda found: found["producer"]["required_acks"] == -1),
    ],
)
def test_events_are_acknowledged_by_all_replicas(name, acks):
    assert acks(output(name))
