"""A replay by a running service, with real servers."""

import json
import uuid
from contextlib import closing
from pathlib import Path

from ingest.reference.readable import moment
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support import ticks
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

NOON_MS = 1_763_899_200_000
HOUR_MS = 3_600_000


def test_replay_by_a_running_service_restores_lost_rows_beside_new_ones(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 600, partitions=2)
    store = tmp_path / "store"
    content = {
        "stores": {"embedded": ticks.rocksdb(store)},
        "tables": {"t": ticks.table("embedded")},
        "pipelines": {"ticks": ticks.pipeline(kafka, made.topic, "embedded", "t", group=unique("group"))},
    }
    with Service(tmp_path / "service", content) as service:
        # two acknowledged batches, whose rows the store has lost
        checkpoint = service.checkpoint("ticks")
        with closing(BatchLog(service.folder / "data" / "state" / "batches" / "ticks")) as log:
            for number, (begin, end) in enumerate([(0, 100), (100, 300)]):
                acknowledge(checkpoint.folder, number, {made.topic: {0: end, 1: end}})
                checkpoint.set_time(number, NOON_MS + 2 * number)
                ranges = {(made.topic, part): (begin, end) for part in (0, 1)}
                log.append(LoggedBatch(number, NOON_MS + 2 * number, ranges))
        (checkpoint.folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
        service.start()
        service.wait_for_state("running", "ticks")
        made = made.more(kafka, 400)

        times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + HOUR_MS))
        done = service.ingest("replay", *times, "--output", "json", timeout_s=300.0)
        assert done.returncode == 0, done.stderr + service.last_lines()
        totals = json.loads(done.stdout)
        service.wait_for_offsets(made.ends, "ticks", made.topic)
        assert totals["read"] == totals["stored"] >= 600
        expected = made.expected(checkpoint, "t")
        service.wait_for(lambda: service.metric("ingest_duties_ended_total", duty="replay", state="done") == 1, "ended")
        [duty] = json.loads(service.get("/duties")[1])["duties"]
        assert (duty["state"], duty["subject"], duty["done"]) == ("done", "ticks", duty["total"])
        assert duty["result"] == totals
        assert service.stop() == 0, service.last_lines()
    assert_same_table(table_of(expected, "t", versions=10), rocksdb_table(store, "t"))
