"""The value of the fixture `ledger_run`."""

import os
import random
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.support.ledger.events import Events
from tests.support.ledger.run import LedgerRun, Options
from tests.support.servers import HBase, Kafka, Protocol

SEED, SEEDS = "SEED", "SEEDS"
SLOW_SEEDS = 3
_OPTIONS = frozenset(field.name for field in fields(Options)) - {"events", "protocol"}
_EVENTS = frozenset(field.name for field in fields(Events)) - {"run", "seed"}


class LedgerRuns:
    """
    Creates runs, and ends them with the test.

    Call it with the name of the fault, and with options of `Options` and `Events`::

        run = ledger_run("F05 reset", store="hbase", hbase_port=proxy.port, rows=500, sink={"write_to_wal": False})

    Args:
        server: returns the fixtures `kafka` and `hbase`, so that only the required servers start.
        protocol: of the stores that are HBase; None if the test may have none (`tests.support.protocols`).
    """

    def __init__(self, folder: Path, seed: int, server: Callable[[str], Any], *, protocol: Protocol | None) -> None:
        self.seed = seed
        self._protocol = protocol
        self._folder = folder
        self._server = server
        self._runs: list[LedgerRun] = []

    def __call__(self, fault: str, **options: Any) -> LedgerRun:
        """A new run; nothing is started yet. `kafka` and `hbase` override the servers of the fixtures."""
        kafka: Kafka = options.pop("kafka", None) or self._server("kafka")
        hbase: HBase | None = options.pop("hbase", None)
        seed = options.pop("seed", self.seed)
        unknown = options.keys() - _OPTIONS - _EVENTS
        assert not unknown, f"unknown options of ledger_run: {sorted(unknown)}"
        of_events: Mapping[str, Any] = {name: value for name, value in options.items() if name in _EVENTS}
        made = Options(
            **{name: value for name, value in options.items() if name in _OPTIONS},
            events=of_events,
            protocol=self._protocol or "thrift",
        )
        if made.store == "hbase":
            assert self._protocol is not None, "the test needs the fixture `protocol`, or one_protocol with a reason"
            hbase = hbase or self._server("hbase")
        folder = self._folder / f"run{len(self._runs)}"
        run = LedgerRun(fault, folder, kafka, hbase if made.store == "hbase" else None, seed=seed, options=made)
        self._runs.append(run)
        if made.store == "hbase":
            run.make_table()
        return run

    def close(self) -> None:
        """End all of them."""
        for run in self._runs:
            run.close()


def seeds_of(*, is_slow: bool, marked: int | None = None) -> int:
    """Number of seeds of a test."""
    return int(os.environ.get(SEEDS, "0")) or marked or (SLOW_SEEDS if is_slow else 1)


def seed_of(index: int) -> int:
    """The seed of run `index` of a test: random, unless SEED=n sets it."""
    first = int(os.environ.get(SEED, "0"))
    return first + index if first else random.SystemRandom().randrange(1, 10**6)
