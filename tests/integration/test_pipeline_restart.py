"""
The checks of a restart, and the effect of a repeated batch and a clock that was set back on rows.
"""

from pathlib import Path

import pytest

from ingest.api import Cell
from ingest.clock import now_ms
from tests.support import ticks
from tests.support.audit import Table, hbase_table, rocksdb_table
from tests.support.by_key import PIPELINE, content_of
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service

HOUR_MS = 3_600_000


class TestRefused:
    """A refused start does not change the checkpoint, and names the remedy."""

    @pytest.mark.slow
    def test_missing_and_foreign_checkpoints(self, kafka: Kafka, tmp_path: Path) -> None:
        topic, other, group = kafka.create_topic("mine"), kafka.create_topic("other"), unique("group")
        kafka.produce(topic, [Given("1", key="a"), Given("2", key="b")])
        content = content_of(kafka, tmp_path, topic, group)
        with Service(tmp_path, content) as service:
            service.start()
            service.wait_for_offsets({0: 2}, PIPELINE, topic)

            assert service.stop() == 0, service.last_lines()
            checkpoint = service.checkpoint(PIPELINE)
            assert kafka.committed(group, topic) == {0: 2}

            service.write(content_of(kafka, tmp_path, other, group))
            foreign = service.ingest("run --once")
            assert foreign.returncode == 4, foreign.stderr
            assert topic in foreign.stderr
            assert other in foreign.stderr
            assert foreign.stdout == ""  # no totals, because nothing ran
            service.write(content)

            checkpoint.folder.rename(tmp_path / "moved")
            missing = service.ingest("run --once")
            assert missing.returncode == 3, missing.stderr
            assert "--start-from" in missing.stderr
            assert not checkpoint.plans()

            # the remedy of the message; there are no new records after the group's offsets
            assert service.run_once("--start-from", "group") == 0, service.last_lines()
            assert rocksdb_table(tmp_path / "store", "t").keys() == {b"a", b"b"}
            kafka.produce(topic, [Given("3", key="c")])
            assert service.run_once() == 0, service.last_lines()
            assert kafka.committed(group, topic) == {0: 3}
            assert rocksdb_table(tmp_path / "store", "t").keys() == {b"a", b"b", b"c"}


class TestClock:
    """Updates of later batches are visible, even if the clock was set back."""

    @pytest.fixture
    def with_both_stores(
        self, kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path
    ) -> tuple[Service, str, str]:
        topic, table = kafka.create_topic("clock"), unique("clock")
        stores = {"embedded": ticks.rocksdb(tmp_path / "store"), "cluster": {"hbase": hbase.store_options(protocol)}}
        content = content_of(kafka, tmp_path, topic, unique("group"), tombstones="delete")
        sinks = [{"attr2hbase": {"table": table, "store": store, "label": store}} for store in stores]
        content["stores"] = stores
        content["pipelines"][PIPELINE]["sinks"] = sinks
        content["tables"] = {table: {"store": "cluster", "families": {"colfam": {"versions": 10}}}}
        service = Service(tmp_path, content)
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        return service, topic, table

    @pytest.mark.slow
    def test_clock_set_back_and_replay(
        self, kafka: Kafka, hbase: HBase, with_both_stores: tuple[Service, str, str]
    ) -> None:
        service, topic, table = with_both_stores

        def found() -> list[Table]:
            return [rocksdb_table(service.folder / "store", table, versions=1), hbase_table(hbase, table)]

        with service:
            checkpoint = service.checkpoint(PIPELINE)
            # batch 0 ran while the clock was an hour ahead
            kafka.produce(topic, [Given("old", key="a"), Given("old", key="b"), Given("old", key="c")])
            ahead_ms = now_ms() + HOUR_MS
            checkpoint.start_after(ahead_ms - 2)
            assert service.run_once() == 0, service.last_lines()
            assert found() == [rows_of({b"a": b"old", b"b": b"old", b"c": b"old"}, ahead_ms)] * 2

            kafka.produce(
                topic, [Given("new", key="a"), Given(None, key="b"), Given("new", key="b"), Given(None, key="c")]
            )
            assert service.run_once() == 0, service.last_lines()
            after_ms = checkpoint.time_ms(1)
            assert ahead_ms < after_ms < ahead_ms + 1_000
            updated = rows_of({b"a": b"new", b"b": b"new"}, after_ms)
            assert found() == [updated] * 2

            # the process was killed before the acknowledgement: the batch, with the tombstone of b, runs again
            assert checkpoint.forget_commit() == 1
            assert service.run_once() == 0, service.last_lines()
            assert checkpoint.commits() == [0, 1]
            assert found() == [updated] * 2

            # a new checkpoint gets the newest batch time from the group
            checkpoint.remove()
            kafka.produce(topic, [Given("newest", key="a")])
            assert service.run_once("--start-from", "group") == 0, service.last_lines()
            newest = rows_of({b"a": b"newest"}, after_ms + 2)
            assert found() == [updated | newest] * 2


def rows_of(values: dict[bytes, bytes], time_ms: int) -> Table:
    return {row: (Cell(b"colfam", b"value", time_ms, value),) for row, value in values.items()}
