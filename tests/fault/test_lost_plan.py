"""
Plans of micro-batches that a power cut has removed: their records run in other micro-batches, at later times, so newer
values stay visible and every event counts once.
"""

from pathlib import Path

import pytest

from ingest.api import Scan
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.groups import by_row, merged_row
from sinks.updates.merging import Merging
from sinks.updates.processors.count import Count
from tests.support.audit import rocksdb_reader
from tests.support.by_key import PIPELINE, content_of
from tests.support.killed_at import killed_at
from tests.support.ledger.fixture import LedgerRuns
from tests.support.servers import Given, Kafka
from tests.support.service import Service

pytestmark = pytest.mark.slow


@pytest.mark.seeds(1)
def test_f27_lost_plans_of_a_killed_service(ledger_run: LedgerRuns) -> None:
    run = ledger_run("F27 lost plans, few rows", rows=200, batch_size=500)
    run.produce(3_000)
    killed_at(run, "before_commit", hit=3)
    checkpoint = run.service.checkpoint(run.pipeline)
    for number in (1, 2):
        checkpoint.forget_plan(number)
    assert checkpoint.forget_commit() == 1
    run.proven("plans 1 and 2 removed, and the acknowledgement of 1")
    content = run.content()
    content["pipelines"][run.pipeline]["source"]["kafka"]["max_events_per_batch"] = 5_000
    run.service.write(content)
    run.produce(1_000)
    run.start()
    run.finish()


class TestTables:
    """Batches of ten records; a kill in a batch, whose plan is lost, is followed by batches of another size."""

    @pytest.fixture
    def topic(self, kafka: Kafka) -> str:
        return kafka.create_topic("lost")

    def service(self, kafka: Kafka, folder: Path, topic: str, size: int, *tables: str) -> Service:
        content = content_of(kafka, folder, topic, topic, max_events_per_batch=size)
        content["pipelines"][PIPELINE]["sinks"] = [{"attr2hbase": {"table": table, "label": table}} for table in tables]
        content["tables"] = {
            table: {"store": "embedded", "families": {"colfam": {}}, "updates": {"processor": "count"}}
            for table in tables
            if table != "t"
        }
        return Service(folder, content)

    def produce(self, kafka: Kafka, topic: str, first: int, end: int) -> None:
        kafka.produce(topic, [Given(b"%d" % number, key=b"%d" % (number % 7)) for number in range(first, end)])

    def test_newer_values_are_visible(self, kafka: Kafka, topic: str, tmp_path: Path) -> None:
        self.produce(kafka, topic, 0, 30)
        with self.service(kafka, tmp_path, topic, 10, "t") as service:
            assert service.run_once() == 0, service.last_lines()
            checkpoint = service.checkpoint(PIPELINE)
            assert checkpoint.commits() == [0, 1, 2]
            for number in (2, 1):
                assert checkpoint.forget_commit() == number
                checkpoint.forget_plan(number)
            self.produce(kafka, topic, 30, 40)
        with self.service(kafka, tmp_path, topic, 100, "t") as service:
            assert service.run_once() == 0, service.last_lines()
            assert service.checkpoint(PIPELINE).commits() == [0, 1]
        with rocksdb_reader(tmp_path / "store") as store:
            found = {int(row.key): int(row.cells[0].value) for row in store.scan("t", Scan())}
        assert found == {number % 7: number for number in range(33, 40)}

    def test_events_count_once(self, kafka: Kafka, topic: str, tmp_path: Path) -> None:
        self.produce(kafka, topic, 0, 30)
        failpoint = {"INGEST_FAILPOINT": "between_sends:2:kill", "INGEST_FAILPOINT_FOLDER": str(tmp_path)}
        with self.service(kafka, tmp_path, topic, 10, "one", "two") as service:
            service.start(env=failpoint)
            assert service.wait_for_exit(180) == -9, service.last_lines()
            service.wait_until_gone()
            checkpoint = service.checkpoint(PIPELINE)
            assert (checkpoint.plans(), checkpoint.commits()) == ([0, 1], [0])
            checkpoint.forget_plan(1)
        with self.service(kafka, tmp_path, topic, 5, "one", "two") as service:
            assert service.run_once() == 0, service.last_lines()
        expected = {b"%d" % key: len(range(key, 30, 7)) for key in range(7)}
        assert [self.counts(tmp_path / "store", table) for table in ("one", "two")] == [expected] * 2

    def counts(self, folder: Path, table: str) -> dict[bytes, int]:
        merging = Merging(Count(Count.settings_class()()))
        with rocksdb_reader(folder) as store:
            rows = by_row(list(update_rows(store, table, RowFormat.recorded(store, table))))
            merged = {key: merged_row(found, merging) for key, found in rows}
        return {key: int(row.columns[b"colfam:value"]) for key, row in merged.items() if row is not None}
