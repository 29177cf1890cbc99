"""
F02: executors, workers and the master of a standalone cluster are killed under load.

Spark replaces the executors, which repeat their tasks; a restarted master knows the running application.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.ledger.run import LedgerRun, merged
from tests.support.names import unique
from tests.support.spark_cluster import WORKERS, SparkCluster


@pytest.fixture
def cluster(servers_folder: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(servers_folder / unique("spark"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def begin(run: LedgerRun, cluster: SparkCluster) -> None:
    """Start the service with spark-submit on the cluster, and wait for its first batch."""
    conf = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    run.service.write(merged(run.content(), {"spark": {"master": cluster.master, "conf": conf}}))
    run.produce(4_000)
    run.begin_submitted()
    run.service.wait_for_batches(1, run.pipeline)


def wait_inside_a_batch(run: LedgerRun) -> None:
    run.service.wait_for(run.service.checkpoint(run.pipeline).is_inside_a_batch, "a batch")


def kill_executors(run: LedgerRun, pids: list[int]) -> None:
    """Kill processes, and wait until they are gone and three batches later are acknowledged."""
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    run.service.wait_for(lambda: not any(map(psutil.pid_exists, pids)), "the executors to be gone")
    run.proven(f"SIGKILL of executor {', '.join(map(str, pids))}")
    run.service.wait_for_batches(3, run.pipeline)


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
def test_f02_executor_killed_under_load(ledger_run, cluster: SparkCluster) -> None:
    run: LedgerRun = ledger_run("F02 executor", store="hbase", batch_size=1_000)
    begin(run, cluster)
    with run.produce_in_background(rate=1_000):
        for _ in range(2):
            run.service.wait_for(lambda: bool(cluster.executors()), "an executor")
            wait_inside_a_batch(run)
            kill_executors(run, cluster.executors()[:1])
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("the test above kills executors with both protocols")
def test_f02_worker_and_master_killed_under_load(ledger_run, cluster: SparkCluster) -> None:
    run: LedgerRun = ledger_run("F02 worker and master", store="hbase", batch_size=1_000)
    begin(run, cluster)

    def all_executors() -> bool:
        return len(cluster.executors()) == WORKERS

    with run.produce_in_background(rate=500):
        for number in range(WORKERS):
            run.service.wait_for(all_executors, "an executor on each worker")
            wait_inside_a_batch(run)
            run.proven(f"SIGKILL of worker {cluster.kill_worker(number)}")
            run.service.wait_for(lambda: len(cluster.executors()) < WORKERS, "the end of its executor")
            run.service.wait_for_batches(3, run.pipeline)
            cluster.start()
        run.service.wait_for(all_executors, "an executor on each worker")
        wait_inside_a_batch(run)
        run.proven(f"SIGKILL of master {cluster.kill_master()}")
        run.service.wait_for_batches(3, run.pipeline)
        cluster.start()
        kill_executors(run, cluster.executors())
    run.finish()
