"""How a service under load ends when it is told to."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.audit import assert_holds, rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

PIPELINE = "ticks"
GROUP = unique("stop")


@pytest.fixture
def service(kafka: Kafka, many_ticks: Ticks, tmp_path: Path) -> Iterator[Service]:
    """A service that has stored some of very many batches."""
    content = {
        "stores": {"kept": ticks.rocksdb(tmp_path / "store")},
        "tables": {"t": ticks.table("kept")},
        "pipelines": {
            PIPELINE: ticks.pipeline(kafka, many_ticks.topic, "kept", "t", group=GROUP, max_events_per_batch=1_000)
        },
    }
    with Service(tmp_path, content) as service:
        yield service


def test_signals_under_load(service: Service, kafka: Kafka, many_ticks: Ticks) -> None:
    checkpoint = service.checkpoint(PIPELINE)

    def assert_ended_well() -> None:
        acknowledged = checkpoint.acknowledged(many_ticks.topic)
        assert 0 < sum(acknowledged.values()) < many_ticks.count, "it was not ended under load"
        assert kafka.committed(GROUP, many_ticks.topic) == acknowledged
        expected = table_of(many_ticks.expected(checkpoint, "t"), "t", versions=ticks.VERSIONS)
        assert_holds(expected, rocksdb_table(service.folder / "store", "t"))
        service.wait_until_gone()

    # SIGTERM: the running batch is finished and acknowledged
    service.start().wait_for_batches(2, PIPELINE)
    assert service.stop() == 0, service.last_lines()
    assert not checkpoint.is_inside_a_batch()
    assert_ended_well()

    # Ctrl-C: the same, and the shell learns of it
    service.start().wait_for_batches(2, PIPELINE)
    os.kill(service.pid, signal.SIGINT)
    assert service.wait_for_exit() == 130, service.last_lines()
    assert not checkpoint.is_inside_a_batch()
    assert_ended_well()

    # a second one does not wait
    service.start().wait_for_batches(2, PIPELINE)
    os.kill(service.pid, signal.SIGINT)
    started = time.monotonic()
    os.kill(service.pid, signal.SIGINT)
    assert service.wait_for_exit() == 130, service.last_lines()
    assert time.monotonic() - started < 20
    assert_ended_well()
