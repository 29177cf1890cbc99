"""Records deleted by retention before they are read: the pipeline stops and names their offsets."""

from pathlib import Path

import pytest
from kafka import TopicPartition

from tests.support.by_key import PIPELINE, content_of
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service


@pytest.mark.slow  # the quick form, while it runs, is in tests/fault/test_kafka_stream.py
def test_lost_offsets_stop_the_pipeline_with_their_range(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.create_topic("lost", partitions=2), unique("group")
    kafka.produce(topic, [Given("1", key="a", partition=0), Given("2", key="b", partition=1)])
    with Service(tmp_path, content_of(kafka, tmp_path, topic, group)) as service:
        assert service.run_once() == 0, service.last_lines()
        kafka.produce(topic, [Given(str(number), key=f"k{number}", partition=0) for number in range(10)])
        with kafka.admin() as admin:
            admin.delete_records({TopicPartition(topic, 0): 8})
        committed = service.checkpoint(PIPELINE).folder / "commits"
        before = sorted(path.name for path in committed.iterdir())

        refused = service.ingest("run --once")

        assert refused.returncode == 1, refused.stderr
        assert f"records that were not read yet are gone: {topic}/0 offsets 1 to 7" in refused.stderr
        assert "'attr2hbase offsets reset --to remaining'" in refused.stderr
        assert sorted(path.name for path in committed.iterdir()) == before
        assert kafka.committed(group, topic) == {0: 1, 1: 1}
