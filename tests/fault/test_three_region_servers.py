"""Three region servers under load: regions are split, merged and moved, and servers are killed, for ten minutes."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import HBaseCluster, running_cluster
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.servers import HBase

MINUTES = float(os.environ.get("REGION_SERVERS_MINUTES", "10"))
SERVERS = 3
REGIONS = 6
RATE = 500
RECOVERY_S = 300.0
META = "hbase:meta"


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    with running_cluster(servers_folder / "three", region_servers=SERVERS) as hbase:
        yield hbase


class Agitator:
    """Changes regions and kills servers, one after another, while a pipeline writes."""

    def __init__(self, run: LedgerRun, cluster: HBase, admin: Admin) -> None:
        assert isinstance(cluster.server, HBaseCluster)
        self.done: Counter[str] = Counter()
        self._run = run
        self._cluster = cluster.server
        self._admin = admin
        self._random = random.Random(run.seed)

    def work(self, seconds: float) -> None:
        """All actions in random order, again and again; the last time to its end."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            actions = self._actions()
            for name in self._random.sample(sorted(actions), len(actions)):
                actions[name]()
                self.done[name] += 1
                self._run.service.wait_for_batches(2, self._run.pipeline, RECOVERY_S)

    def _actions(self) -> dict[str, Callable[[], object]]:
        table = self._run.table
        kills = {f"SIGKILL of {name}": lambda name=name: self._kill(name) for name in self._cluster.region_servers}
        return kills | {
            "split": lambda: self._admin.ask("split", table),
            "merge": lambda: self._admin.ask("merge", table),
            "move": lambda: self._admin.ask("move", table),
            "move of the meta table": lambda: self._admin.ask("move", META),
            "balance": lambda: self._admin.ask("balance"),
            "SIGKILL of the master": self._kill_master,
        }

    def _kill(self, name: str) -> None:
        process = self._cluster.region_servers[name]
        process.kill()
        self._run.service.wait_for_batches(2, self._run.pipeline, RECOVERY_S)
        self._cluster.start_one(process)
        self._wait_for_all()

    def _kill_master(self) -> None:
        self._cluster.hbase.kill()
        self._run.service.wait_for_batches(2, self._run.pipeline, RECOVERY_S)
        self._cluster.start_one(self._cluster.hbase)
        self._cluster.wait()
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        """Wait until the master knows all region servers, and each region is on one of them."""

        def complete() -> bool:
            servers = self._admin.ask("servers").split()
            return len(servers) == SERVERS and set(self._admin.regions(self._run.table).values()) <= set(servers)

        self._run.service.wait_for(complete, "all region servers", RECOVERY_S)


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
def test_ten_minutes_of_three_region_servers(ledger_run: LedgerRuns, cluster: HBase) -> None:
    run = ledger_run(
        "F10 F11 three region servers",
        store="hbase",
        hbase=cluster,
        store_options={"timeout": "60s"},
        # the checkpoint has the times of 1,000 batches, and the audit needs all
        pipeline={"trigger": {"every": "1s"}},
    )
    with Admin(cluster.server) as admin:
        while len(admin.regions(run.table)) < REGIONS:
            admin.ask("split", run.table)
        run.produce(3_000)
        run.start()
        run.wait_acknowledged()
        agitator = Agitator(run, cluster, admin)
        with run.produce_in_background(RATE):
            agitator.work(MINUTES * 60)
        run.wait_acknowledged(timeout_s=RECOVERY_S)
    run.proven(", ".join(f"{name} {count} times" for name, count in sorted(agitator.done.items())))
    run.finish(timeout_s=RECOVERY_S)
