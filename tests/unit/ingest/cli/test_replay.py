"""`attr2hbase replay` without a cluster, and with the endpoint of a service without Spark."""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import ConflictError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.observe.taps import Taps
from ingest.service.control import Control
from ingest.service.endpoint import client
from ingest.service.endpoint.access import access_of
from ingest.service.endpoint.address import ServiceAddress
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.jobs.job_run import JobContext, Progress
from ingest.service.jobs.scheduler import Jobs
from ingest.service.pages import Pages
from ingest.service.pauses import Pauses
from ingest.service.replay import range_replay
from ingest.service.replay.job import Replay
from ingest.service.replay.options import ReplayOptions
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.range_plan import RangePlan
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.service.state_folders import batch_log_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support.endpoint import no_metrics
from tests.support.place import replay_options
from tests.support.waiting import reached

RANGE_REPLAY = range_replay.RangeReplay
BEGUN = {"resumes": False, "finished": 0, "planned": 2, "may_hide_values": False, "plan": ""}
TIMES = ("--from", "2026-01-30", "--to", "2026-01-31")


@pytest.mark.parametrize(
    ("template", "arguments", "message"),
    [
        ("files", "--from 2026-01-31 --to 2026-02-01", "files, which has no offsets"),
        ("kafka", "--from 2026-01-31 --to 2026-01-31", "the range is empty"),
        ("kafka", "--from yesterday --to 2026-01-31", '"yesterday" is not a time'),
        ("kafka", "--from 2026-01-30 --to 2026-01-31 --at 2026-01-30 --overwrite", "choose one of them"),
    ],
)
def test_refused_options(ingest, folder, template, arguments, message):
    assert ingest("init", "--template", template).code == 0
    done = ingest("replay", *arguments.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err


class Service:
    """The endpoint and the jobs of a service; replays end as `run` does."""

    def __init__(self) -> None:
        configuration = load("pipeline.yaml", env={}, lookup=Catalog())
        [self.pipeline] = configuration.pipelines
        self.local_dir = configuration.local_dir
        self.jobs = Jobs(Metrics(process=False))
        self.requests: list[ReplayOptions] = []
        self.may_end = threading.Event()
        self.run: Callable[[], ReplayTotals] = ReplayTotals
        health = Health(configuration.pipelines)
        control = Control(Pauses(configuration.local_dir), configuration.pipelines)
        pages = Pages(health, Activity(), no_metrics, control, self.jobs, access_of(configuration), Taps())
        self.endpoint = HttpEndpoint("127.0.0.1:0", pages)
        self.endpoint.start()
        self.address = ServiceAddress(configuration.local_dir)
        self.address.take()
        self.address.publish(self.endpoint.url)
        self.shared = SimpleNamespace(configuration=configuration, catalog=None, metrics=Metrics(process=False))

    def start(self) -> None:
        """Run the jobs."""
        self.jobs.start(JobContext(self.shared, None, 2))

    def replay(self, place: Any, pipeline: Any, options: ReplayOptions) -> Any:
        """What stands for a `RangeReplay` of the service; one of the process of a command is none."""
        if not place.is_service:
            return RANGE_REPLAY(place, pipeline, options)
        assert pipeline in self.shared.configuration.pipelines.values()
        self.requests.append(options)
        return SimpleNamespace(steps=lambda: iter([Progress(2, 2, BEGUN | self.run().to_json())]))

    def close(self) -> None:
        self.jobs.close()
        self.endpoint.stop()
        self.address.release()


@pytest.fixture
def service(folder: Path, ingest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    assert ingest("init", "--template", "kafka").code == 0
    made = Service()
    monkeypatch.setattr(range_replay, "RangeReplay", made.replay)
    yield made
    made.close()


def test_running_service_runs_the_replay(ingest, service: Service):
    service.run = lambda: ReplayTotals(2, 600, 600, 590, 1_180, Counter(filter=7), Counter(bad_json=3))
    service.start()
    done = ingest("replay", *TIMES, "--overwrite", "--output", "json")
    assert (done.code, done.json) == (
        0,
        {
            "pipeline": service.pipeline,
            "dry_run": False,
            "batches": 2,
            "records": 600,
            "read": 600,
            "stored": 590,
            "dropped": {"filter": 7},
            "dead_lettered": {"bad_json": 3},
            "cells": 1_180,
            "has_changed": False,
            "not_durable": 0,
            "gone": 0,
        },
    )

    [request] = service.requests
    assert request.selection() == {
        "from_ms": 1_769_731_200_000,
        "to_ms": 1_769_817_600_000,
        "at_ms": None,
        "overwrite": True,
    }
    assert "the running service runs the replay" in ingest("replay", *TIMES).err


def test_failure_in_the_service_is_that_of_the_command(ingest, service: Service):
    def locked() -> ReplayTotals:
        raise ConflictError("in use by pid 7", hint="wait until that replay has ended")

    service.run = locked
    service.start()
    done = ingest("replay", *TIMES)
    assert (done.code, done.out) == (4, "")
    assert "in use by pid 7" in done.err
    assert "wait until that replay has ended" in done.err


def test_file_that_the_service_has_not_read_is_refused(ingest, service: Service):
    service.start()
    file = Path("pipeline.yaml")
    changed = file.read_text().replace("pipelines:", "pipelines: # changed")
    file.write_text(changed)
    assert ingest("replay", *TIMES).code == 0  # a comment changes nothing
    file.write_text(changed.replace("decorators:", "decorators:\n      - filter: {drop: '%{body} == \"x\"'}", 1))
    done = ingest("replay", *TIMES)
    assert (done.code, len(service.requests)) == (4, 1), done.err
    assert "attr2hbase reload" in done.err


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> list[ReplayOptions]:
    """The replays that run in the process of the command."""
    requests: list[ReplayOptions] = []

    def steps(replay: range_replay.RangeReplay) -> Iterator[Progress]:
        requests.append(replay._options)
        plan = replay.interrupted_plan() or (replay.plan() if replay.has_event_time else None)
        begun = BEGUN if plan is None else replay._begun(plan) | {"has_changed": plan.has_changed}
        yield Progress(0, 0, BEGUN | ReplayTotals().to_json() | begun)

    monkeypatch.setattr(RANGE_REPLAY, "steps", steps)
    return requests


def test_state_in_another_folder_is_named(ingest, folder: Path, own: list[ReplayOptions]):
    assert ingest("init", "--template", "kafka").code == 0
    done = ingest("replay", *TIMES)
    assert f'no state at "{folder / "data" / "state"}"; relative paths start at the current folder' in done.err


def test_refused_replay_can_run_beside_the_service(ingest, service: Service):
    service.jobs.stop()
    refused = ingest("replay", *TIMES)
    assert (refused.code, "the service stops" in refused.err, "--own-process" in refused.err) == (4, True, True)


@pytest.fixture
def running(service: Service) -> Iterator[ReplayOptions]:
    """A replay that was requested earlier, and runs until the test ends or the timer of the test."""
    options = ReplayOptions.model_validate({"from": TIMES[1], "to": TIMES[3]})
    service.run = lambda: ReplayTotals(has_changed=not service.may_end.wait(60))
    service.start()
    service.jobs.submit(Replay(service.pipeline, options))
    assert reached(lambda: bool(service.requests), 60)
    yield options
    service.may_end.set()


def test_changed_file_is_refused_while_a_replay_of_the_range_runs(ingest, running: ReplayOptions):
    file = Path("pipeline.yaml")
    file.write_text(file.read_text().replace("table: mytable}", "table: mytable, write_to_wal: false}", 1))
    refused = ingest("replay", *TIMES)
    assert (refused.code, "the service runs another version" in refused.err) == (4, True), refused.err
    assert ("attr2hbase reload" in refused.err, "--own-process" in refused.err) == (True, False)


def test_without_a_service_the_command_runs_the_replay(ingest, folder: Path, own: list[ReplayOptions]):
    assert ingest("init", "--template", "kafka").code == 0
    done = ingest("replay", *TIMES)
    assert (done.code, len(own)) == (0, 1)
    assert "no service has started with this state_dir" in done.err
    assert "the command runs the replay in its own process" in done.err


def test_first_replay_of_a_range_without_records_succeeds(ingest, folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert ingest("init", "--template", "kafka").code == 0
    monkeypatch.setattr(RANGE_REPLAY, "plan", lambda _: RangePlan([], ReplayTotals()))
    done = ingest("replay", *TIMES)
    assert (done.code, done.out) == (0, ""), done.err
    assert "nothing was replayed: the topics have no record in this range" in done.err
    done = ingest("replay", *TIMES, "--dry-run")
    assert "no record of the pipeline's topics has a timestamp in this range" in done.err


def test_records_that_are_not_stored_yet_are_named(ingest, folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert ingest("init", "--template", "kafka").code == 0
    plan = RangePlan([], ReplayTotals(not_durable=30))
    monkeypatch.setattr(RANGE_REPLAY, "plan", lambda _: plan)
    for options in ([], ["--dry-run"]):
        done = ingest("replay", *TIMES, *options)
        assert "left out: 30 offsets of this range, which the pipeline had not stored when the replay began" in done.err
        assert "no record" not in done.err
        assert ingest("replay", *TIMES, *options, "--output", "json").json["not_durable"] == 30


def test_records_of_rolled_back_batches_that_are_gone_are_named(ingest, folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert ingest("init", "--template", "kafka").code == 0
    plan = RangePlan([], ReplayTotals(gone=4))
    monkeypatch.setattr(RANGE_REPLAY, "plan", lambda _: plan)
    for options in ([], ["--dry-run"]):
        done = ingest("replay", *TIMES, *options)
        assert "4 offsets of rolled-back micro-batches are left out" in done.err
        assert ingest("replay", *TIMES, *options, "--output", "json").json["gone"] == 4


def test_range_without_records_is_named(ingest, folder: Path, own: list[ReplayOptions]):
    assert ingest("init", "--template", "kafka").code == 0
    done = ingest("replay", *TIMES)
    assert (done.code, len(own), done.out) == (0, 1, "")
    assert "nothing was replayed: the topics have no record in this range" in done.err


def test_service_that_has_ended_does_not_prevent_a_replay(ingest, service: Service, own: list[ReplayOptions]):
    service.endpoint.stop()
    service.address.release()
    done = ingest("replay", *TIMES)
    assert (done.code, len(own)) == (0, 1)
    assert "no service answers" in done.err
    assert "the command runs the replay in its own process" in done.err


def test_request_that_may_have_been_accepted_does_not_run_twice(
    ingest, service: Service, own: list[ReplayOptions], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers
        service.address.publish(f"http://127.0.0.1:{silent.getsockname()[1]}")
        done = ingest("replay", *TIMES, "--overwrite")
    assert (done.code, own) == (1, [])
    assert "may have accepted the command" in done.err
    assert "attr2hbase status" in done.err


@pytest.mark.parametrize(("time", "warns"), [("event", True), ("batch", False)])
def test_replay_that_may_hide_values_with_the_same_event_time_prints_a_warning(
    ingest, folder: Path, own: list[ReplayOptions], monkeypatch: pytest.MonkeyPatch, time: str, warns: bool
):
    assert ingest("init", "--template", "kafka").code == 0
    file = Path("pipeline.yaml")
    file.write_text(file.read_text().replace("table: mytable}", f"table: mytable, timestamp: {time}}}", 1))
    configuration = load("pipeline.yaml", env={}, lookup=Catalog())
    [name] = configuration.pipelines
    log = BatchLog(batch_log_folder(configuration, name))
    for number in range(2):
        log.append(LoggedBatch(number, 1_000 + 2 * number, {("t", 0): (10 * number, 10 * number + 10)}))
    batch = ReplayBatch(BatchKind.WHOLE, 0, 1_000, {("t", 0): (0, 10)})
    monkeypatch.setattr(RANGE_REPLAY, "plan", lambda _: RangePlan([batch], ReplayTotals()))
    warning = "the range leaves out records of later micro-batches"
    assert (warning in ingest("replay", *TIMES, "--dry-run").err) is warns
    assert ingest("replay", *TIMES, "--dry-run", "--output", "json").json["may_hide_values"] is warns
    assert own == []
    assert (warning in ingest("replay", *TIMES).err) is warns
    assert len(own) == 1


def test_resumed_replay_of_a_changed_pipeline_prints_a_warning(ingest, folder: Path, own: list[ReplayOptions]):
    assert ingest("init", "--template", "kafka").code == 0
    configuration = load("pipeline.yaml", env={}, lookup=Catalog())
    [pipeline] = configuration.pipelines.values()
    request = ReplayOptions.model_validate({"from": TIMES[1], "to": TIMES[3]})
    state = ReplayState(configuration.local_dir / "replays" / pipeline.name, request, pipeline.fingerprint)
    batches = [
        ReplayBatch(BatchKind.WHOLE, number, 1_000 + number, {("t", 0): (number, number + 1)}) for number in (0, 1)
    ]
    state.start(batches, {}, ReplayTotals())
    state.progress(ReplayTotals(batches=1))
    resumes, warning = "resumes after 1 micro-batch", "the pipeline has changed since this replay began"
    for options in ([], ["--dry-run"]):
        done = ingest("replay", *TIMES, *options)
        assert (resumes in done.err, warning in done.err) == (True, False), done.err
    file = Path("pipeline.yaml")
    file.write_text(file.read_text().replace("table: mytable}", "table: mytable, timestamp: event}", 1))
    for options in ([], ["--dry-run"]):
        done = ingest("replay", *TIMES, *options)
        assert (resumes in done.err, warning in done.err) == (True, True), done.err
        assert str(state.plan_file) in done.err
    assert ingest("replay", *TIMES, "--dry-run", "--output", "json").json["has_changed"] is True
    assert len(own) == 2


def test_status_shows_jobs(ingest, service: Service):
    request = replay_options(1_000, 2_000)
    service.jobs.submit(Replay(service.pipeline, request))
    assert f"{service.pipeline}: replay waiting" in ingest("status", "pipeline.yaml").err
    [status] = ingest("status", "pipeline.yaml", "--output", "json").lines
    assert [(each["kind"], each["state"]) for each in status["jobs"]] == [("replay", "waiting")]
