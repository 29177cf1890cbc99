"""A backlog is loaded as files while the service and HBase are killed and regions change; BACKLOG is its events."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import HBaseCluster, running_cluster
from tests.support.killed_at import killed_at
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.servers import HBase

BACKLOG = int(os.environ.get("BACKLOG", "120000"))
BATCHES = 30
"""Micro-batches of the backlog: enough for all that happens while it is read."""
MIN_READ_S = 150
"""Seconds that the backlog takes at least: a quick machine has read it before all has happened."""
RECOVERY_S = 300.0
LONG_S = 3600.0
ROWS, UNSTAGED = "attr2hbase_bulk_load_rows_total", "attr2hbase_bulk_load_unstaged_total"

pytestmark = [pytest.mark.slow, pytest.mark.one_protocol("a Thrift server loads no files")]


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    with running_cluster(servers_folder / "backlog", region_servers=3) as hbase:
        yield hbase


class Backlog:
    """What happens to a service while it reads its backlog; each step waits until two micro-batches are durable."""

    def __init__(self, run: LedgerRun, cluster: HBase, admin: Admin, staging: Path) -> None:
        assert isinstance(cluster.server, HBaseCluster)
        self._run = run
        self._cluster = cluster.server
        self._admin = admin
        self._staging = staging

    def goes_on(self) -> None:
        """Wait until two more micro-batches are durable."""
        self._run.service.wait_for_batches(2, self._run.pipeline, RECOVERY_S)

    def loses_region_server(self, name: str) -> None:
        """Kill a region server of HBase, and start it again."""
        process = self._cluster.region_servers[name]
        pid = process.pid
        process.kill()
        self._run.proven(f"SIGKILL of region server {pid}")
        self.goes_on()
        self._cluster.start_one(process)
        self._wait_for(lambda: len(self._admin.ask("servers").split()) == len(self._cluster.region_servers), "servers")

    def has_other_regions(self, command: str) -> None:
        """Split, merge or move regions of the table."""
        self._run.proven(f"{command}: {self._admin.ask(command, self._run.table)}")
        self.goes_on()

    def has_no_staging(self) -> None:
        """Put a file in place of the folder until rows go as calls."""
        shutil.rmtree(self._staging)
        self._staging.write_bytes(b"")
        self._wait_for(lambda: self.metric(UNSTAGED) > 0, "rows that could not be staged")
        self._staging.unlink()
        self._run.proven("a file in place of the staging folder")
        self.goes_on()

    def metric(self, name: str) -> float:
        """A metric of the table."""
        return self._run.service.metric(name, table=self._run.table)

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        self._run.service.wait_for(condition, what, RECOVERY_S)


@pytest.mark.seeds(1)
@pytest.mark.parametrize("protocol", ["rpc"])
@pytest.mark.usefixtures("protocol")
def test_backlog_is_loaded_while_everything_is_killed(ledger_run: LedgerRuns, cluster: HBase, tmp_path: Path) -> None:
    staging = tmp_path / "staging"
    run = ledger_run(
        "F10 F11 backlog by bulk load",
        store="hbase",
        hbase=cluster,
        batch_size=BACKLOG // BATCHES,
        table={"bulk_load": {"from": 100}, "splits": ["4", "8", "c"]},
        store_options={"staging": str(staging), "timeout": "60s"},
        pipeline={"max_rate": BACKLOG // MIN_READ_S},
    )
    run.produce(BACKLOG)
    killed_at(run, "after_last_send", hit=2)
    with Admin(cluster.server) as admin:
        backlog = Backlog(run, cluster, admin, staging)
        run.start()
        backlog.goes_on()
        assert backlog.metric(ROWS) > 0
        backlog.loses_region_server("rs1")
        for command in ("split", "merge", "move"):
            backlog.has_other_regions(command)
        backlog.loses_region_server("rs2")
        backlog.has_no_staging()
        run.kill()
        run.check_while_dead()
        run.start()
        backlog.loses_region_server("rs3")
        second = run.service.command("run")
        assert second.returncode == 4, second.stderr
        run.proven("second driver: exit 4")
        run.wait_acknowledged(timeout_s=LONG_S)
        loaded = backlog.metric(ROWS)
        assert loaded > 0
        run.proven(f"{loaded:.0f} rows of the last life as files")
        assert admin.ask("older", run.table) == "0"  # the ledger reads the newest version of each cell
        run.proven("one version of each cell")
    run.finish(timeout_s=LONG_S)
