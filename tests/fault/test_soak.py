"""F45: one service, half an hour, and everything it depends on killed at random; then every event is counted."""

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
RECOVERY_S = 600.0  # HBase takes 40 s of a free machine to come back; with all that waited then to be written
LOOKS = 3  # audits while the process is dead read the whole table, so only the first kills of a driver have one


class Agitator:
    """Kills one thing after the other, and starts again what does not start by itself."""

    def __init__(self, run: LedgerRun, kafka: Kafka, hbase: HBase, seed: int) -> None:
        self.killed: Counter[str] = Counter()
        self.marks: list[tuple[float, str]] = []
        self._run = run
        self._kafka = kafka
        self._store = hbase
        self._random = random.Random(seed)
        self._started_s = time.monotonic()

    def work(self, seconds: float) -> None:
        """Go on for so long; each of the victims has its turn before one has a second."""
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
        """Since the start."""
        return (at_s - self._started_s) / 60

    def _driver(self) -> None:
        self._run.kill()
        if self.killed["driver"] < LOOKS:
            self._run.check_while_dead()
        self._run.start(timeout_s=RECOVERY_S)

    def _worker(self) -> None:
        service = self._run.service
        found: list[psutil.Process] = []

        def is_there() -> bool:
            found[:] = service.workers()
            return bool(found)

        service.wait_for(is_there, "a worker", RECOVERY_S)
        with suppress(ProcessLookupError):  # they end by themselves too
            service.kill(self._random.choice(found))
        self._moves_on()

    def _thrift(self) -> None:
        self._store.kill("thrift")
        self._store.start()
        self._moves_on()

    def _hbase(self) -> None:
        self._store.kill("hbase")
        self._store.start()
        self._moves_on()

    def _broker(self) -> None:
        self._kafka.kill()
        self._kafka.start()
        self._moves_on()

    def _moves_on(self) -> None:
        """The service acknowledges again, by itself."""
        self._run.service.wait_for_batches(1, self._run.pipeline, RECOVERY_S)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_half_an_hour_of_kills(ledger_run: LedgerRuns, kafka: Kafka, hbase: HBase) -> None:
    """Events come all the time; what an outage leaves behind is drained at full rate."""
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
    assert set(agitator.killed) == set(VICTIMS), "too short for all of them"
    run.proven(", ".join(f"{victim} killed {count} times" for victim, count in sorted(agitator.killed.items())))
    run.finish(timeout_s=RECOVERY_S)
