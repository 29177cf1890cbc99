"""The clock of a real Kafka cluster, which its controller reports."""

import time
from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.clock import now_ms
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.settings import KafkaConnection
from ingest.service.kafka.clock import MAX_AHEAD_MS, refuse_clock_ahead
from tests.support.by_key import content_of
from tests.support.clock import JumpingClock
from tests.support.servers import Given, Kafka
from tests.support.service import Service


def test_controller_reports_its_present_clock(kafka: Kafka) -> None:
    with KafkaAdmin(KafkaConnection.model_validate({"brokers": kafka.brokers})) as admin:
        before_ms = now_ms()
        found = [admin.clock_ms()]
        time.sleep(0.01)  # the second answer is not the first one
        found.append(admin.clock_ms())
        after_ms = now_ms()
        first_ms, second_ms = (each for each in found if each is not None)
        assert before_ms - 1 <= first_ms < second_ms <= after_ms + 1
        refuse_clock_ahead(admin, now_ms)
        with pytest.raises(ConflictError, match="more than a day ahead"):
            refuse_clock_ahead(admin, lambda: now_ms() + MAX_AHEAD_MS + 60_000)


@pytest.mark.slow
def test_start_with_a_clock_that_is_two_days_ahead_is_refused(kafka: Kafka, tmp_path: Path) -> None:
    topic, clock = kafka.create_topic("early"), JumpingClock(tmp_path / "clock")
    kafka.produce(topic, [Given("1", key="a")])
    clock.jump(2 * 86_400)
    with Service(tmp_path, content_of(kafka, tmp_path, topic, topic)) as service:
        service.start("--once", env=clock.environment())
        assert service.wait_for_exit(120) == 4, service.last_lines()
        assert "is more than a day ahead of the Kafka cluster's" in service.last_lines()
        assert service.checkpoint("ticks").plans() == []
        clock.jump(3_600)
        service.start("--once", env=clock.environment())
        assert service.wait_for_exit(120) == 0, service.last_lines()
