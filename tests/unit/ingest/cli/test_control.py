"""`attr2hbase status` of a service without Spark."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.activity import REASONS_OF_CALLS, Activity
from ingest.observe.health import Health, State
from ingest.observe.logs import current_level, set_level
from ingest.observe.metrics import Metrics
from ingest.observe.taps import Taps
from ingest.receipt import SOURCE, ComponentType, Counts, Figures
from ingest.service.control import Control, Phase, ReloadStatus
from ingest.service.dumps.dump import Dump
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.endpoint import asking
from ingest.service.endpoint.access import access_of
from ingest.service.endpoint.address import ServiceAddress
from ingest.service.endpoint.client import NotRunningError, ServiceClient
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.jobs.scheduler import Jobs
from ingest.service.pages import Pages
from ingest.service.pauses import Pauses
from ingest.service.replay.job import Replay
from ingest.service.rewriting.compaction import Compaction
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.updates.options import CompactionOptions
from tests.support.call_times import timed
from tests.support.endpoint import no_metrics, published
from tests.support.local import free_ports
from tests.support.place import replay_options
from tests.support.remote_files import MemoryFiles


@contextmanager
def served(
    configuration: Configuration, control: Control, activity: Activity | None = None, jobs: Jobs | None = None
) -> Iterator[Health]:
    """The endpoint of a service without pipelines that run."""
    health, jobs = Health(configuration.pipelines), jobs or Jobs(Metrics(process=False))
    pages = Pages(health, activity or Activity(), no_metrics, control, jobs, access_of(configuration), Taps())
    endpoint = HttpEndpoint("127.0.0.1:0", pages, None)
    endpoint.start()
    with published(configuration.local_dir, endpoint.url):
        yield health
    endpoint.stop()


@pytest.fixture
def activity(pipeline: Path) -> Iterator[Activity]:
    """What the pipelines of a running service did, with an endpoint."""
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    activity = Activity()
    with served(configuration, Control(Pauses(configuration.local_dir), configuration.pipelines), activity):
        yield activity


class StartsMeanwhile(Pauses):
    """A service has read these pauses before one is recorded, and takes commands after that."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration.local_dir)
        self._configuration = configuration
        self._served = ExitStack()
        self.control = Control(Pauses(configuration.local_dir), configuration.pipelines)
        self.control.read_pauses()

    def set(self, pipeline: str) -> None:
        super().set(pipeline)
        health = self._served.enter_context(served(self._configuration, self.control))
        health.change(pipeline, State.PAUSED)

    def stop(self) -> None:
        self._served.close()


def test_pause_reaches_a_service_that_starts_meanwhile(
    pipeline: Path, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = StartsMeanwhile(load(pipeline / "pipeline.yaml", env={}, lookup=Catalog()))
    monkeypatch.setattr("ingest.service.pauses.Pauses", lambda _state: pauses)
    try:
        done = ingest("pause")
        assert (done.code, "will be paused" in done.out) == (0, False)
        assert pauses.control.is_paused(name_in(pipeline))
    finally:
        pauses.stop()


def name_of(ingest: Callable[..., Any]) -> str:
    return str(json.loads(ingest("status", "pipeline.yaml", "--output", "json").out)["name"])


def test_status_of_a_healthy_pipeline_has_no_notes(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    activity.retention(name, {("t", 0): (0.49, 60.0)})
    shown = ingest("status", "pipeline.yaml")
    assert (shown.code, name in shown.out, shown.err) == (0, True, "")


@pytest.mark.parametrize(
    ("remaining_s", "left"), [(1_900.0, ", 31 min remain"), (200_000.0, ", 2 d remain"), (None, "")]
)
def test_status_warns_of_the_retention(
    activity: Activity, ingest: Callable[..., Any], remaining_s: float | None, left: str
) -> None:
    name = name_of(ingest)
    activity.retention(name, {("t", 0): (0.1, 60.0), ("t", 1): (0.62, remaining_s)})
    assert ingest("status", "pipeline.yaml").err == (
        f'{name}: unread records of partition 1 of topic "t" have used 62% of Kafka\'s retention{left}\n'
    )


def test_status_warns_of_an_overloaded_store(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    activity.throttled(name, lambda: 0.25)
    assert ingest("status", "pipeline.yaml").err == f"{name}: a store is overloaded, so tasks run for 25% of the time\n"


def test_status_shows_bulk_loads_and_warns_of_those_that_went_as_calls(
    activity: Activity, ingest: Callable[..., Any]
) -> None:
    name = name_of(ingest)
    counts = Counts()
    counts.counted.update({("bulk_load_rows", "t"): 50_000, ("bulk_load_files", "t"): 1, ("bulk_load_seconds", "t"): 2})
    activity.durable(name, 0, 5, counts, 0.5)
    loads = f"{name}: bulk load of table t: 50,000 rows in 1 file, 2.0 s; now files\n"
    assert ingest("status", "pipeline.yaml").err == loads
    counts.counted.clear()
    counts.counted.update({("bulk_load_unstaged", "t"): 3, ("bulk_load_refused", "t"): 1})
    activity.durable(name, 1, 6, counts, 0.5)
    lines = ingest("status", "pipeline.yaml").err.splitlines()
    assert lines == [
        loads.replace("now files", "now calls").rstrip(),
        f"{name}: 1 chunk went as calls: {REASONS_OF_CALLS['refused']}",
        f"{name}: 3 chunks went as calls: {REASONS_OF_CALLS['unstaged']}",
    ]
    assert "HBase may not see `staging`, or a region was split or moved" in lines[1]
    assert '"Failed to complete bulk load"' in lines[1]
    assert "'attr2hbase validate --connect' says why" in lines[2]
    assert max(map(len, lines)) <= 2 * 80


def test_status_shows_the_figures_of_components(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    parse = (ComponentType.DECORATOR, "parse")
    activity.built(name, {SOURCE: "files", parse: "regex"})
    figures = {
        SOURCE: Figures(1_200, 1_200, 0, 0, timed(20, 20_000)),
        parse: Figures(1_200, 800, 100, 300, timed(20, 60_000)),
    }
    activity.durable(name, 0, 0, Counts(components=figures), 1.0)
    assert "regex (parse)" not in ingest("status", "pipeline.yaml").out
    lines = ingest("status", "pipeline.yaml", "--components").out.splitlines()
    assert lines[-5] == name
    assert (lines[-4].split()[0], max(map(len, lines)) <= 80) == ("component", True)
    assert lines[-1].split()[:5] == ["regex", "(parse)", "1,200", "100", "300"]
    assert lines[-1].split()[-2:] == ["3.0", "75%"]


def test_status_names_the_newest_dead_letters(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    for code, events in (("no_match", 1_200), ("decode", 1)):
        activity.durable(name, 0, 0, Counts(dead_lettered_by=Counter({(code, "parse"): events})), 1.0)
    expected = f"{name}: 1,201 dead letters since the service started, the newest: decode in parse\n"
    assert ingest("status", "pipeline.yaml").err == expected


def test_status_shows_the_jobs_of_pipelines_tables_and_roots(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    name, jobs = name_in(pipeline), Jobs(Metrics(process=False))
    control = Control(Pauses(configuration.local_dir), configuration.pipelines)
    jobs.submit(Replay(name, replay_options(1_000, 2_000)))
    jobs.submit(Compaction("counts", CompactionOptions()))
    jobs.submit(Dump("./dumps", DumpRunOptions()))
    jobs.cancel(jobs.submit(Compaction("other", CompactionOptions())).id)
    with served(configuration, control, jobs=jobs):
        shown = ingest("status", "pipeline.yaml")
        assert shown.err == f"{name}: replay waiting\ncounts: compaction waiting\n./dumps: dump waiting\n"
        assert ingest("status", "--pipeline", name).err == f"{name}: replay waiting\n"
        assert [each["kind"] for each in ingest("status", "pipeline.yaml", "--output", "json").json["jobs"]] == [
            "replay"
        ]


@pytest.mark.parametrize(("command", "wanted"), [("pause", "paused after its micro-batch"), ("resume", "started")])
def test_command_that_has_no_effect_in_time_is_an_error(
    activity: Activity,
    pipeline: Path,
    ingest: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    wanted: str,
) -> None:
    monkeypatch.setattr("ingest.cli.control.WAIT_S", 0.0)  # no supervisor carries it out
    late = ingest(command)
    assert (late.code, f"is not {wanted} within 0 s" in late.err, "next:" in late.err) == (1, True, False)
    late = ingest(command, "--output", "json")
    assert (late.code, late.json["state"], json.loads(late.err)["error"]["code"]) == (1, "starting", "not_reached")


class Failing(Control):
    """A pipeline fails as soon as it is paused or resumed."""

    health: Health

    def pause(self, pipeline: str) -> None:
        super().pause(pipeline)
        self.health.change(pipeline, State.FAILED, "store_refused: no\nmore")

    def resume(self, pipeline: str) -> None:
        super().resume(pipeline)
        self.health.change(pipeline, State.FAILED, "store_refused: no\nmore")


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_pipeline_that_fails_meanwhile_ends_the_wait(pipeline: Path, ingest: Callable[..., Any], command: str) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Failing(Pauses(configuration.local_dir), configuration.pipelines)
    with served(configuration, control) as health:
        control.health = health
        failed = ingest(command)
    assert (failed.code, "it has failed: store_refused: no\n" in failed.err, "reload" in failed.err) == (1, True, True)


def test_pause_of_a_failed_pipeline_is_refused_with_the_reason(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Control(Pauses(configuration.local_dir), configuration.pipelines)
    name = name_in(pipeline)
    with served(configuration, control) as health:
        health.change(name, State.FAILED, "positions are lost")
        refused = ingest("pause", name)
    assert (refused.code, "positions are lost" in refused.err, "attr2hbase reload" in refused.err) == (4, True, True)
    assert not Pauses(configuration.local_dir).is_set(name)


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_pause_on_another_machine_than_that_of_the_driver_is_refused(
    pipeline: Path, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    file = pipeline / "pipeline.yaml"
    content = yaml.safe_load(file.read_text())
    content |= {"state_dir": "hdfs://localhost:1/state", "local_dir": "./local"}
    content["stores"] = {name: {"hbase": {"host": "localhost"}} for name in content["stores"]}
    file.write_text(yaml.safe_dump(content))
    files = MemoryFiles()
    for module in ("ingest.service.state_folders", "ingest.spark.state"):
        monkeypatch.setattr(f"{module}.state_of", lambda _configuration: files.root())
    driver = Checkpoint(files.root() / "checkpoints" / name_in(pipeline))
    driver.lock()
    refused = ingest(command)
    assert (refused.code, "on the machine of the driver" in refused.err) == (4, True)
    assert not Pauses(files.root()).is_set(name_in(pipeline))
    driver.unlock()
    assert ingest(command).code == 0
    assert Pauses(files.root()).is_set(name_in(pipeline)) is (command == "pause")


class Removed(Control):
    """A reload removes the pipeline meanwhile."""

    health: Health

    def resume(self, pipeline: str) -> None:
        super().resume(pipeline)
        self.health.remove(pipeline)


@pytest.mark.parametrize("state", [State.STOPPING, State.STOPPED, None])
def test_resume_of_a_pipeline_that_ends_meanwhile_fails(
    pipeline: Path, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, state: State | None
) -> None:
    monkeypatch.setattr("ingest.cli.control.WAIT_S", 0.1)
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = (Removed if state is None else Control)(Pauses(configuration.local_dir), configuration.pipelines)
    with served(configuration, control) as health:
        if isinstance(control, Removed):
            control.health = health
        else:
            health.change(name_in(pipeline), state)
        done = ingest("resume")
    expected = "a reload has removed it" if state is None else "is not started"
    assert (done.code, expected in done.err) == (1, True), done.err


class Rebuilding(Control):
    """A reload that has added two pipelines, one of which could not be built."""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        self.reload_status = ReloadStatus(Phase.DONE, added=("bad", "good"), failed={"bad": "no such topic"}, id=number)
        return number


def test_reload_that_cannot_build_a_pipeline_ends_with_1(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    with served(configuration, Rebuilding(Pauses(configuration.local_dir), configuration.pipelines)):
        shown = ingest("reload", "pipeline.yaml")
        found = ingest("reload", "pipeline.yaml", "--output", "json")
    assert (shown.code, "bad failed: no such topic" in shown.err, "added good\n" in shown.out + shown.err) == (
        1,
        True,
        True,
    )
    assert (found.code, found.json["phase"], found.json["failed"]) == (1, "done", {"bad": "no such topic"})


def compared_row(value: str) -> dict[str, Any]:
    """A table in which one row has another value."""
    cell = {"family": "f", "qualifier": "q", "change": "changed"}
    cell |= {side: {"value": each, "timestamp_ms": 1, "writes": 1} for side, each in (("old", "a"), ("new", value))}
    row = {"row": "k", "change": "changed", "input": 0, "cells": [cell]}
    counts = {"added": 0, "removed": 0, "changed": 1}
    return {"store": "s", "table": "t", "rows": counts, "cells": counts, "changed_rows": [row]}


class Checked(Control):
    """A reload whose check has found that a value differs, and a later one without a check, which is done."""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        assert self.pop_reload()
        phase, reason = (Phase.REFUSED, "the check has found differences") if check else (Phase.DONE, "")
        found = {"pipeline": "p", "events": 3, "limit_bytes": 16 << 20, "differs": bool(check)}
        self.compared = number, [found | {"outcomes": [], "transitions": [], "tables": [compared_row("b")]}]
        self.reload_status = ReloadStatus(
            phase, reason=reason, check=check, id=number, differences=(found,) if check else ()
        )
        return number


def test_reload_with_a_check_that_finds_differences_shows_them(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    with served(configuration, Checked(Pauses(configuration.local_dir), configuration.pipelines)):
        refused = ingest("reload", "pipeline.yaml", "--check", 5)
        found = ingest("reload", "pipeline.yaml", "--check", 5, "--output", "json")
        accepted = ingest("reload", "pipeline.yaml")
    assert (refused.code, refused.out.splitlines()[-2:]) == (1, ["  ~ k (event 0)", "      ~ f:q = a -> b"])
    assert refused.err.splitlines() == [
        "p: 3 records of 5 were compared, as many as have 16 MiB",
        "the service keeps the old file: the check has found differences",
        "next: attr2hbase reload",
    ]
    assert (found.code, found.json["differences"][0]["tables"][0]["table"]) == (1, "t")
    assert (accepted.code, accepted.out) == (0, "")


def test_reload_says_if_nothing_was_checked(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    with served(configuration, Rebuilding(Pauses(configuration.local_dir), configuration.pipelines)):
        assert "nothing was checked: another reload" in ingest("reload", "pipeline.yaml", "--check", 5).err


def test_reload_of_another_file_than_that_of_the_service_is_refused(pipeline: Path, ingest: Callable[..., Any]) -> None:
    (pipeline / "other.yaml").write_text((pipeline / "pipeline.yaml").read_text())
    (pipeline / "link.yaml").symlink_to("pipeline.yaml")
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    file = str((pipeline / "pipeline.yaml").absolute())
    control = Replaced(Pauses(configuration.local_dir), configuration.pipelines, file=file)
    with served(configuration, control) as health:
        health.change(name_in(pipeline), State.RUNNING)
        refused = ingest("reload", "other.yaml")
        assert control.reload_status.id == 0
        accepted = ingest("reload", "link.yaml")
    assert (refused.code, f'the service reads "{file}", not "other.yaml"' in refused.err) == (4, True)
    assert accepted.code == 0


@pytest.mark.parametrize(
    ("command", "shown"), [("flush", {"flushed": True}), ("admin log-level", {"log_level": "debug"})]
)
def test_accepted_commands_have_json(
    pipeline: Path, ingest: Callable[..., Any], command: str, shown: dict[str, object]
) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    level = current_level()
    try:
        with served(configuration, Control(Pauses(configuration.local_dir), configuration.pipelines)):
            done = ingest(*command.split(), *(["debug"] if command == "admin log-level" else []), "--output", "json")
    finally:
        set_level(level)
    assert (done.code, shown.items() <= done.json.items()) == (0, True)


class Overtaken(Control):
    """The reload is done, and a later one is refused."""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        self.reload_status = ReloadStatus(Phase.DONE, changed=("mypipeline",), id=number)
        self.reload_status = ReloadStatus(Phase.REFUSED, reason="wrong", id=number + 1)
        return number


def test_reload_does_not_report_a_later_one(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    with served(configuration, Overtaken(Pauses(configuration.local_dir), ["mypipeline"])):
        done = ingest("reload", "pipeline.yaml")
    assert (done.code, "changed mypipeline" in done.out + done.err) == (0, True)


class Replaced(Control):
    """A reload that has replaced the pipelines of the file, which start now."""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        self.reload_status = ReloadStatus(Phase.DONE, changed=tuple(self._paused), id=number)
        return number


@pytest.mark.parametrize("state", [State.RUNNING, State.BLOCKED, State.FAILED])
def test_reload_waits_until_the_pipelines_have_started(
    pipeline: Path, ingest: Callable[..., Any], state: State
) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    name = name_in(pipeline)
    with served(configuration, Replaced(Pauses(configuration.local_dir), [name])) as health:
        health.change(name, State.STARTING)
        started = threading.Timer(0.5, health.change, [name, state, "no such topic\nand more"])
        started.start()
        done = ingest("reload", "pipeline.yaml", "--output", "json")
        started.join()
    failed = {name: "no such topic"} if state is State.FAILED else {}
    assert (done.code, done.json["failed"]) == (int(state is State.FAILED), failed)
    assert (f"{name} is blocked: no such topic" in done.err) is (state is State.BLOCKED)


def test_service_that_ends_after_a_reload_is_an_error(
    pipeline: Path, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(client: ServiceClient) -> list[dict[str, Any]]:
        raise NotRunningError("no service answers")

    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    monkeypatch.setattr(ServiceClient, "status", status)
    monkeypatch.setattr(asking, "ANSWER_TIMEOUT_S", 0.1)
    with served(configuration, Replaced(Pauses(configuration.local_dir), [name_in(pipeline)])):
        done = ingest("reload", "pipeline.yaml")
    assert (done.code, "the service has ended after the reload" in done.err) == (1, True)


class Restarted(Control):
    """Forgets a reload that it has accepted, as a service that is restarted."""

    status = ReloadStatus()
    """Of the service after its restart."""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        self.reload_status = self.status
        self.started_ms += 1
        return number


@pytest.mark.parametrize("status", [ReloadStatus(), ReloadStatus(Phase.DONE, id=1)])
def test_reload_ends_if_the_service_is_restarted(
    pipeline: Path, ingest: Callable[..., Any], status: ReloadStatus
) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Restarted(Pauses(configuration.local_dir), configuration.pipelines)
    control.reload_status, control.status = ReloadStatus(Phase.READING, id=1), status  # this one gets number 2
    with served(configuration, control):
        done = ingest("reload", "pipeline.yaml")
    assert (done.code, "the service was restarted" in done.err) == (4, True)


class Refusing(Control):
    """Has refused each reload at once."""

    hint = ""

    def reload(self, check: int = 0) -> int:
        number = super().reload(check)
        self.reload_status = ReloadStatus(Phase.REFUSED, reason="wrong", hint=self.hint, id=number)
        return number


@pytest.mark.parametrize(
    ("hint", "shown"), [("restart the service", "restart the service"), ("", "attr2hbase validate")]
)
def test_refused_reload_shows_the_hint_of_the_service(
    pipeline: Path, ingest: Callable[..., Any], hint: str, shown: str
) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Refusing(Pauses(configuration.local_dir), configuration.pipelines)
    control.hint = hint
    with served(configuration, control):
        refused = ingest("reload", "pipeline.yaml")
    assert (refused.code, f"hint: {shown}" in refused.err) == (2, True)


def name_in(folder: Path) -> str:
    return next(iter(load(folder / "pipeline.yaml", env={}, lookup=Catalog()).pipelines))


def add_pipeline(folder: Path, name: str) -> None:
    """Add a copy of the pipeline of `attr2hbase init` to the file."""
    file = folder / "pipeline.yaml"
    content = yaml.safe_load(file.read_text())
    [only] = content["pipelines"].values()
    content["pipelines"][name] = only
    file.write_text(json.dumps(content))


@pytest.mark.parametrize("command", ["pause", "resume", "flush"])
def test_hint_of_a_missing_name_has_the_argument(pipeline: Path, ingest: Callable[..., Any], command: str) -> None:
    add_pipeline(pipeline, "gamma")
    missing = ingest(command)
    assert (missing.code, f"hint: name one: attr2hbase {command} NAME" in missing.err) == (2, True)


def test_status_of_a_pipeline_that_is_not_loaded_is_an_error(
    activity: Activity, pipeline: Path, ingest: Callable[..., Any]
) -> None:
    add_pipeline(pipeline, "gamma")
    for command in (("status", "--pipeline"), ("pause",)):
        shown = ingest(*command, "gamma")
        assert (shown.code, shown.out, "attr2hbase reload" in shown.err) == (3, "", True)


def test_flush_of_a_paused_pipeline_is_refused(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Control(Pauses(configuration.local_dir), configuration.pipelines)
    name = name_in(pipeline)
    control.pause(name)
    with served(configuration, control):
        refused = ingest("flush", name)
    assert (refused.code, "is paused" in refused.err, "attr2hbase resume" in refused.err) == (4, True, True)


def test_flush_of_a_failed_pipeline_is_refused_with_the_reason(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    control = Control(Pauses(configuration.local_dir), configuration.pipelines)
    name = name_in(pipeline)
    with served(configuration, control) as health:
        health.change(name, State.FAILED, "positions are lost")
        refused = ingest("flush", name)
    assert (refused.code, "positions are lost" in refused.err, "attr2hbase reload" in refused.err) == (4, True, True)
    assert not control.pop_flush(name)


def test_wrong_log_level_lists_the_levels(pipeline: Path, ingest: Callable[..., Any]) -> None:
    wrong = ingest("admin", "log-level", "loud")
    assert wrong.code == 2
    assert [level for level in ("LEVEL", "debug", "info", "warning", "error") if level not in wrong.err] == []


@pytest.mark.parametrize(("command", "is_paused"), [("pause", True), ("resume", False)])
def test_pause_without_a_service_is_a_json_object(
    pipeline: Path, ingest: Callable[..., Any], command: str, is_paused: bool
) -> None:
    name = name_in(pipeline)
    recorded = ingest(command, name, "--output", "json")
    assert (recorded.code, recorded.json) == (0, {"pipeline": name, "service": "not_running", "paused": is_paused})


@pytest.mark.parametrize(("command", "following"), [("pause", "resume ticks"), ("resume", "run")])
def test_next_command_without_a_service(
    pipeline: Path, ingest: Callable[..., Any], command: str, following: str
) -> None:
    assert f"next: attr2hbase {following}" in ingest(command).err


@pytest.mark.parametrize(
    ("command", "text"), [("status", "{"), ("pause", "{"), ("pause", "version: 1\npipelines: []\n")]
)
def test_error_in_the_file_says_that_the_service_continues(
    folder: Path, ingest: Callable[..., Any], command: str, text: str
) -> None:
    (folder / "pipeline.yaml").write_text(text)
    said = "a running service continues with the file that it has loaded"
    wrong = ingest(command)
    assert (wrong.code, said in wrong.err) == (2, True)
    assert said in json.loads(ingest(command, "--output", "json").err)["error"]["hint"]


@pytest.mark.parametrize("options", [{"pipelines": []}, {"stores": {"s": {"nothing": {}}}}])
def test_status_reads_the_endpoint_of_a_file_with_errors_elsewhere(
    activity: Activity, pipeline: Path, ingest: Callable[..., Any], options: dict[str, Any]
) -> None:
    name, file = name_in(pipeline), pipeline / "pipeline.yaml"
    file.write_text(json.dumps(yaml.safe_load(file.read_text()) | options))
    shown = ingest("status", "--pipeline", name)
    assert (shown.code, name in shown.out, "the file has errors" in shown.err) == (0, True, True)
    assert ingest("pause", name).code == 2


def test_status_of_a_file_with_errors_names_no_service_that_does_not_answer(
    folder: Path, ingest: Callable[..., Any]
) -> None:
    (port,) = free_ports(1)
    options = {"service": {"http": {"listen": f"127.0.0.1:{port}"}}, "pipelines": []}
    (folder / "pipeline.yaml").write_text(json.dumps({"version": 1} | options))
    shown = ingest("status", "pipeline.yaml")
    assert (shown.code, "no service answers" in shown.err, "continues" in shown.err) == (3, True, False)


def test_status_without_a_service_names_paused_pipelines(pipeline: Path, ingest: Callable[..., Any]) -> None:
    name, (port,) = name_in(pipeline), free_ports(1)
    with (pipeline / "pipeline.yaml").open("a") as file:
        file.write(f"service: {{http: {{listen: 127.0.0.1:{port}}}}}\n")
    assert "paused" not in ingest("status", "pipeline.yaml").err
    assert ingest("pause").code == 0
    shown = ingest("status", "pipeline.yaml")
    assert (shown.code, f'pipeline "{name}" is paused: attr2hbase resume {name}' in shown.err) == (
        3,
        True,
    )


@pytest.mark.parametrize(
    "options",
    [{"service": {"http": {"lisen": "x"}}}, {"state_dir": []}, {"stores": {"s": {"rocksdb": {"path": "${UNSET}"}}}}],
)
def test_status_of_a_file_whose_endpoint_is_unknown_is_an_error(
    activity: Activity, pipeline: Path, ingest: Callable[..., Any], options: dict[str, Any]
) -> None:
    file = pipeline / "pipeline.yaml"
    file.write_text(json.dumps(yaml.safe_load(file.read_text()) | options))
    assert ingest("status", "pipeline.yaml").code == 2


def test_status_table_has_the_first_line_of_a_reason(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    reason = "query_failed: a task failed\n=== Streaming Query ===\nplan"
    with served(configuration, Control(Pauses(configuration.local_dir), configuration.pipelines)) as health:
        health.change(name_in(pipeline), State.BACKING_OFF, reason)
        shown = ingest("status", "pipeline.yaml")
        assert json.loads(ingest("status", "pipeline.yaml", "--output", "json").out)["reason"] == reason
    assert ("query_failed: a task failed" in shown.out, "Streaming Query" in shown.out) == (True, False)


@pytest.mark.parametrize("command", ["pause", "resume", "flush", "reload"])
def test_command_in_another_working_directory_is_refused_and_records_nothing(
    activity: Activity, pipeline: Path, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    name, file = name_in(pipeline), pipeline / "pipeline.yaml"
    url = ServiceAddress(load(file, env={}, lookup=Catalog()).local_dir).url or ""
    listen = {"service": {"http": {"listen": url.removeprefix("http://")}}}
    file.write_text(json.dumps(yaml.safe_load(file.read_text()) | listen))
    elsewhere = pipeline / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert ingest("status", file, "--pipeline", name).code == 0
    refused = ingest(command, "-f", file, *([] if command == "reload" else [name]))
    assert (refused.code, "uses another state_dir" in refused.err) == (4, True)
    assert list(elsewhere.iterdir()) == []
