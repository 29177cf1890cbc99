"""Replays and a reset of offsets by a running service, with real servers."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ingest.formats.times import moment
from tests.support import ticks
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.by_key import PIPELINE, content_of
from tests.support.lost_batches import NOON_MS, with_lost_batches
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks
from tests.support.waiting import worker_ended

HOUR_MS = 3_600_000
KEPT = {"keep": "10000d"}
LIVE, OLD = "live", "old"
LOST, COUNTED, RESET = "lost", "counted", "reset"
EVENTS = 800_000
REPLAYED = 5
"""Batches of the replay during which those of the pipeline are counted."""


@pytest.fixture(scope="module")
def lost(kafka: Kafka) -> Ticks:
    """The topic of `LOST`."""
    return Ticks.produced(kafka, 600, partitions=2)


@pytest.fixture(scope="module")
def topics(kafka: Kafka, lost: Ticks) -> Mapping[str, str]:
    """Pipeline -> its topic."""
    topics = {LOST: lost.topic} | {name: kafka.create_topic(name, partitions=2) for name in (COUNTED, RESET)}
    kafka.produce(topics[COUNTED], [Given("v", key=f"k{number}", partition=number % 2) for number in range(10)])
    seconds = [
        Given(str(number), key=str(number), partition=number % 2, timestamp_ms=NOON_MS + 1000 * number)
        for number in range(10)
    ]
    kafka.produce(topics[RESET], seconds)
    return topics


@pytest.fixture(scope="module")
def service(kafka: Kafka, topics: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """
    A running service with a pipeline for each test that does not stop it: the table of each has its name, and the
    acknowledged batches of `LOST` have no rows.
    """
    folder = tmp_path_factory.mktemp("jobs")

    def by_key(name: str) -> dict[str, Any]:
        pipeline: dict[str, Any] = content_of(kafka, folder, topics[name], unique("group"))["pipelines"][PIPELINE]
        return pipeline | {"sinks": [{"attr2hbase": {"table": name}}]}

    content = {
        "stores": {"embedded": ticks.rocksdb(folder / "store")},
        "tables": {
            LOST: ticks.table("embedded"),
            COUNTED: {"families": {"colfam": {}}, "updates": {"processor": "count"}},
            RESET: {"families": {"colfam": {}}},
        },
        "pipelines": {
            LOST: ticks.pipeline(kafka, topics[LOST], "embedded", LOST, group=unique("group"), replay=KEPT),
            COUNTED: by_key(COUNTED),
            RESET: by_key(RESET),
        },
    }
    with Service(folder, content) as service:
        with_lost_batches(service, LOST, topics[LOST], [100, 300])
        service.start()
        yield service
        assert service.stop() == 0, service.last_lines()


def test_replay_restores_lost_rows_beside_new_ones(kafka: Kafka, service: Service, lost: Ticks) -> None:
    def ended() -> float:
        return service.metric("attr2hbase_jobs_ended_total", kind="replay", state="done")

    service.wait_for_state("running", LOST)
    before = ended()
    made = lost.more(kafka, 400)

    times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + HOUR_MS))
    done = service.ingest("replay", "--pipeline", LOST, *times, "--output", "json", timeout_s=300.0)
    assert done.returncode == 0, done.stderr + service.last_lines()
    totals = json.loads(done.stdout)
    service.wait_for_offsets(made.ends, LOST, made.topic)
    assert totals["read"] == totals["stored"] >= 600
    service.wait_for(lambda: ended() == before + 1, "ended")
    newest = job(service)
    assert (newest["state"], newest["subject"], newest["done"]) == ("done", LOST, newest["total"])
    assert {"pipeline": LOST, "dry_run": False, **newest["result"]}.items() >= totals.items()
    expected = made.expected(service.checkpoint(LOST), LOST)
    assert_same_table(table_of(expected, LOST, versions=10), rocksdb_table(service.folder / "store", LOST))


def test_service_replays_what_was_rolled_back_from_its_own_table(
    kafka: Kafka, service: Service, topics: Mapping[str, str]
) -> None:
    """
    Its pipeline moves the committed positions of the table: it is lent to the replay, and counts what arrives later.
    """

    def counts() -> list[object]:
        done = service.command("scan", COUNTED, "--output", "json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [[row["row"], [cell[-1] for cell in row["cells"]]] for row in rows]

    service.wait_for_offsets({0: 5, 1: 5}, COUNTED, topics[COUNTED])
    checkpoint = service.checkpoint(COUNTED)
    newest = moment(checkpoint.time_ms(checkpoint.commits()[-1]))
    before = counts()
    assert len(before) == 10
    back = service.command("rollback", COUNTED, "--from", "2020-01-01", "--to", newest, "--yes")
    assert (back.returncode, counts()) == (0, []), back.stderr
    again = ("--pipeline", COUNTED, "--from", "2020-01-01", "--to", "2100-01-01")
    done = service.command("replay", *again, "--output", "json")
    assert (done.returncode, "the running service runs the replay" in done.stderr) == (0, True), done.stderr
    assert (json.loads(done.stdout)["stored"], counts()) == (10, before)
    refused = service.command("replay", *again)
    assert (refused.returncode, "was rolled back" in refused.stderr) == (4, True), refused.stderr
    service.wait_for_state("running", COUNTED)
    kafka.produce(topics[COUNTED], [Given("v", key="new", partition=0)])
    service.wait_for_offsets({0: 6, 1: 5}, COUNTED, topics[COUNTED])
    assert len(counts()) == 11


def test_service_resets_the_offsets_of_its_pipeline_between_two_batches(
    service: Service, topics: Mapping[str, str]
) -> None:
    def reset(to: str, *more: str, code: int = 0) -> tuple[str, str]:
        done = service.command("offsets", "reset", "--pipeline", RESET, "--to", to, *more)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr

    service.wait_for_offsets({0: 5, 1: 5}, RESET, topics[RESET])
    checkpoint = service.checkpoint(RESET)
    newest = checkpoint.time_ms(checkpoint.commits()[-1])
    later = moment(NOON_MS + 6000)
    planned = json.loads(reset(later, "--dry-run", "--output", "json")[0])
    assert [(each["from"], each["to"]) for each in planned["partitions"]] == [(5, 3), (5, 3)]
    assert "in use by" in reset("earliest", "--own-process", code=4)[1]
    assert "JSON file of offsets" in reset("yesterday", code=2)[1]
    assert "the running service resets the offsets" in reset(later)[1]
    service.wait_for_offsets({0: 5, 1: 5}, RESET, topics[RESET])
    service.wait_for_state("running", RESET)
    batches = checkpoint.batches(topics[RESET])
    assert min(batch.time_ms for batch in batches) > newest
    assert len(list((service.state / "replaced-checkpoints" / RESET).iterdir())) == 1
    rows = rocksdb_table(service.folder / "store", RESET)
    times = {key: cells[0].timestamp_ms for key, cells in rows.items()}
    assert {key for key, time_ms in times.items() if time_ms > newest} == {b"6", b"7", b"8", b"9"}


@pytest.mark.slow
def test_reload_of_its_pipeline_interrupts_a_replay_which_then_completes(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 60_000, partitions=2)
    store = tmp_path / "store"
    content = {
        "stores": {"embedded": ticks.rocksdb(store)},
        "tables": {OLD: ticks.table("embedded")},
        "pipelines": {OLD: ticks.pipeline(kafka, made.topic, "embedded", OLD, group=unique("group"), replay=KEPT)},
    }
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, OLD, made.topic, range(1_500, 30_001, 1_500))
        service.start()
        service.wait_for_state("running", OLD)
        request = {"pipeline": OLD, "from": moment(ticks.FIRST_MS), "to": moment(ticks.FIRST_MS + HOUR_MS)}
        status, text = service.post("/jobs/replay", json.dumps(request).encode())
        assert status == 202, text
        service.wait_for(lambda: job(service)["done"] >= 2, "replayed batches", 120)

        content["pipelines"][OLD]["trigger"] = {"every": "1s"}
        service.write(content)
        reloaded = service.command("reload", "--output", "json")
        assert json.loads(reloaded.stdout)["changed"] == [OLD], reloaded.stderr
        service.wait_for(lambda: job(service)["state"] == "done", "done", 300)
        assert job(service)["result"]["stored"] == made.count
        starts = sum(line["message"] == "job started" for line in service.lines())
        assert starts == 2, "the reload came too late to interrupt the replay"
        expected = made.expected(service.checkpoint(OLD), OLD)
        assert service.stop() == 0, service.last_lines()
    assert_same_table(table_of(expected, OLD, versions=10), rocksdb_table(store, OLD))


@pytest.mark.slow
def test_cancelled_replay_ends_after_its_tasks(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 100, partitions=2)
    content = {
        "stores": {"embedded": ticks.rocksdb(tmp_path / "store")},
        "tables": {OLD: ticks.table("embedded")},
        "pipelines": {OLD: ticks.pipeline(kafka, made.topic, "embedded", OLD, group=unique("group"), replay=KEPT)},
    }
    held = tmp_path / "held" / "after_last_send"
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, OLD, made.topic, [50])
        service.start(env={"INGEST_FAILPOINT": "after_last_send:1:hold", "INGEST_FAILPOINT_FOLDER": str(held.parent)})
        service.wait_for_state("running", OLD)
        request = {"pipeline": OLD, "from": moment(ticks.FIRST_MS), "to": moment(ticks.FIRST_MS + HOUR_MS)}
        status, text = service.post("/jobs/replay", json.dumps(request).encode())
        assert status == 202, text
        service.wait_for(lambda: held.exists() and held.read_text().endswith("\n"), "a task of the replay", 120)
        assert service.post(f"/jobs/{job(service)['id']}/cancel")[0] == 202
        service.wait_for(lambda: job(service)["state"] == "cancelled", "cancelled")
        assert worker_ended(int(held.read_text().split()[0]))
        assert service.stop() == 0, service.last_lines()


def job(service: Service) -> dict[str, Any]:
    """The newest job; there is at most one that has not ended."""
    found: dict[str, Any] = json.loads(service.get("/jobs")[1])["jobs"][-1]
    return found


def batches(service: Service) -> int:
    """Durable micro-batches of the live pipeline."""
    found: int = json.loads(service.get(f"/pipelines/{LIVE}")[1])["totals"]["batches"]
    return found


def stored(service: Service) -> float:
    return service.metric("attr2hbase_events_stored_total", pipeline=LIVE)


@pytest.mark.slow
def test_pipeline_runs_as_many_batches_as_a_job_beside_it(kafka: Kafka, tmp_path: Path) -> None:
    """All batches have 20,000 records; the rate is a part of the benchmark (`tests/bench/jobs.py`)."""
    live, old = Ticks.produced(kafka, EVENTS, partitions=4), Ticks.produced(kafka, 400_000, partitions=2)
    content = {
        "stores": {"embedded": ticks.rocksdb(tmp_path / "store")},
        "tables": {name: ticks.table("embedded") for name in (LIVE, OLD)},
        "pipelines": {
            name: ticks.pipeline(
                kafka, made.topic, "embedded", name, group=unique("group"), max_events_per_batch=20_000, replay=KEPT
            )
            for name, made in ((LIVE, live), (OLD, old))
        },
    }
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, OLD, old.topic, range(10_000, 200_001, 10_000))
        service.start()
        service.wait_for(lambda: stored(service) >= EVENTS / 20, "warm", 300)
        request = {"pipeline": OLD, "from": moment(ticks.FIRST_MS), "to": moment(ticks.FIRST_MS + HOUR_MS)}
        status, text = service.post("/jobs/replay", json.dumps(request).encode())
        assert status == 202, text
        service.wait_for(lambda: job(service)["done"] >= 1, "a replayed batch", 120)
        replayed, before = job(service)["done"], batches(service)
        service.wait_for(lambda: job(service)["done"] >= replayed + REPLAYED, "more replayed batches", 300)
        replayed, written = job(service)["done"] - replayed, batches(service) - before
        assert stored(service) < EVENTS, "all events were read beside the job; use more"
        assert job(service)["state"] == "running", "the job was too short"

        # a stop does not wait for a job, and leaves a replay that can be resumed
        assert service.stop() == 0, service.last_lines()
    assert [each.suffix for each in (service.folder / "data" / "state" / "replays" / OLD).iterdir()].count(".plan") == 1
    assert written >= replayed, (written, replayed)
