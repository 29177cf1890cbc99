"""What a reload compares, and how the supervisor replaces pipelines."""

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.changes import is_changed
from ingest.config.model import Configuration
from ingest.dry_run import source_records
from ingest.durable import file_errors
from ingest.masks import MASK
from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.logs import set_up
from ingest.observe.metrics import Metrics
from ingest.plan.plan import Plan
from ingest.service import member as member_module
from ingest.service import reload as reloading
from ingest.service import state_wait
from ingest.service import supervisor as module
from ingest.service.control import Control, Phase, ReloadStatus
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.lifecycle import Stop
from ingest.service.pauses import Pauses
from ingest.service.reload import refuse_changes
from ingest.service.shared import Shared
from ingest.service.stores import SharedStores
from ingest.service.supervisor import Supervisor
from ingest.service.systemd import ServiceManager
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.sink import ArchiveSettings
from tests.support.archives import DAY_MS, Writer, event
from tests.support.remote_files import MemoryFiles
from tests.support.supervised import Bench
from tests.support.waiting import reached


def configuration(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _content: None) -> Configuration:
    content: dict[str, Any] = {
        "version": 1,
        "state_dir": str(folder / "state"),
        "stores": {"one": {"hbase": {"host": "localhost"}}, "two": {"rocksdb": {"path": "./store"}}},
        "pipelines": {
            name: {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
                "sinks": [{"attr2hbase": {"table": "t", "store": store}}],
            }
            for name, store in (("a", "one"), ("b", "two"))
        },
    }
    change(content)
    (folder / "pipeline.yaml").write_text(json.dumps(content))
    return load(folder / "pipeline.yaml", env={}, lookup=Catalog())


def described(content: dict[str, Any]) -> None:
    content["pipelines"]["a"]["description"] = "other words"


def decorated(content: dict[str, Any]) -> None:
    content["pipelines"]["a"]["decorators"].append({"value": {"attribute": "x", "value": "y"}})


def slower(content: dict[str, Any]) -> None:
    content["pipelines"]["a"]["trigger"] = {"every": "5s"}


def limited(content: dict[str, Any]) -> None:
    content["pipelines"]["a"]["max_rate"] = 100


def kept_longer(content: dict[str, Any]) -> None:
    content["pipelines"]["a"]["replay"] = {"keep": "30d"}


def other_host(content: dict[str, Any]) -> None:
    content["stores"]["one"]["hbase"]["host"] = "127.0.0.1"


def with_table(content: dict[str, Any]) -> None:
    content["tables"] = {"t": {"store": "one", "families": {"f": {}}}}


def with_other_table(content: dict[str, Any]) -> None:
    with_table(content)
    content["tables"]["other"] = {"store": "one", "families": {"f": {}}}


@pytest.mark.parametrize(("change", "expected"), [
    (lambda _content: None, (False, False)),
    (described, (False, False)),
    (decorated, (True, False)),
    (slower, (True, False)),
    (limited, (True, False)),
    (kept_longer, (True, False)),
    (other_host, (True, False)),
    (with_table, (True, False)),
])  # fmt: skip
def test_only_pipelines_that_use_what_changed_are_replaced(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], expected: tuple[bool, bool]
):
    old, new = configuration(tmp_path), configuration(tmp_path, change)
    refuse_changes(old, new)
    assert (is_changed("a", old, new), is_changed("b", old, new)) == expected


def test_table_that_a_pipeline_cannot_write_does_not_replace_it(tmp_path: Path):
    old, new = configuration(tmp_path, with_table), configuration(tmp_path, with_other_table)
    assert not is_changed("a", old, new)


@pytest.mark.parametrize(("section", "value"), [
    ("spark", {"master": "local[1]"}),
    ("state_dir", "/elsewhere"),
    ("service", {"http": {"listen": "127.0.0.1:1"}}),
    ("service", {"stop_timeout": "1s"}),
    ("service", {"log": {"format": "console"}}),
])  # fmt: skip
def test_changes_of_what_pipelines_share_need_a_restart(tmp_path: Path, section: str, value: object):
    old = configuration(tmp_path)
    new = configuration(tmp_path, lambda content: content.update({section: value}))
    with pytest.raises(ConfigError, match=f'"{section}.*" cannot be reloaded') as caught:
        refuse_changes(old, new)
    assert caught.value.hint == "restart the service"


def reloader_of(
    shared: Any,
    control: Control,
    read: Any = None,
    *,
    opened: ExitStack | None = None,
    wait: Any = None,
    unbuilt: dict[str, BaseException] | None = None,
) -> reloading.Reloader:
    """The reloads of a service whose Spark session is only a name."""
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local"))
    return reloading.Reloader(
        shared,
        read,
        control=control,
        session=session,
        attach=lambda pipeline: pipeline.attach(session),
        opened=opened or ExitStack(),
        unbuilt={} if unbuilt is None else unbuilt,
        wait=wait,
    )


def prepared(folder: Path, old: Configuration, new: Configuration, check: int = 0) -> Control:
    """A reload that has read the new file."""
    control = Control(Pauses(folder), old.pipelines)
    parts: dict[str, Any] = {field.name: None for field in fields(Shared)}
    shared = Shared(**parts | {"configuration": old, "catalog": Catalog(), "stores": SharedStores(old, [])})
    reloader = reloader_of(shared, control, lambda: (new, Catalog()))
    if check:
        control.reload(check)
    reloader.begin(old.pipelines)
    assert reached(lambda: not reloader.is_working, 60)
    return control


def refused(folder: Path, old: Configuration, new: Configuration) -> ReloadStatus:
    """The status of a reload that is refused."""
    status = prepared(folder, old, new).reload_status
    assert status.phase is Phase.REFUSED
    return status


def cell(content: dict[str, Any], value: str) -> None:
    for pipeline in content["pipelines"].values():
        pipeline["decorators"].append({"value": {"attribute": "2hb_f:q", "value": value}})


def test_check_refuses_a_file_with_which_the_results_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("k1\nk2\nk3\n")

    def secretly(content: dict[str, Any]) -> None:
        cell(content, "s3cret")

    old, new = configuration(tmp_path, lambda content: cell(content, "before")), configuration(tmp_path, secretly)
    new.masks.add("s3cret")
    control = prepared(tmp_path, old, new, check=2)
    status = control.reload_status
    assert (status.phase, status.reason) == (Phase.REFUSED, 'the check has found differences in "a", "b"')
    assert "a reload without a check takes the file" in status.hint
    assert [(each["pipeline"], each["events"], each["rows"]["changed"]) for each in status.differences] == [
        ("a", 2, 2),
        ("b", 2, 2),
    ]
    assert "k1" not in json.dumps(status.to_json())
    (table,) = control.differences_of(status.id)[0]["tables"]
    assert (table["changed_rows"][0]["row"], table["changed_rows"][0]["cells"][0]["new"]["value"]) == ("k1", MASK)


def test_check_accepts_a_file_with_which_no_result_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("k1\n")
    status = prepared(tmp_path, configuration(tmp_path), configuration(tmp_path, decorated), check=5).reload_status
    assert (status.phase, [each["differs"] for each in status.differences]) == (Phase.REPLACING, [False])


def test_check_says_that_large_records_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source_records, "SAMPLE_BYTES", 1)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("k1\nk2\n")
    status = prepared(tmp_path, configuration(tmp_path), configuration(tmp_path, decorated), check=5).reload_status
    assert [(each["events"], each["limit_bytes"] is None) for each in status.differences] == [(1, False)]


def test_check_without_records_refuses_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    status = prepared(tmp_path, configuration(tmp_path), configuration(tmp_path, decorated), check=5).reload_status
    assert (status.phase, status.differences) == (Phase.REFUSED, ())
    assert status.reason == 'the source of pipeline "a" has no records to check its results with'


def test_secrets_of_every_reload_are_masked_by_what_the_start_has_created(tmp_path: Path):
    start = configuration(tmp_path)
    parts: dict[str, Any] = {field.name: None for field in fields(Shared)}
    shared = Shared(**parts | {"configuration": start, "catalog": Catalog(), "stores": SharedStores(start, [])})
    for secret in ("rotated once", "rotated twice"):
        new = configuration(tmp_path)
        new.masks.add(secret)
        reloader = reloader_of(shared, Control(Pauses(tmp_path), start.pipelines))
        reloader._compare(new, Catalog())
        assert reloader._next is not None
        shared = reloader._next[0]
        assert start.masks.hide(secret) == MASK


def test_refused_reload_has_the_hint_of_its_error(tmp_path: Path):
    old = configuration(tmp_path)
    new = configuration(tmp_path, lambda content: content.update({"state_dir": str(tmp_path / "other")}))
    status = refused(tmp_path, old, new)
    assert status.hint == "restart the service"
    assert "cannot be reloaded" in status.reason


def test_sink_that_could_not_start_refuses_the_reload(tmp_path: Path):
    def archived(content: dict[str, Any], amount: str) -> None:
        columns = {"amount": {"value": "%{body}", "type": amount}}
        sink = {"archive": {"root": str(tmp_path / "archive"), "table": "customer", "columns": columns}}
        content["pipelines"]["a"]["sinks"].append(sink)

    old = configuration(tmp_path, lambda content: archived(content, "float64"))
    settings = old.pipelines["a"].sinks[1].settings
    assert isinstance(settings, ArchiveSettings)
    Writer(settings.open_table(), settings=settings).run(DAY_MS, [event(1)])
    status = refused(tmp_path, old, configuration(tmp_path, lambda content: archived(content, "int64")))
    assert 'column "amount" is int64 in the file, and float64 in "dt=20151210/' in status.reason


def test_pipeline_that_could_not_use_its_checkpoint_refuses_the_reload(tmp_path: Path) -> None:
    def elsewhere(content: dict[str, Any]) -> None:
        content["pipelines"]["a"]["source"] = {"files": {"path": str(tmp_path / "other")}}

    (tmp_path / "other").mkdir()
    old = configuration(tmp_path)
    checkpoint = Checkpoint(tmp_path / "state" / "checkpoints" / "a")
    checkpoint.folder.mkdir(parents=True)
    checkpoint.claim({"source": "files", "path": str(tmp_path / "in")})
    status = refused(tmp_path, old, configuration(tmp_path, elsewhere))
    assert f'was made for path "{tmp_path / "in"}", the configuration says "{tmp_path / "other"}"' in status.reason
    assert "give the pipeline another name" in status.hint


def with_tokens_from(url: str) -> Callable[[dict[str, Any]], None]:
    sasl = {"mechanism": "oauthbearer", "token_url": url, "client_id": "c", "client_secret": "${WORD:canary}"}
    source = {"kafka": {"brokers": "localhost:9092", "topics": ["t"], "security": {"sasl": sasl}}}
    return lambda content: content["pipelines"]["a"].update({"source": source})


def test_token_url_that_java_was_not_started_with_needs_a_restart(tmp_path: Path):
    old = configuration(tmp_path, with_tokens_from("http://localhost:1/token"))
    status = refused(tmp_path, old, configuration(tmp_path, with_tokens_from("http://localhost:2/token")))
    assert 'source "kafka" of pipeline "a" needs Java processes with' in status.reason
    assert "http://localhost:2/token" in status.reason
    assert status.hint == "restart the service"


def test_reload_waits_for_state_on_a_cluster_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_wait, "RETRY_S", 0.01)
    files = MemoryFiles()
    old, new = configuration(tmp_path), configuration(tmp_path, decorated)
    metrics = Metrics(old.pipelines, dropped_lines=lambda: 0)
    health = Health(old.pipelines, on_change=metrics.state)
    shared = Shared(
        old,
        Catalog(),
        metrics,
        health,
        Activity(),
        SharedStores(old, ()),
        RetentionWatches(metrics, Activity()),
        once=False,
        follow=lambda _name, _totals: None,
    )
    control = Control(Pauses(files.root()), old.pipelines)
    unbuilt: dict[str, BaseException] = {}
    wait = state_wait.StateWait(files.root(), Stop(), health, once=False)
    reloader = reloader_of(shared, control, lambda: (new, Catalog()), wait=wait, unbuilt=unbuilt)

    def build(_shared: Shared, plan: Plan) -> Any:
        with file_errors(files.root()):
            (files.root() / plan.pipeline).exists()
        return SimpleNamespace(name=plan.pipeline, close=lambda: None, attach=lambda _session: None)

    monkeypatch.setattr(reloading, "build_pipeline", build)
    reloader.begin(old.pipelines)
    assert reached(lambda: not reloader.is_working, 30)
    files.is_away = True
    reloader.build()
    assert reached(lambda: health.snapshot()[0].state is State.BLOCKED, 30)
    assert reloader.is_working
    files.is_away = False
    assert reached(lambda: not reloader.is_working, 30)
    assert [pipeline.name for pipeline in reloader.take()] == ["a"]
    assert (control.reload_status.phase, control.reload_status.failed, unbuilt) == (Phase.DONE, {}, {})


def test_pipeline_that_cannot_be_attached_is_closed(tmp_path: Path) -> None:
    start = configuration(tmp_path)
    parts: dict[str, Any] = {field.name: None for field in fields(Shared)}
    shared = Shared(**parts | {"configuration": start, "catalog": Catalog(), "stores": SharedStores(start, [])})
    opened = ExitStack()
    reloader = reloader_of(shared, Control(Pauses(tmp_path), start.pipelines), opened=opened)
    closed: list[str] = []

    def attach(_session: object) -> None:
        if not closed:
            raise NotFoundError("no session")

    def build() -> Any:
        return SimpleNamespace(close=lambda: closed.append("a"), attach=attach)

    with pytest.raises(NotFoundError):
        reloader._pipeline("a", build)
    assert closed == ["a"]
    reloader._pipeline("a", build)
    reloader._pipeline("a", build)  # the supervisor has closed the one before
    assert closed == ["a"]
    opened.close()
    assert closed == ["a", "a"]


def built_reloader(
    folder: Path, monkeypatch: pytest.MonkeyPatch, build: Callable[[str], Any], opened: ExitStack
) -> tuple[reloading.Reloader, Control]:
    """A reload of both pipelines, which are to be built now."""
    old = configuration(folder)

    def both(content: dict[str, Any]) -> None:
        for pipeline in content["pipelines"].values():
            pipeline["max_rate"] = 100

    new = configuration(folder, both)
    new.masks.add("s3cret")
    metrics = Metrics(old.pipelines, process=False)
    health = Health(old.pipelines, mask=old.masks.hide)
    shared = Shared(
        old,
        Catalog(),
        metrics,
        health,
        Activity(mask=old.masks.hide),
        SharedStores(old, ()),
        RetentionWatches(metrics, Activity()),
        once=False,
        follow=lambda _name, _totals: None,
    )
    control = Control(Pauses(folder), old.pipelines)
    wait = state_wait.StateWait(folder, Stop(), health, once=False)
    monkeypatch.setattr(reloading, "build_pipeline", lambda _shared, plan: build(plan.pipeline))
    reloader = reloader_of(shared, control, lambda: (new, Catalog()), wait=wait, opened=opened)
    reloader.begin(old.pipelines)
    assert reached(lambda: not reloader.is_working, 30)
    assert control.reload_status.changed == ("a", "b"), control.reload_status
    reloader.build()
    return reloader, control


def test_stop_while_pipelines_are_built_closes_those_that_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built, closed, may_end = threading.Event(), [], threading.Event()

    def build(name: str) -> Any:
        built.set()
        may_end.wait(30)
        return SimpleNamespace(name=name, close=lambda: closed.append(name), attach=lambda _session: None)

    opened = ExitStack()
    reloader, _ = built_reloader(tmp_path, monkeypatch, build, opened)
    assert built.wait(30)
    threading.Timer(0.2, may_end.set).start()
    opened.close()
    assert (closed, reloader.is_working) == (["a"], False)


def test_pipeline_that_cannot_be_built_is_in_the_status_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(name: str) -> Any:
        raise NotFoundError(f"no topic s3cret of {name}")

    reloader, control = built_reloader(tmp_path, monkeypatch, build, ExitStack())
    assert reached(lambda: not reloader.is_working, 30)
    assert control.reload_status.failed == {name: f"no topic {MASK} of {name}" for name in "ab"}
    [error] = reloader.shared.activity.of("a")["errors"]
    assert (error["code"], MASK in error["message"]) == ("not_found", True)
    assert [each.reason for each in reloader.shared.health.snapshot()] == [
        f"no topic {MASK} of {name}" for name in "ab"
    ]


class Reloader:
    """A fake that replaces the pipelines of a supervisor by others."""

    def __init__(self, leaving: frozenset[str], new: list[Any]) -> None:
        self.leaving = leaving
        self.is_working = False
        self.shared = object()
        self.status = ReloadStatus()
        self._new = new

    @property
    def is_active(self) -> bool:
        return self.status.phase in (Phase.REPLACING, Phase.BUILDING)

    def begin(self, running: object) -> None:
        self.status = ReloadStatus(Phase.REPLACING)

    def build(self) -> None:
        self.status = ReloadStatus(Phase.BUILDING)

    def take(self) -> list[Any]:
        self.status = ReloadStatus(Phase.DONE)
        return self._new

    def stop(self) -> None:
        """No thread runs."""


class HeldJobs:
    """A fake whose job of the pipeline that leaves ends at the third look, or later."""

    def __init__(self, reloader: Reloader, looks: int = 3) -> None:
        self._reloader = reloader
        self._needed = looks
        self.looks: list[tuple[frozenset[str], Phase]] = []
        self.released: object = None

    @property
    def has_ended(self) -> bool:
        return len(self.looks) >= self._needed

    def hold(self, pipelines: frozenset[str]) -> bool:
        self.looks.append((pipelines, self._reloader.status.phase))
        return self.has_ended

    def release(self, shared: object) -> None:
        self.released = shared

    def stop(self) -> None:
        pass


def supervised(old: Bench, reloader: Reloader, jobs: "HeldJobs", **options: Any) -> Supervisor:
    """A supervisor of a pipeline that a reload replaces."""
    return Supervisor(
        [old.member],
        old.control,
        reloader,
        once=False,
        jobs=jobs,
        stop=old.stop,
        stop_timeout_s=1.0,
        **{"is_alive": lambda: True} | options,
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("cause", ["command", "SIGHUP", "SIGHUP before the supervisor is made"])
def test_replaced_pipeline_ends_after_its_batch_and_the_service_waits_for_the_new_one(
    monkeypatch: pytest.MonkeyPatch, cause: str
):
    monkeypatch.setattr(module, "POLL_S", 0.001)

    def start(bench: Bench) -> None:
        bench.query.is_drained = False
        reload()

    def reload() -> None:
        if cause == "command":
            old.control.reload()
        elif cause == "SIGHUP":
            old.stop.hang_ups += 1

    def start_new(bench: Bench) -> None:
        bench.query.has_ended = True

    old, new = Bench(start), Bench(start_new)
    closed: list[str] = []
    old.pipeline.close = lambda: closed.append("old")
    old.pipeline.has_stopped = lambda: True
    reloader = Reloader(frozenset(["p"]), [new.pipeline])
    refusing = old.query.refuse_batches

    def refuse() -> None:
        refusing()
        assert (closed, jobs.has_ended) == ([], True)
        old.query.is_drained = True

    old.query.refuse_batches = refuse  # type: ignore[method-assign]
    jobs = HeldJobs(reloader)
    if cause == "SIGHUP before the supervisor is made":
        old.stop.hang_ups += 1
    supervisor = supervised(old, reloader, jobs)
    end = threading.Timer(30, old.stop.request)  # only a failing test waits so long
    end.start()
    assert supervisor.run() == []
    end.cancel()
    assert (closed, old.stops, new.starts, new.state) == (["old"], 1, 1, State.STOPPED)
    assert [pipeline for pipeline in supervisor.pipelines if pipeline is old.pipeline] == []
    # the jobs of the pipeline have ended before the new one is built, and run again after that
    assert set(jobs.looks) == {(frozenset(["p"]), Phase.REPLACING)}
    assert len(jobs.looks) > 2
    assert jobs.released is reloader.shared


def test_start_that_hangs_is_reported_while_a_reload_waits_for_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "POLL_S", 0.001)
    monkeypatch.setattr(member_module, "START_SLOW_S", 0.05)
    returns = threading.Event()

    def start(bench: Bench) -> None:
        bench.control.reload()
        returns.wait(30)

    old = Bench(start)
    reloader = Reloader(frozenset(["p"]), [])
    old.pipeline.close = lambda: None
    old.pipeline.has_stopped = lambda: True
    run = threading.Thread(target=supervised(old, reloader, HeldJobs(reloader, looks=1)).run)
    run.start()
    try:
        assert reached(lambda: old.state is State.BLOCKED, 30)
        assert reloader.status.phase is Phase.REPLACING
    finally:
        returns.set()
        old.stop.request()
        run.join(30)


def test_task_that_outlives_its_pipeline_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(module, "POLL_S", 0.001)
    monkeypatch.setattr(member_module, "TASKS_SLOW_S", 0.0)
    set_up()

    def start_new(bench: Bench) -> None:
        bench.query.has_ended = True

    old, new = Bench(lambda bench: bench.control.reload()), Bench(start_new)
    looks = iter([False] * 5)
    old.pipeline.close = lambda: None
    old.pipeline.has_stopped = lambda: next(looks, True)
    reloader = Reloader(frozenset(["p"]), [new.pipeline])
    supervisor = supervised(old, reloader, HeldJobs(reloader))
    assert supervisor.run() == []
    messages = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
    assert [each for each in messages if "a task of the stopped pipeline still runs" in each] == [
        "a task of the stopped pipeline still runs, and is waited for"
    ]
    assert new.starts == 1


def test_watchdog_gets_pings_while_a_reload_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "POLL_S", 0.001)
    pings: list[Phase] = []

    class Pinged(ServiceManager):
        def alive(self) -> None:
            pings.append(reloader.status.phase)

    class Slow(Reloader):
        """A fake whose thread builds until the supervisor has sent some pings."""

        def build(self) -> None:
            super().build()
            self.is_working = True

        def wait(self) -> None:
            self.is_working = self.is_working and pings.count(Phase.BUILDING) < 20

    def start(bench: Bench) -> None:
        bench.control.reload()

    def start_new(bench: Bench) -> None:
        bench.query.has_ended = True

    old, new = Bench(start), Bench(start_new)
    old.pipeline.close = lambda: None
    old.pipeline.has_stopped = lambda: True
    reloader = Slow(frozenset(["p"]), [new.pipeline])

    def is_alive() -> bool:
        reloader.wait()
        return True

    supervisor = supervised(old, reloader, HeldJobs(reloader, looks=20), is_alive=is_alive, service_manager=Pinged())
    assert supervisor.run() == []
    # while it waits for a job, and while it builds
    assert pings.count(Phase.REPLACING) >= 19
    assert pings.count(Phase.BUILDING) >= 20
