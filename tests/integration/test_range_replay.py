"""`attr2hbase replay` against a real broker: what it writes, what it leaves, and what it refuses."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.api import FamilySpec, Put, Record, Scan, TableSpec
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from ingest.formats.times import moment
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support import ticks
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.by_key import PIPELINE, content_of
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.place import replay_options
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

HOUR_MS = 3_600_000
LIMIT_S = 300.0  # 15 s on two free cores
NOON_MS = 1_763_899_200_000


def replayed(service: Service, begin_ms: int, end_ms: int, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The JSON output of a replay; {"error": …} if it fails as expected."""
    times = ("--from", moment(begin_ms), "--to", moment(end_ms), "--rate", "1000000")
    done = service.ingest("replay", *times, "--output", "json", *arguments, timeout_s=LIMIT_S)
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        return {"error": done.stderr}
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def refused(service: Service, *arguments: str, code: int) -> str:
    """The error of a replay of an hour of ticks that is refused before Spark starts."""
    times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + HOUR_MS))
    done = service.command("replay", *times, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def content_with_ticks(kafka: Kafka, made: Ticks, store: Path) -> dict[str, Any]:
    """The tick pipeline into RocksDB."""
    group = unique("group")
    return {
        "stores": {"embedded": ticks.rocksdb(store)},
        "tables": {"t": ticks.table("embedded")},
        "pipelines": {
            PIPELINE: ticks.pipeline(kafka, made.topic, "embedded", "t", group=group, max_events_per_batch=500)
        },
    }


def dead_letter(topic: str, component: str) -> DeadLetter:
    """A dead letter of the first micro-batch."""
    return DeadLetter(
        record=Record(topic, 0, 7, None, b"", NOON_MS),
        fan_out=0,
        attributes={},
        pipeline=PIPELINE,
        component=component,
        code="bad_column",
        message="",
        batch_time_ms=NOON_MS,
        fingerprint="",
    )


def log_two_batches(service: Service, made: Ticks) -> None:
    """Two micro-batches of the first 100 and the next 200 offsets of two partitions are acknowledged, and logged."""
    log = BatchLog(service.state / "batches" / PIPELINE)
    folder = service.checkpoint(PIPELINE).folder
    (folder / "times").mkdir(parents=True)
    begin = 0
    for number, end in enumerate((100, 300)):
        acknowledge(folder, number, {made.topic: {0: end, 1: end}})
        (folder / "times" / str(number)).write_text(str(NOON_MS + 2 * number))
        log.append(LoggedBatch(number, NOON_MS + 2 * number, {(made.topic, part): (begin, end) for part in (0, 1)}))
        begin = end
    log.close()


def published(service: Service, made: Ticks, *components: str) -> tuple[FileDeadLetters, list[DeadLetter]]:
    """Dead letters of the first micro-batch, and their queue."""
    queue = FileDeadLetters(service.state, PIPELINE)
    letters = [dead_letter(made.topic, component) for component in components]
    queue.publish([each.to_json() for each in letters], 0, NOON_MS)
    return queue, letters


@pytest.mark.slow  # `test_jobs` replays whole batches, too
def test_logged_batches_are_written_at_their_times(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 600, partitions=2)
    service = Service(tmp_path, content_with_ticks(kafka, made, tmp_path / "store"))
    log_two_batches(service, made)
    queue, letters = published(service, made, "attr2hbase", "archive", "source")

    totals = replayed(service, ticks.FIRST_MS, ticks.FIRST_MS + HOUR_MS)
    assert (totals["batches"], totals["read"], totals["stored"]) == (2, 600, 600)
    # the file lacks the sink of the second one
    assert [entry.dead_letter for entry in queue.entries()] == [letters[1]]
    expected = made.expected(service.checkpoint(PIPELINE), "t")
    assert_same_table(table_of(expected, "t", versions=10), rocksdb_table(tmp_path / "store", "t"))
    assert list((service.state / "replays" / PIPELINE).iterdir()) == []


def test_dropped_table_is_refilled_alone_at_the_times_of_logged_batches(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 600, partitions=2)
    content = content_with_ticks(kafka, made, tmp_path / "store")
    pipeline = content["pipelines"][PIPELINE]
    content["tables"]["copy"] = {**content["tables"]["t"]}
    (sink,) = pipeline["sinks"]
    ((kind, options),) = sink.items()
    pipeline["sinks"] = [{kind: {**options, "label": "first"}}, {kind: {**options, "table": "copy", "label": "second"}}]
    service = Service(tmp_path, content)
    log_two_batches(service, made)
    queue, letters = published(service, made, "first", "second", "source", "archive")

    totals = replayed(service, ticks.FIRST_MS, ticks.FIRST_MS + HOUR_MS, "--sink", "second")
    assert (totals["batches"], totals["read"], totals["stored"]) == (2, 600, 600)
    expected = made.expected(service.checkpoint(PIPELINE), "copy")
    assert_same_table(table_of(expected, "copy", versions=10), rocksdb_table(tmp_path / "store", "copy"))
    assert rocksdb_table(tmp_path / "store", "t") == {}
    assert [entry.dead_letter for entry in queue.entries()] == [letters[0], *letters[2:]]
    assert list((service.state / "replays" / PIPELINE).iterdir()) == []
    assert "has no sink" in refused(service, "--sink", "third", code=3)


def test_interrupted_replay_does_not_read_a_topic_that_was_recreated(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 20)
    service = Service(tmp_path, content_with_ticks(kafka, made, tmp_path / "store"))
    request = replay_options(ticks.FIRST_MS, ticks.FIRST_MS + HOUR_MS)
    state = ReplayState(tmp_path / "data" / "state" / "replays" / PIPELINE, request, "")
    batch = ReplayBatch(BatchKind.WHOLE, 0, NOON_MS, {(made.topic, 0): (0, 20)})
    state.start([batch], {made.topic: "of the deleted topic"}, ReplayTotals())
    for options in ([], ["--dry-run"]):
        error = refused(service, *options, code=1)
        assert ("recreated since this replay was planned" in error, made.topic in error) == (True, True)
        assert state.plan_file.name in error
    assert not (tmp_path / "store" / "CURRENT").exists()  # no table was written


@pytest.mark.slow
def test_lost_table_is_restored_cell_by_cell(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 1_200, partitions=2)
    store = tmp_path / "store"
    with Service(tmp_path, content_with_ticks(kafka, made, store)) as service:
        assert service.run_once() == 0, service.last_lines()
        before = rocksdb_table(store, "t")
        checkpoint = service.checkpoint(PIPELINE)
        assert_same_table(table_of(made.expected(checkpoint, "t"), "t", versions=10), before)
        acknowledged = checkpoint.acknowledged(made.topic)
        shutil.rmtree(store)

        whole = replayed(service, ticks.FIRST_MS, ticks.FIRST_MS + HOUR_MS, "--dry-run")
        assert whole["whole"] == {"batches": len(checkpoint.commits()), "offsets": 1_200}
        assert (whole["part"]["batches"], whole["unlogged"]["batches"], whole["resumes"]) == (0, 0, False)

        totals = replayed(service, ticks.FIRST_MS, ticks.FIRST_MS + HOUR_MS)
        assert (totals["read"], totals["stored"], totals["batches"]) == (1_200, 1_200, len(checkpoint.commits()))
        assert_same_table(before, rocksdb_table(store, "t"))
        assert checkpoint.acknowledged(made.topic) == acknowledged


@pytest.mark.slow
class TestUpdatedRows:
    """Rows that several batches update, by record key."""

    @pytest.fixture
    def service(self, kafka: Kafka, tmp_path: Path) -> Service:
        """Two acknowledged batches: five rows at noon, two updates an hour later."""
        topic = kafka.create_topic("updated")
        content = content_of(kafka, tmp_path, topic, unique("group"))
        content["tables"] = {"t": ticks.table("embedded")}
        service = Service(tmp_path, content)
        self.kafka, self.topic, self.store = kafka, topic, tmp_path / "store"
        self.run(service, [("a", "1"), ("b", "1"), ("c", "1"), ("b", "2"), ("d", "1")], NOON_MS)
        self.run(service, [("a", "2"), ("e", "1")], NOON_MS + HOUR_MS)
        return service

    def run(self, service: Service, pairs: Sequence[tuple[str, str]], time_ms: int) -> None:
        """Produce records one second apart, and run the pipeline."""
        self.kafka.produce(
            self.topic,
            [Given(value, key=key, timestamp_ms=time_ms + 1000 * number) for number, (key, value) in enumerate(pairs)],
        )
        with service:
            assert service.run_once() == 0, service.last_lines()

    def values(self) -> Mapping[str, list[tuple[int, str]]]:
        """Row -> timestamps and values of its versions, newest first."""
        found = rocksdb_table(self.store, "t")
        return {key.decode(): [(cell.timestamp_ms, cell.value.decode()) for cell in found[key]] for key in found}

    def lose(self, *puts: Put) -> None:
        """Replace the store by one that has only these rows."""
        shutil.rmtree(self.store)
        store = RocksDBStore(RocksDBSettings(path=str(self.store)))
        store.open()
        store.ensure_table(TableSpec("t", (FamilySpec(b"colfam", versions=10),)))
        store.apply("t", list(puts))
        store.close()

    def test_holes_are_filled_and_nothing_newer_is_hidden(self, service: Service) -> None:
        first, second = (service.checkpoint(PIPELINE).time_ms(number) for number in (0, 1))
        before = self.values()
        replayed(service, NOON_MS, NOON_MS + 2 * HOUR_MS)
        assert self.values() == before  # where the table was whole, nothing changes

        newer = Put(b"c", {b"colfam:value": b"newer"}, second + 10_000)
        self.lose(newer, Put(b"a", {b"colfam:value": b"2"}, second))
        replayed(service, NOON_MS, NOON_MS + HOUR_MS)
        assert self.values() == {
            "a": [(second, "2"), (first, "1")],
            "b": [(first, "2")],
            "c": [(second + 10_000, "newer"), (first, "1")],
            "d": [(first, "1")],
        }

    def test_part_of_a_batch_is_written_before_its_batch(self, service: Service) -> None:
        first = service.checkpoint(PIPELINE).time_ms(0)
        plan = replayed(service, NOON_MS + 1000, NOON_MS + 3000, "--dry-run")
        assert plan["part"] == {"batches": 1, "offsets": 2}
        replayed(service, NOON_MS + 1000, NOON_MS + 3000)
        # a newer value of the same batch stays: its record was not replayed
        assert self.values()["b"] == [(first, "2"), (first - 1, "1")]
        assert self.values()["c"] == [(first, "1"), (first - 1, "1")]

    def test_records_in_no_logged_batch_need_a_time(self, service: Service) -> None:
        (log,) = (service.folder / "data" / "state" / "batches" / PIPELINE).glob("*.batches")
        log.unlink()
        refused = replayed(service, NOON_MS, NOON_MS + HOUR_MS, code=2)
        assert "5 offsets are in no logged batch" in refused["error"]
        assert replayed(service, NOON_MS, NOON_MS + HOUR_MS, "--dry-run")["is_refused"]

        totals = replayed(service, NOON_MS, NOON_MS + HOUR_MS, "--at", moment(NOON_MS))
        assert (totals["batches"], totals["stored"]) == (1, 5)
        assert self.values()["d"][-1] == (NOON_MS, "1")
        replayed(service, NOON_MS, NOON_MS + HOUR_MS, "--overwrite")
        assert [value for _, value in self.values()["a"]] == ["1", "2", "1", "1"]

    def test_unread_records_are_left_to_the_service(self, service: Service) -> None:
        self.kafka.produce(self.topic, [Given("9", key="z", timestamp_ms=NOON_MS + 5 * HOUR_MS)])
        plan = replayed(service, NOON_MS, NOON_MS + 9 * HOUR_MS, "--dry-run")
        assert (plan["whole"]["offsets"], plan["unlogged"]["offsets"]) == (7, 0)

    def test_store_of_a_running_service_is_refused(self, service: Service) -> None:
        with service:
            service.start()
            service.wait_for_state("running", PIPELINE)
            refused = replayed(service, NOON_MS, NOON_MS + HOUR_MS, "--own-process", code=4)
            assert "by process" in refused["error"]
            assert service.stop() == 0


@pytest.mark.slow
def test_replay_that_stores_a_large_record_releases_the_blob_of_its_dead_letter(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.create_topic("large"), unique("group")
    kafka.produce(topic, [Given("x" * 3_000, key="a", timestamp_ms=NOON_MS)])

    def content(json: dict[str, str]) -> dict[str, Any]:
        made = content_of(kafka, tmp_path, topic, group)
        made["tables"] = {"t": ticks.table("embedded") | {"blobs": {"threshold": "1000B"}}}
        made["pipelines"][PIPELINE]["decorators"].insert(0, {"json": json})
        return made

    def references() -> list[bytes]:
        store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
        store.open()
        with closing(store):
            return [row.key[32:] for row in store.scan("t_blobs_refs", Scan())]

    with Service(tmp_path, content({})) as service:
        assert service.run_once() == 0, service.last_lines()
    assert [reference.startswith(b"dead-letter/") for reference in references()] == [True]

    totals = replayed(Service(tmp_path, content({"when": "%{body} == ''"})), NOON_MS, NOON_MS + HOUR_MS)
    assert totals["stored"] == 1
    assert [reference.startswith(b"dead-letter/") for reference in references()] == [False]
    assert [*service.folder.rglob("dead-letters/*/*.jsonl")] == []
