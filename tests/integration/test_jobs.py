"""A replay by a running service, with real servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.formats.times import moment
from tests.support import ticks
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.by_key import PIPELINE, content_of
from tests.support.lost_batches import with_lost_batches
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks
from tests.support.waiting import worker_ended

HOUR_MS = 3_600_000
KEPT = {"keep": "10000d"}
LIVE, OLD = "live", "old"
EVENTS = 800_000
REPLAYED = 5
"""Batches of the replay during which those of the pipeline are counted."""


def test_replay_by_a_running_service_restores_lost_rows_beside_new_ones(kafka: Kafka, tmp_path: Path) -> None:
    made = Ticks.produced(kafka, 600, partitions=2)
    store = tmp_path / "store"
    content = {
        "stores": {"embedded": ticks.rocksdb(store)},
        "tables": {"t": ticks.table("embedded")},
        "pipelines": {
            "ticks": ticks.pipeline(kafka, made.topic, "embedded", "t", group=unique("group"), replay=KEPT),
        },
    }
    with Service(tmp_path / "service", content) as service:
        with_lost_batches(service, "ticks", made.topic, [100, 300])
        service.start()
        service.wait_for_state("running", "ticks")
        made = made.more(kafka, 400)

        times = ("--from", moment(ticks.FIRST_MS), "--to", moment(ticks.FIRST_MS + HOUR_MS))
        done = service.ingest("replay", *times, "--output", "json", timeout_s=300.0)
        assert done.returncode == 0, done.stderr + service.last_lines()
        totals = json.loads(done.stdout)
        service.wait_for_offsets(made.ends, "ticks", made.topic)
        assert totals["read"] == totals["stored"] >= 600
        expected = made.expected(service.checkpoint("ticks"), "t")
        service.wait_for(
            lambda: service.metric("attr2hbase_jobs_ended_total", kind="replay", state="done") == 1, "ended"
        )
        ended = job(service)
        assert (ended["state"], ended["subject"], ended["done"]) == ("done", "ticks", ended["total"])
        assert {"pipeline": "ticks", "dry_run": False, **ended["result"]}.items() >= totals.items()
        assert service.stop() == 0, service.last_lines()
    assert_same_table(table_of(expected, "t", versions=10), rocksdb_table(store, "t"))


def test_running_service_replays_what_was_rolled_back_from_its_own_table(kafka: Kafka, tmp_path: Path) -> None:
    """
    Its pipeline moves the committed positions of the table: it is lent to the replay, and counts what arrives later.
    """
    topic, group = kafka.create_topic("counted", partitions=2), unique("group")
    kafka.produce(topic, [Given("v", key=f"k{number}", partition=number % 2) for number in range(10)])
    content = content_of(kafka, tmp_path, topic, group)
    content |= {"tables": {"t": {"families": {"colfam": {}}, "updates": {"processor": "count"}}}}
    with Service(tmp_path, content) as service:

        def counts() -> list[object]:
            done = service.command("scan", "t", "--output", "json")
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            return [[row["row"], [cell[-1] for cell in row["cells"]]] for row in rows]

        service.start()
        service.wait_for_offsets({0: 5, 1: 5}, PIPELINE, topic)
        checkpoint = service.checkpoint(PIPELINE)
        newest = moment(checkpoint.time_ms(checkpoint.commits()[-1]))
        before = counts()
        assert len(before) == 10
        back = service.command("rollback", "t", "--from", "2020-01-01", "--to", newest, "--yes")
        assert (back.returncode, counts()) == (0, []), back.stderr
        done = service.command("replay", "--from", "2020-01-01", "--to", "2100-01-01", "--output", "json")
        assert (done.returncode, "the running service runs the replay" in done.stderr) == (0, True), done.stderr
        assert (json.loads(done.stdout)["stored"], counts()) == (10, before)
        refused = service.command("replay", "--from", "2020-01-01", "--to", "2100-01-01")
        assert (refused.returncode, "was rolled back" in refused.stderr) == (4, True), refused.stderr
        service.wait_for_state("running", PIPELINE)
        kafka.produce(topic, [Given("v", key="new", partition=0)])
        service.wait_for_offsets({0: 6, 1: 5}, PIPELINE, topic)
        assert len(counts()) == 11
        assert service.stop() == 0, service.last_lines()


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
