"""Regions are moved, split and merged; region servers and the master are killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import HBaseCluster, running_cluster
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.local import ServerProcess
from tests.support.servers import HBase

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("protocol")]

RATE = 500


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    with running_cluster(servers_folder / "cluster") as hbase:
        yield hbase


@pytest.fixture
def admin(cluster: HBase) -> Iterator[Admin]:
    cluster.start()
    with Admin(cluster.server) as client:
        yield client


def started(ledger_run: LedgerRuns, fault: str, cluster: HBase, **options: object) -> LedgerRun:
    run = ledger_run(fault, store="hbase", hbase=cluster, store_options={"timeout": "60s"}, **options)
    run.produce(3_000)
    run.start()
    run.wait_acknowledged()
    return run


def kill_server_of(run: LedgerRun, admin: Admin, cluster: HBase) -> ServerProcess:
    """Kill the region server that has the table."""
    assert isinstance(cluster.server, HBaseCluster)
    (address,) = set(admin.regions(run.table).values())
    process = cluster.server.serving(address)
    pid = process.pid
    process.kill()
    run.proven(f"SIGKILL to {process.name}, pid {pid}, which had the table")
    return process


def test_region_server_killed_with_wal(ledger_run: LedgerRuns, cluster: HBase, admin: Admin) -> None:
    """F10: once right after an acknowledgement, when all rows are only in the WAL, and once under load."""
    run = started(ledger_run, "F10 region server killed, WAL on", cluster)
    killed = kill_server_of(run, admin, cluster)
    run.produce(1_000)
    run.wait_acknowledged()
    cluster.server.start_one(killed)
    with run.produce_in_background(RATE):
        run.service.wait_for_batches(3, run.pipeline)
        killed = kill_server_of(run, admin, cluster)
        run.service.wait_for_batches(3, run.pipeline)
    cluster.server.start_one(killed)
    run.finish()


def test_region_server_killed_without_wal(ledger_run: LedgerRuns, cluster: HBase, admin: Admin) -> None:
    """F10: exactly the rows acknowledged after the last flush are lost."""
    run = started(ledger_run, "F10 region server killed, WAL off", cluster, sink={"write_to_wal": False})
    admin.ask("flush", run.table)
    flushed = run.producer.sent
    run.produce(2_000)
    run.wait_acknowledged()
    predicted = run.predict_lost(range(flushed, run.producer.sent))
    killed = kill_server_of(run, admin, cluster)
    run.produce(1_000)
    run.wait_acknowledged()
    run.finish(lost_predicted=predicted)
    cluster.server.start_one(killed)


def test_regions_move_split_and_merge(ledger_run: LedgerRuns, cluster: HBase, admin: Admin) -> None:
    """F11: under load, without any effect for the user."""
    run = started(ledger_run, "F11 regions moved, split, merged", cluster)
    with run.produce_in_background(RATE):
        for commands in (("split", "split"), ("merge",)):
            before = admin.regions(run.table)
            assert int(admin.ask("move", run.table)) == len(before)
            after = admin.regions(run.table)
            assert all(before[region] != after[region] for region in before)
            run.service.wait_for_batches(1, run.pipeline)
            run.proven(f"{len(before)} regions moved")
            for command in commands:
                counted = admin.ask(command, run.table).split()
                assert counted[0] != counted[1]
                run.service.wait_for_batches(1, run.pipeline)
                run.proven(f"{command} from {counted[0]} to {counted[1]} regions")
        admin.ask("balance")
        run.service.wait_for_batches(3, run.pipeline)
    run.finish()


@pytest.mark.seeds(1)
def test_writes_continue_while_the_master_restarts(
    ledger_run: LedgerRuns, cluster: HBase, admin: Admin, protocol: str
) -> None:
    """F11: killed under load and restarted later; writes need no master."""
    run = started(ledger_run, "F11 master restarted", cluster)
    with run.produce_in_background(RATE):
        run.service.wait_for_batches(2, run.pipeline)
        pid = cluster.server.hbase.pid
        cluster.kill("hbase")
        run.service.wait_for_batches(5, run.pipeline)
        cluster.start()
        run.service.wait_for_batches(2, run.pipeline)
        run.proven(f"SIGKILL to the master, pid {pid}, now {cluster.server.hbase.pid}")
    run.finish()
