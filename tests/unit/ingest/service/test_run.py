"""Service runs in which Spark, a pipeline or the state does not start."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from ingest.api import CheckpointError, ConflictError, IngestError, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.durable.lock import FolderLock
from ingest.plan.plan import Plan
from ingest.service import run as run_module
from ingest.service import startup, state_folders, state_wait
from ingest.service.building import build_pipeline
from ingest.service.lifecycle import Stop
from ingest.service.pipeline import LivePipeline
from ingest.service.run import Outcome, RunOptions, run
from ingest.service.shared import Shared
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
    for module in (run_module, state_folders):
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
            raise StoreUnavailableError("away", code="state_unavailable")
        return build_pipeline(shared, plan, start_from, checkpoint)

    monkeypatch.setattr(startup, "build_pipeline", build)
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
