"""The state of a service is in HDFS: its driver is killed, suspended and replaced, and the NameNode is restarted."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.durable.lease import VALID_S
from tests.support.hdfs import Hdfs, HdfsPath
from tests.support.ledger.run import LedgerRun
from tests.support.names import unique
from tests.support.service import environment

EXIT_CONFLICT = 4

pytestmark = pytest.mark.one_protocol("the state is tested")


@pytest.fixture
def run(ledger_run, hdfs: Hdfs, request: pytest.FixtureRequest) -> LedgerRun:
    folder = f"/{unique('state')}/service"
    content = {
        "state_dir": f"{hdfs.url}{folder}",
        # one DataNode
        "spark": {"conf": {"spark.hadoop.dfs.replication": "1"}},
    }
    run: LedgerRun = ledger_run(
        f"HDFS {request.node.originalname}", store="hbase", batch_size=1_000, content=content, dead_letters="kafka"
    )
    run.service.state = HdfsPath(hdfs, folder)
    return run


def another_driver(run: LedgerRun, folder: Path) -> subprocess.CompletedProcess[str]:
    """The same pipeline file on another machine: another working folder, which has no state."""
    folder.mkdir()
    file = folder / "pipeline.yaml"
    file.write_text(run.service.file.read_text())
    command = [sys.executable, "-m", "ingest", "run", str(file)]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=180, check=False
    )


def kill_and_move(run: LedgerRun, folder: Path) -> None:
    """Kill the service, and lose its machine: another folder has the pipeline file and no local state."""
    run.kill()
    run.check_while_dead()
    shutil.rmtree(run.service.folder / "data")
    run.service.move(folder)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_driver_is_killed_and_another_machine_resumes(run: LedgerRun, tmp_path: Path) -> None:
    run.produce(3_000)
    run.start()
    run.service.wait_for_batches(2, run.pipeline)

    second = another_driver(run, tmp_path / "second")
    assert second.returncode == EXIT_CONFLICT, second.stderr
    assert f"is in use by pid {run.service.pid} on {os.uname().nodename} since 20" in second.stderr
    run.produce(500)
    run.service.wait_for_batches(1, run.pipeline)

    with run.produce_in_background(rate=100):
        kill_and_move(run, tmp_path / "third")
        started = time.monotonic()
        run.start()
        run.proven(f"resumed after {time.monotonic() - started:.0f} s")
        run.service.wait_for_batches(3, run.pipeline)
    assert "then taking over" in run.service.log.read_text()
    run.finish()
    # a clean stop releases the lease, so the next start does not wait
    assert run.service.run_once() == 0
    assert run.service.log.read_text().count("then taking over") == 1


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_submitted_driver_is_killed_and_another_machine_resumes(run: LedgerRun, tmp_path: Path) -> None:
    def start() -> None:
        run.begin_submitted()
        run.service.wait_for_state("running", run.pipeline)

    run.produce(3_000)
    start()
    run.service.wait_for_batches(2, run.pipeline)
    with run.produce_in_background(rate=100):
        kill_and_move(run, tmp_path / "second")
        start()
        run.service.wait_for_batches(3, run.pipeline)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_commands_use_the_state_without_a_service(run: LedgerRun) -> None:
    run.produce(500)
    assert run.service.run_once() == 0
    shown = run.service.ingest("offsets show", "--output", "json")
    assert shown.returncode == 0, shown.stderr
    assert {part["lag"] for part in json.loads(shown.stdout)["partitions"]} == {0}
    refused = run.service.ingest("offsets reset", "--to", "earliest")
    assert refused.returncode == EXIT_CONFLICT, refused.stderr
    assert "is in HDFS, which cannot exchange two folders in one act" in refused.stderr
    for command, markers in (("pause", [run.pipeline]), ("resume", [])):
        done = run.service.ingest(command)
        assert done.returncode == 0, done.stderr
        assert [path.name for path in (run.service.state / "paused").iterdir()] == markers


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_namenode_is_restarted_under_load(run: LedgerRun, hdfs: Hdfs) -> None:
    run.produce(2_000)
    run.start()
    run.service.wait_for_batches(2, run.pipeline)
    with run.produce_in_background(rate=100):
        hdfs.namenode.kill()
        run.service.wait_for_state("blocked", run.pipeline)
        run.proven("the pipeline is blocked without a NameNode")
        time.sleep(VALID_S + 5)  # longer than the lease is valid
        hdfs.start()
        run.service.wait_for_batches(3, run.pipeline)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_start_without_a_namenode_waits_and_sigterm_ends_the_wait(run: LedgerRun, hdfs: Hdfs) -> None:
    def waits(times: int) -> None:
        lines = run.service.log.read_text
        run.service.wait_for(lambda: lines().count("the start waits for the state") == times, "the NameNode", 120)

    run.produce(1_000)
    hdfs.namenode.kill()
    run.service.start()
    waits(1)
    assert run.service.stop(timeout_s=15) == 0
    hdfs.start()
    run.begin()
    hdfs.namenode.kill()  # Spark's JVM starts first, which takes seconds
    waits(2)
    hdfs.start()
    run.proven("a start without a NameNode waited")
    run.service.wait_for_state("running", run.pipeline)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("point", ["before_send:6", "before_commit:2"])
def test_suspended_driver_writes_late_and_is_fenced(run: LedgerRun, tmp_path: Path, point: str) -> None:
    """The driver is suspended after its last check, while a task sends rows or before Spark writes the commit."""
    points = tmp_path / "points"
    points.mkdir()
    held = points / point.partition(":")[0]
    run.produce(3_000)
    run.start(env={"INGEST_FAILPOINT": f"{point}:hold", "INGEST_FAILPOINT_FOLDER": str(points)})
    with run.produce_in_background(rate=100):
        run.service.wait_for(held.exists, "a micro-batch at the failpoint", 180)
        for process in run.service.processes():
            process.suspend()
        zombie = run.service.leave(tmp_path / "second")
        try:
            run.start()
            run.service.wait_for_batches(3, run.pipeline)
            held.unlink()
            for process in zombie.processes():
                process.resume()
            assert zombie.wait_for_exit(120) == EXIT_CONFLICT, zombie.last_lines()
            run.proven(f"late {point}, ended with {EXIT_CONFLICT}")
            assert "has taken it" in zombie.last_lines()
            run.service.wait_for_batches(3, run.pipeline)
        finally:
            zombie.close()
    run.finish()
