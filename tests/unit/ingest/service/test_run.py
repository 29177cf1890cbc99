"""Service runs in which Spark, a pipeline or the state does not start."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import SparkContext

from ingest.api import CheckpointError, ConflictError, IngestError, PositionLostError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.durable.files import StateUnavailableError
from ingest.durable.lock import FolderLock
from ingest.plan.plan import Plan
from ingest.service import building, state_folders, state_wait
from ingest.service import run as run_module
from ingest.service.building import build_pipeline
from ingest.service.lifecycle import Stop
from ingest.service.pipeline import LivePipeline
from ingest.service.run import Outcome, RunOptions, run
from ingest.service.shared import Shared
from ingest.spark import state as spark_state
from ingest.spark.errors import JvmLostError
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.remote_files import MemoryFiles

# PySpark does not clean up after a JVM that did not start
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

WAIT_S = 30.0  # for the first look at the state; only a failing test waits so long
PLAIN = {
    "version": 1,
    "state_dir": "state",
    "stores": {"s": {"rocksdb": {"path": "store"}}},
    "service": {"http": {"listen": "127.0.0.1:0"}},
    "pipelines": {
        "p": {
            "source": {"files": {"path": "."}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "t"}}],
        }
    },
}


@pytest.fixture(autouse=True)
def _java_that_exits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 143\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    for name in ("_gateway", "_jvm"):  # PySpark keeps the JVM of an earlier test in this process, and would use it
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.chdir(tmp_path)


def run_stopped_by(stop: Stop) -> Outcome:
    Path("pipeline.yaml").write_text(json.dumps(PLAIN))
    catalog = Catalog()
    return run(load("pipeline.yaml", env={}, lookup=catalog), catalog, RunOptions(), stop)


def test_signal_during_the_start_of_spark_is_not_a_failure():
    stop = Stop()
    stop.request()
    outcome = run_stopped_by(stop)
    assert (list(outcome.totals), outcome.errors, outcome.exit_code) == (["p"], [], 0)


def test_spark_that_does_not_start_is_a_failure():
    with pytest.raises(IngestError, match="Java"):
        run_stopped_by(Stop())


def two_pipelines(*, damaged: tuple[str, ...]) -> None:
    """Write a file with the pipelines p and q; the checkpoints of some are damaged: a commit without its offsets."""
    Path("pipeline.yaml").write_text(json.dumps({**PLAIN, "pipelines": dict.fromkeys("pq", PLAIN["pipelines"]["p"])}))
    for name in damaged:
        commits = Path("state", "checkpoints", name, "commits")
        commits.mkdir(parents=True)
        (commits / "0").write_text("v1\n{}")


def run_file(stop: Stop) -> Outcome:
    catalog = Catalog()
    return run(load("pipeline.yaml", env={}, lookup=catalog), catalog, RunOptions(), stop)


def test_pipeline_that_cannot_start_fails_and_determines_the_exit_code():
    two_pipelines(damaged=("p",))
    stop = Stop()
    stop.request()
    outcome = run_file(stop)
    (error,) = outcome.errors
    assert isinstance(error, CheckpointError)
    assert (list(outcome.totals), outcome.exit_code) == (["p", "q"], 5)


def test_run_ends_with_the_first_error_when_no_pipeline_can_start():
    two_pipelines(damaged=("p", "q"))
    with pytest.raises(CheckpointError, match="checkpoints/p/") as refused:
        run_file(Stop())
    assert (refused.value.hint or "").endswith("move it away and start again, which reads everything again")


@pytest.fixture
def running() -> Iterator[Path]:
    """The file with the address of a service that runs with the same `state_dir`."""
    address = Path("state", "control", "url")
    with FolderLock(address.parent, kind="folder of the commands", hint=""):
        address.write_text("http://127.0.0.1:1")
        yield address


def test_second_service_with_a_state_dir_is_refused_and_the_commands_reach_the_first(running: Path):
    two_pipelines(damaged=())
    with pytest.raises(ConflictError, match='folder of the commands "state/control" is in use by pid') as refused:
        run_file(Stop())
    assert "another state_dir" in (refused.value.hint or "")
    assert running.read_text() == "http://127.0.0.1:1"


def test_locked_checkpoint_is_reported_before_the_folder_of_the_commands(running: Path):
    Path("pipeline.yaml").write_text(json.dumps(PLAIN))
    with (
        FolderLock(Path("state", "checkpoints", "p"), kind="checkpoint", hint=""),
        pytest.raises(ConflictError, match=r"checkpoint .* is in use"),
    ):
        run_file(Stop())
    assert running.read_text() == "http://127.0.0.1:1"


def test_once_beside_a_service_runs_and_is_not_reached_by_the_commands(running: Path):
    two_pipelines(damaged=())
    catalog = Catalog()
    with pytest.raises(IngestError, match="Java"):  # the start continued
        run(load("pipeline.yaml", env={}, lookup=catalog), catalog, RunOptions(once=True), Stop())
    assert running.read_text() == "http://127.0.0.1:1"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryFiles:
    """A file system of a cluster that has the state of the run."""
    files = MemoryFiles()
    monkeypatch.setattr(state_wait, "RETRY_S", 0.01)
    for module in (run_module, state_folders, spark_state):
        monkeypatch.setattr(module, "state_of", lambda _configuration: files.root())
    return files


def test_start_waits_for_state_on_a_cluster(cluster: MemoryFiles, capsys: pytest.CaptureFixture[str]):
    two_pipelines(damaged=())
    cluster.is_away = True

    def answer() -> None:
        cluster.refused.wait(WAIT_S)
        cluster.is_away = False

    threading.Thread(target=answer).start()
    with pytest.raises(IngestError, match="Java"):  # the start continued
        run_file(Stop())
    assert "the start waits for the state" in "".join(capsys.readouterr())
    assert {path.name for path in (cluster.root() / "checkpoints").iterdir()} == {"p", "q"}


def test_pipeline_is_built_again_if_its_state_was_lost_meanwhile(cluster: MemoryFiles, monkeypatch: pytest.MonkeyPatch):
    two_pipelines(damaged=())
    built: list[str] = []

    def build(shared: Shared, plan: Plan, start_from: str | None, checkpoint: Checkpoint) -> LivePipeline:
        built.append(plan.pipeline)
        checkpoint.check_locked()
        if len(built) == 1:
            checkpoint.unlock()
            raise StateUnavailableError("away")
        return build_pipeline(shared, plan, start_from, checkpoint)

    monkeypatch.setattr(building, "build_pipeline", build)
    with pytest.raises(IngestError, match="Java"):
        run_file(Stop())
    assert built == ["p", "p", "q"]


def test_signal_ends_a_start_that_waits_for_state(cluster: MemoryFiles):
    two_pipelines(damaged=())
    cluster.is_away = True
    stop = Stop()

    def end() -> None:
        cluster.refused.wait(WAIT_S)
        stop.request()

    threading.Thread(target=end).start()
    outcome = run_file(stop)
    assert (list(outcome.totals), outcome.errors, outcome.exit_code) == (["p", "q"], [], 0)


class Runs:
    """Stands for the runs of a service, one for each JVM; each has the next of the outcomes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.start_from: list[str | None] = []
        self.ran: list[tuple[object, object]] = []
        self.forgotten = 0
        monkeypatch.setattr(run_module, "_run", self.run)
        monkeypatch.setattr(run_module, "forget_java", self.forget)

    def run(self, configuration: object, catalog: object, options: RunOptions, *_others: object) -> Outcome:
        self.ran.append((configuration, catalog))
        self.start_from.append(options.start_from)
        return self.outcomes.pop(0)

    def forget(self) -> None:
        self.forgotten += 1

    def of_service(self, stop: Stop) -> Outcome:
        """The outcome of a service with one pipeline."""
        Path("pipeline.yaml").write_text(json.dumps(PLAIN))
        catalog = Catalog()
        options = RunOptions(start_from="earliest")
        return run(load("pipeline.yaml", env={}, lookup=catalog), catalog, options, stop)


def lost(*explained: tuple[str, int]) -> Outcome:
    """Of a run whose JVM has ended."""
    return Outcome({}, [JvmLostError("the Java process of Spark has ended")], 1, (), frozenset(explained))


def test_death_that_is_explained_starts_spark_again(monkeypatch: pytest.MonkeyPatch):
    runs = Runs(monkeypatch, lost(("p", 3)), lost(("p", 4)), Outcome({}, [], 0))
    assert runs.of_service(Stop()).exit_code == 0
    assert (runs.forgotten, runs.start_from) == (2, ["earliest"] * 3)  # there is no checkpoint yet


def test_spark_is_started_again_with_the_configuration_of_the_last_reload(monkeypatch: pytest.MonkeyPatch):
    Path("reloaded.yaml").write_text(json.dumps(PLAIN))
    catalog = Catalog()
    reloaded = load("reloaded.yaml", env={}, lookup=catalog), catalog
    runs = Runs(monkeypatch, replace(lost(("p", 3)), in_force=reloaded), lost(("p", 4)), Outcome({}, [], 0))
    runs.of_service(Stop())
    assert runs.ran[0] != reloaded
    assert runs.ran[1:] == [reloaded, reloaded]


def test_each_death_starts_spark_once(monkeypatch: pytest.MonkeyPatch):
    runs = Runs(monkeypatch, lost(("p", 3)), lost(("p", 3)))
    assert runs.of_service(Stop()).exit_code == 1
    assert runs.forgotten == 1


def test_death_without_a_reason_ends_the_service(monkeypatch: pytest.MonkeyPatch):
    runs = Runs(monkeypatch, lost())
    assert (runs.of_service(Stop()).exit_code, runs.forgotten) == (1, 0)


def test_service_that_was_asked_to_stop_does_not_start_spark_again(monkeypatch: pytest.MonkeyPatch):
    stop = Stop()
    stop.request()
    runs = Runs(monkeypatch, lost(("p", 3)))
    assert (runs.of_service(stop).exit_code, runs.forgotten) == (1, 0)


def test_pipelines_resume_at_their_checkpoints_when_spark_starts_again(monkeypatch: pytest.MonkeyPatch):
    offsets = Path("state", "checkpoints", "p", "offsets")
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1\n{}\n{}")
    runs = Runs(monkeypatch, lost(("p", 0)), Outcome({}, [], 0))
    runs.of_service(Stop())
    assert runs.start_from == ["earliest", None]


class Dead:
    """A pipeline whose micro-batch explains a death, or not."""

    def __init__(self, explained: tuple[str, int] | None) -> None:
        self.explained = explained

    def explains_death(self) -> tuple[str, int] | None:
        return self.explained


@pytest.mark.parametrize(
    ("error", "variables", "expected"),
    [
        (JvmLostError, {}, {("p", 3)}),
        (PositionLostError, {}, set()),
        (JvmLostError, {"NOTIFY_SOCKET": "/run/systemd/notify"}, set()),  # systemd starts the service again
        (JvmLostError, {"PYSPARK_GATEWAY_PORT": "1"}, set()),  # the JVM of spark-submit was the parent
    ],
)
def test_only_a_lost_jvm_is_explained(monkeypatch: pytest.MonkeyPatch, error, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    pipelines = [Dead(("p", 3)), Dead(None)]
    assert run_module._explained(pipelines, [error("ended")]) == expected  # type: ignore[arg-type]
