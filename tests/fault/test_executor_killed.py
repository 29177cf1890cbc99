"""F02: an executor of a standalone cluster is killed under load; Spark starts another one, which repeats its tasks."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.ledger.run import LedgerRun, merged
from tests.support.spark_cluster import SparkCluster

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


@pytest.fixture
def cluster(servers_folder: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(servers_folder / "spark-of-executors")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def executors(cluster: SparkCluster) -> list[int]:
    """Pids of the executors of this cluster, found by their working directory."""
    folder = str(cluster.folder)
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if EXECUTOR in (process.info["cmdline"] or ()) and str(process.info["cwd"]).startswith(folder):
            found.append(process.pid)
    return found


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f02_executor_killed_under_load(ledger_run, cluster: SparkCluster) -> None:
    run: LedgerRun = ledger_run("F02 executor", store="hbase", batch_size=1_000)
    conf = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    run.service.write(merged(run.content(), {"spark": {"master": cluster.master, "conf": conf}}))
    run.produce(4_000)
    run.begin_submitted()
    run.service.wait_for_batches(1, run.pipeline)
    checkpoint = run.service.checkpoint(run.pipeline)
    with run.produce_in_background(rate=1_000):
        for _ in range(2):
            found: list[int] = []

            def is_there(found: list[int] = found) -> bool:
                found[:] = executors(cluster)
                return bool(found) and checkpoint.is_inside_a_batch()

            run.service.wait_for(is_there, "a batch")
            victim = found[0]
            os.kill(victim, signal.SIGKILL)
            run.service.wait_for(lambda gone=victim: not psutil.pid_exists(gone), "the executor to be gone")
            run.proven(f"SIGKILL of executor {victim}")
            run.service.wait_for_batches(3, run.pipeline)
    run.finish()
