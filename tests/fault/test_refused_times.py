"""
A region server refuses timestamps that are later than its clock allows: batch times block, and are stored once the
clock has reached them; times of events make dead letters. No event is lost.
"""

from pathlib import Path

import pytest

from ingest.clock import now_ms
from ingest.dead_letters.files import FileDeadLetters
from tests.support.by_key import PIPELINE, content_of
from tests.support.hbase_tables import table_with
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service

pytestmark = pytest.mark.slow

SLOP_MS = 5_000
AHEAD_MS = 45_000
EVENTS = 200
LATE = 30 * 60_000
"""A time of events that Kafka accepts and the table does not."""


def test_batch_times_block_and_event_times_are_dead_letters(
    kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path
) -> None:
    slop = {"hbase__hregion__keyvalue__timestamp__slop__millisecs": str(SLOP_MS)}
    of_batch, of_event = table_with(hbase, **slop), table_with(hbase, **slop)
    topic = kafka.create_topic(unique("times"))
    late = {b"%d" % number for number in range(0, EVENTS, 40)}
    sent = {b"%d" % number for number in range(EVENTS)}
    at_ms = now_ms()
    kafka.produce(
        topic, [Given(b"v", key=key, timestamp_ms=at_ms + (LATE if key in late else 0)) for key in sorted(sent)]
    )
    content = content_of(kafka, tmp_path, topic, topic)
    content["stores"] = {"cluster": {"hbase": hbase.store_options(protocol)}}
    content["pipelines"][PIPELINE]["decorators"][1]["value"]["attribute"] = "2hb_cf:value"
    content["pipelines"][PIPELINE]["sinks"] = [
        {"attr2hbase": {"table": of_batch, "label": "of_batch"}},
        {"attr2hbase": {"table": of_event, "label": "of_event", "timestamp": "event"}},
    ]
    with Service(tmp_path, content) as service:
        checkpoint = service.checkpoint(PIPELINE)
        batch_ms = now_ms() + AHEAD_MS
        checkpoint.start_after(batch_ms - 2)
        service.start()
        service.wait_for_state("blocked", PIPELINE)
        reason = str(service.pipelines()[PIPELINE])
        assert "timestamp_refused" in reason
        assert "the time of the micro-batch" in reason
        assert checkpoint.commits() == []
        assert list(FileDeadLetters(tmp_path / "data" / "state", PIPELINE).entries()) == []
        service.wait_for_batches(1, PIPELINE)
        assert now_ms() >= batch_ms - SLOP_MS
        assert service.stop() == 0, service.last_lines()
    stored = hbase.rows(of_batch)
    assert stored.keys() == sent
    assert {cells[b"cf:value"][1] for cells in stored.values()} == {batch_ms}
    assert hbase.rows(of_event).keys() == sent - late
    dead_letters = [each.dead_letter for each in FileDeadLetters(tmp_path / "data" / "state", PIPELINE).entries()]
    assert {(each.record.key, each.component, each.code) for each in dead_letters} == {
        (key, "of_event", "timestamp_refused") for key in late
    }
