"""F17, F19, F32: a refused pipeline is refused again at the next start; recovery reads all remaining records."""

import time
from pathlib import Path

import pytest

from tests.support.ledger.report import add_row
from tests.support.lost_positions import DELETABLE, LOG_START, READ, RECREATED, LostPositions, records, rows_of
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service

HEALTHY, STORE = "healthy", "local"


@pytest.mark.slow
def test_lost_positions_are_refused_again_and_recovery_reads_the_rest(kafka: Kafka, tmp_path: Path) -> None:
    started = time.monotonic()
    lost = LostPositions(kafka)
    topic = kafka.create_topic(HEALTHY)
    stores = {STORE: {"rocksdb": {"path": str(tmp_path / "store")}}}
    content = {"stores": stores, **lost.content(STORE)}
    content["pipelines"][HEALTHY] = healthy(kafka, topic)
    content["tables"][HEALTHY] = {"store": STORE, "families": {"colfam": {}}}
    with Service(tmp_path, content) as service:
        lost.attach(service, tmp_path / "store")
        service.start()
        lost.wait_read()
        lost.inject()
        reasons = lost.wait_failed()
        kafka.produce(topic, records("healthy", READ))
        service.wait_for_offsets({0: READ}, HEALTHY, topic)
        assert service.states()[HEALTHY] == "running"
        assert service.stop() == 1, service.last_lines()
        gone, dead_lettered = lost.check(reasons)

        # recreate the topics while the service is down
        lost.recreate_topics()
        service.start()
        reasons = lost.wait_failed()
        assert service.stop() == 1, service.last_lines()
        assert lost.check(reasons, lives=2) == (gone, lost.reached("poison"))
        assert lost.reached("poison") > dead_lettered

        # the recovery that the messages name
        del content["pipelines"]["poison"]
        service.write(content)
        for place, names in (("earliest", ("fewer", "equal", "more", "deleted")), ("group", ("pattern",))):
            for name in names:
                service.checkpoint(name).remove()
            before = len(list(service.lines()))
            code = service.run_once("--start-from", place)
            read = {line["pipeline"]: line["read"] for line in list(service.lines())[before:] if "stored" in line}
            if place == "group":
                assert (code, read) == (0, {"pattern": RECREATED["pattern"]}), "the other topic was read again"
        for name, count in RECREATED.items():
            beside = rows_of("beside", range(READ)) if name == "pattern" else {}
            assert lost.rows(name) == rows_of("old", range(READ)) | rows_of("new", range(count)) | beside
        remaining = set(range(DELETABLE)) - set(gone)
        assert lost.rows("deleted").keys() == {b"deleted%d" % number for number in remaining}

    seconds = time.monotonic() - started
    stored = READ * (len(RECREATED) + 1) + sum(RECREATED.values())
    add_row("F17 topics recreated, and recovery", "ids of 4 topics changed twice", seconds, stored=stored)
    proof = f"log starts at offset {LOG_START}"
    add_row("F19 records deleted, and recovery", proof, seconds, stored=len(remaining), lost=len(gone))


def healthy(kafka: Kafka, topic: str) -> dict[str, object]:
    """A pipeline that is not affected."""
    return {
        "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": unique("group")}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{key}"}},
            {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
        ],
        "sinks": [{"attr2hbase": {"table": HEALTHY}}],
    }
