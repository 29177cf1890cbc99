"""
A service is killed with SIGKILL at random times and restarted. After each kill everything acknowledged is stored, and
at the end the tables are complete.

`SEED=n` repeats the random choices.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.audit import (
    Table,
    assert_holds,
    assert_same_table,
    hbase_older_versions,
    hbase_table,
    rocksdb_table,
    table_of,
)
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks

TO_ROCKSDB, TO_HBASE = "to_rocksdb", "to_hbase"
PIPELINES = (TO_ROCKSDB, TO_HBASE)
VICTIMS = ("driver", "jvm", "worker")


class KilledService:
    """A service that writes ticks into both stores and is killed repeatedly."""

    def __init__(
        self, kafka: Kafka, hbase: HBase, protocol: Protocol, topic: Ticks, folder: Path, *, batch: int, seed: int
    ) -> None:
        self._kafka = kafka
        self._hbase = hbase
        self._ticks = topic
        self._random = random.Random(seed)
        self._groups = {name: unique(name) for name in PIPELINES}
        self._tables = {name: unique(name) for name in PIPELINES}
        stores = {TO_ROCKSDB: "embedded", TO_HBASE: "cluster"}
        content = {
            # the audit reads every batch; by default Spark keeps the last hundred
            "spark": {"conf": {"spark.sql.streaming.minBatchesToRetain": "1000"}},
            "stores": {
                "embedded": ticks.rocksdb(folder / "store"),
                "cluster": {"hbase": hbase.store_options(protocol)},
            },
            "tables": {self._tables[name]: ticks.table(store) for name, store in stores.items()},
            "pipelines": {
                name: ticks.pipeline(
                    kafka, topic.topic, store, self._tables[name], group=self._groups[name], max_events_per_batch=batch
                )
                for name, store in stores.items()
            },
        }
        self.service = Service(folder, content)
        self.inside = 0

    def kill(self, victim: str) -> None:
        """Start the service if needed, kill a process at a random time, and check the tables."""
        if not self.service.is_running:
            self.service.start()
        watched = self._random.choice(PIPELINES)
        checkpoint = self.service.checkpoint(watched)
        commits = len(checkpoint.commits()) + self._random.randrange(4)
        delay_s = self._random.choice((0.0, 0.0, self._random.random() * 0.5))
        self.service.wait_for(
            lambda: len(checkpoint.commits()) >= commits and checkpoint.is_inside_a_batch() and self._has(victim),
            f"a batch to kill the {victim} in",
            timeout_s=120,
        )
        time.sleep(delay_s)  # a random time in the batch is the purpose of the test
        if victim == "worker":
            self._kill_worker()
        else:
            self._kill_service(victim)
        print(  # noqa: T201 - read when the test fails
            f"killed {victim} of {watched} {delay_s:.2f} s into a batch; {self.inside} inside a batch so far"
        )

    def finish(self) -> None:
        """Process the whole topic, stop the service, and compare the tables."""
        if not self.service.is_running:
            self.service.start()
        for name in PIPELINES:
            self.service.wait_for_offsets(self._ticks.ends, name, self._ticks.topic)
        assert self.service.stop() == 0, self.service.last_lines()
        for name in PIPELINES:
            found = self._found(name)
            assert len(found) == self._ticks.count
            assert_same_table(self._acknowledged(name), found)
            assert self._kafka.committed(self._groups[name], self._ticks.topic) == self._ticks.ends
        checkpoint = self.service.checkpoint(TO_HBASE)
        times = [checkpoint.time_ms(number) for number in checkpoint.commits()]
        assert hbase_older_versions(self._hbase, self._tables[TO_HBASE], times, self._found(TO_HBASE)) == {}

    def _kill_worker(self) -> None:
        """Spark runs the task again: the service continues."""
        inside = self._is_inside()
        for worker in self.service.workers()[:1]:
            with suppress(ProcessLookupError):  # workers may also exit normally
                self.service.kill(worker)
                self.inside += inside
        # more batches than may have been completed when the worker was killed
        for name in PIPELINES:
            if self._has_more(name):
                self.service.wait_for_batches(2, name)

    def _kill_service(self, victim: str) -> None:
        process = self.service.pid if victim == "driver" else self.service.jvm()
        assert process is not None
        self.service.kill(process)
        if victim == "jvm":
            assert self.service.wait_for_exit(30) == 1, self.service.last_lines()
        self.service.wait_until_gone()
        self.inside += self._is_inside()
        for name in PIPELINES:
            assert_holds(self._acknowledged(name), self._found(name))

    def _is_inside(self) -> bool:
        return any(self.service.checkpoint(name).is_inside_a_batch() for name in PIPELINES)

    def _has(self, victim: str) -> bool:
        # the driver may be killed before Spark has started
        return victim == "driver" or bool(self.service.workers())

    def _has_more(self, name: str) -> bool:
        done = sum(self.service.checkpoint(name).acknowledged(self._ticks.topic).values())
        return done < self._ticks.count * 0.8

    def _acknowledged(self, name: str) -> Table:
        return table_of(self._ticks.expected(self.service.checkpoint(name), "t"), "t", versions=ticks.VERSIONS)

    def _found(self, name: str) -> Table:
        if name == TO_HBASE:
            return hbase_table(self._hbase, self._tables[name])
        return rocksdb_table(self.service.folder / "store", self._tables[name], versions=ticks.VERSIONS)


Killed = Callable[[int], KilledService]


@pytest.fixture
def killed(kafka: Kafka, hbase: HBase, protocol: Protocol, many_ticks: Ticks, tmp_path: Path) -> Iterator[Killed]:
    """Creates the service; the argument is the maximum number of events in a batch."""
    seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    print(f"SEED={seed}")  # noqa: T201 - read when the test fails
    made: list[Service] = []

    def make(batch: int) -> KilledService:
        target = KilledService(kafka, hbase, protocol, many_ticks, tmp_path, batch=batch, seed=seed)
        made.append(target.service)
        result = target.service.ingest("table apply")
        assert result.returncode == 0, result.stderr
        return target

    try:
        yield make
    finally:
        for service in made:
            service.close()


@pytest.mark.slow
def test_twenty_kills_lose_and_duplicate_nothing(killed: Killed) -> None:
    target = killed(2_000)
    for number in range(20):
        target.kill(VICTIMS[number % len(VICTIMS)])
    assert target.inside >= 15
    target.finish()
