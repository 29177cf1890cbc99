"""Options of the Kafka source: topics, group and start."""

import pickle

import pytest
from pydantic import ValidationError

from ingest.sources.kafka import KafkaSourceSettings, Start

MINIMAL = {"brokers": "localhost:9092", "topics": ["t"]}


def source(context=None, **options):
    return KafkaSourceSettings.model_validate(MINIMAL | options, context=context)


def test_group_is_named_after_the_pipeline():
    assert source({"pipeline": "ticks"}).group == "attr2hbase-ticks"
    assert source({"pipeline": "ticks"}, group="mine").group == "mine"


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("earliest", Start("earliest", text="earliest")),
        ("latest", Start("latest", text="latest")),
        ("1970-01-01T00:00:01Z", Start("time", 1000, text="1970-01-01T00:00:01Z")),
        ("1970-01-01T00:00:01.5+00:00", Start("time", 1500, text="1970-01-01T00:00:01.5+00:00")),
        ("1970-01-01 01:00", Start("time", 0, text="1970-01-01 01:00")),
        ({"t": {"0": 5, "12": 0}}, Start("offsets", offsets={"t": {0: 5, 12: 0}})),
    ],
)
def test_start_is_read_and_can_be_pickled(written, start):
    found = source({"timezone": "Europe/Paris"}, start=written).start
    assert found == start
    assert pickle.loads(pickle.dumps(found)) == start  # noqa: S301 - our own


@pytest.mark.parametrize(
    "written",
    [
        "",
        "soon",
        "1969-12-31T23:59:59.999Z",
        5,
        None,
        ["t"],
        {"t": {}},
        {"t": 5},
        {"t": {"a": 1}},
        {"t": {"0": -1}},
        {"t": {"0": 2**63}},
        {"t": {"0": True}},
    ],
)
def test_invalid_start_is_rejected(written):
    with pytest.raises(ValidationError):
        source(start=written)


@pytest.mark.parametrize("topics", [[], [""], ["a b"], ["."], [".."], ["x" * 250], "t"])
def test_invalid_topics_are_rejected(topics):
    with pytest.raises(ValidationError):
        source(topics=topics)


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(" * 5000])
def test_invalid_pattern_is_rejected(pattern):
    with pytest.raises(ValidationError, match="bad pattern"):
        KafkaSourceSettings.model_validate({"brokers": "localhost:9092", "topics_pattern": pattern})
