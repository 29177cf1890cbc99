"""F45: for half an hour random processes of a service and its servers are killed; then every event is audited."""

import os
import random
import threading
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from tests.support import plot
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.report import folder as report_folder
from tests.support.ledger.run import LedgerRun
from tests.support.memory import KINDS, watched
from tests.support.servers import HBase, Kafka

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
RATE = float(os.environ.get("SOAK_RATE", "1500"))
VICTIMS = ("driver", "worker", "thrift", "hbase", "broker")
PAUSE_S = (15.0, 45.0)  # between a recovery and the next kill
RECOVERY_S = 600.0  # HBase takes 40 s to restart on an idle machine, then the backlog is written
AUDITS = 3  # only after the first kills of the driver, since an audit reads the whole table


class Agitator:
    """Kills processes one after another, and restarts those that nothing else restarts."""

    def __init__(self, run: LedgerRun, kafka: Kafka, hbase: HBase, seed: int) -> None:
        self.killed: Counter[str] = Counter()
        self.marks: list[tuple[float, str]] = []
        self._run = run
        self._kafka = kafka
        self._store = hbase
        self._random = random.Random(seed)
        self._started_s = time.monotonic()

    def work(self, seconds: float) -> None:
        """Kill processes for a time, each kind once before any is killed again."""
        end_s = self._started_s + seconds
        waiting: list[str] = []
        while time.monotonic() < end_s:
            if not waiting:
                waiting = self._random.sample(VICTIMS, len(VICTIMS))
            victim = waiting.pop()
            self.marks.append((self.minutes(time.monotonic()), victim))
            getattr(self, f"_{victim}")()
            self.killed[victim] += 1
            threading.Event().wait(self._random.uniform(*PAUSE_S))

    def minutes(self, at_s: float) -> float:
        """Minutes since the start."""
        return (at_s - self._started_s) / 60

    def _driver(self) -> None:
        self._run.kill()
        if self.killed["driver"] < AUDITS:
            self._run.check_while_dead()
        self._run.start(timeout_s=RECOVERY_S)

    def _worker(self) -> None:
        service = self._run.service
        found: list[psutil.Process] = []

        def is_there() -> bool:
            found[:] = service.workers()
            return bool(found)

        service.wait_for(is_there, "a worker", RECOVERY_S)
        with suppress(ProcessLookupError):  # workers may also exit normally
            service.kill(self._random.choice(found))
        self._wait_resumed()

    def _thrift(self) -> None:
        self._store.kill("thrift")
        self._store.start()
        self._wait_resumed()

    def _hbase(self) -> None:
        self._store.kill("hbase")
        self._store.start()
        self._wait_resumed()

    def _broker(self) -> None:
        self._kafka.kill()
        self._kafka.start()
        self._wait_resumed()

    def _wait_resumed(self) -> None:
        """Wait until the service acknowledges batches again."""
        self._run.service.wait_for_batches(1, self._run.pipeline, RECOVERY_S)


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("a Thrift server is one of the victims; test_three_region_servers.py kills servers with both")
def test_half_an_hour_of_kills(ledger_run: LedgerRuns, kafka: Kafka, hbase: HBase) -> None:
    """Events are produced continuously; the backlog of an outage is processed at full rate."""
    run = ledger_run(
        "F45 soak", store="hbase", dead_letters="kafka", batch_size=20_000, store_options={"timeout": "60s"}
    )
    run.produce(5_000)
    run.start()
    run.wait_acknowledged()
    agitator = Agitator(run, kafka, hbase, run.seed)
    with watched(run.service) as memory:
        with run.produce_in_background(RATE):
            agitator.work(MINUTES * 60)
        run.wait_acknowledged(timeout_s=RECOVERY_S)
    series = {
        kind: [(agitator.minutes(sample.at_s), sample.bytes[kind] / 2**20) for sample in memory.samples]
        for kind in KINDS
    }
    picture = plot.lines(
        f"resident memory, {RATE:g} events/s, {sum(agitator.killed.values())} kills in {MINUTES:g} minutes",
        series,
        x="minutes",
        y="MiB",
        marks=agitator.marks,
    )
    report_folder().mkdir(parents=True, exist_ok=True)
    (report_folder() / "soak.svg").write_text(picture)
    assert set(agitator.killed) == set(VICTIMS), "too short to kill each kind"
    run.proven(", ".join(f"{victim} killed {count} times" for victim, count in sorted(agitator.killed.items())))
    run.finish(timeout_s=RECOVERY_S)
