"""Options of Spark's sources."""

import pytest

from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.streaming.reading import kafka_options


@pytest.mark.parametrize(("max_records", "expected"), [(None, "500"), (1_000, "500"), (20, "20")])
def test_micro_batch_of_kafka_has_the_smaller_of_two_limits(max_records: int | None, expected: str) -> None:
    settings = KafkaSourceSettings(brokers="localhost:9092", topics=["t"], max_events_per_batch=500)
    options = kafka_options(settings, settings.start, {"t": 1}, max_records)
    assert options["maxOffsetsPerTrigger"] == expected


@pytest.mark.parametrize(("event_bytes", "records"), [("1MiB", None), ("3MiB", "21"), ("64MiB", "1")])
def test_records_of_a_poll_fit_into_memory(event_bytes: str, records: str | None):
    settings = KafkaSourceSettings.model_validate(
        {"brokers": "localhost:9092", "topics": ["t"], "max_event_bytes": event_bytes}
    )
    options = kafka_options(settings, settings.start, {"t": 1})
    assert options.get("kafka.max.poll.records") == records
    chosen = settings.model_copy(update={"options": {"max.poll.records": 7}})
    assert str(kafka_options(chosen, chosen.start, {"t": 1})["kafka.max.poll.records"]) == "7"
