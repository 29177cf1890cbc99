"""Commands of an operator at random under load, several at a time, with kills: every event is accounted for."""

import os
import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from ingest.formats.times import moment
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.pipeline import merged
from tests.support.ledger.run import LedgerRun
from tests.support.service import environment

MINUTES = float(os.environ.get("COMMANDS_MINUTES", "4"))
DONE, WITHOUT_SERVICE, NOT_FOUND, CONFLICT = 0, 1, 3, 4
NOT_REACHED = 1
RESET = "offsets reset --to earliest --own-process"
RUN = "run --once"
COMMANDS: dict[str, frozenset[int]] = {
    "status": frozenset({DONE}),
    "pause": frozenset({DONE, NOT_REACHED, CONFLICT}),  # the other one may reverse it before it is seen
    "resume": frozenset({DONE, NOT_REACHED, CONFLICT}),
    "flush": frozenset({DONE, CONFLICT}),
    "reload": frozenset({DONE, CONFLICT}),
    "admin log-level debug": frozenset({DONE}),
    "admin log-level warning": frozenset({DONE}),
    "offsets show": frozenset({DONE}),
    "dead-letters list": frozenset({DONE}),
    RESET: frozenset({CONFLICT}),
    RUN: frozenset({CONFLICT}),
    "replay": frozenset({DONE, CONFLICT}),
}
"""Command -> exit codes that are right while a service runs."""
KILLED = frozenset({DONE, WITHOUT_SERVICE, NOT_FOUND, CONFLICT})
"""Exit codes that are right while it is killed; a command that needs no service then works."""


class Operator:
    """Runs commands of which a seed chooses which, when and how many at a time."""

    def __init__(self, run: LedgerRun) -> None:
        self._run = run
        self._chance = random.Random(run.seed)
        self._begin_ms = int(time.time() * 1000) - 3_600_000
        self._reloads = 0
        self.done: Counter[str] = Counter()

    def round(self) -> None:
        """Start up to three commands together, in one round of six kill the service meanwhile, and wait for all."""
        chosen = self._chance.sample(sorted(COMMANDS), self._chance.randint(1, 3))
        is_killed = self._chance.random() < 1 / 6
        if is_killed or "reload" in chosen:  # they run without the service, and between two builds of a pipeline
            chosen = [name for name in chosen if name not in (RESET, RUN)]
        if "reload" in chosen:
            self._change_file()
        running = {name: self._begin(name) for name in chosen}
        if is_killed:
            until_s = time.monotonic() + self._chance.uniform(0, 3)
            self._run.service.wait_for(lambda: time.monotonic() >= until_s, "the moment of the kill")
            self._run.kill()
            self._run.check_while_dead()
        for name, process in running.items():
            _, err = process.communicate(timeout=300)
            assert process.returncode in (KILLED if is_killed else COMMANDS[name]), (
                f"{name}: {process.returncode} {err}"
            )
            assert "Traceback" not in err, f"{name}: {err}"
            self.done[f"{name.partition(' ')[0]} {process.returncode}"] += 1
        if is_killed:
            self._run.begin()
            self._run.service.wait_for(self._is_started, "the service after a kill", 120)

    def end(self) -> None:
        """Leave the pipeline running."""
        process = self._begin("resume")
        _, err = process.communicate(timeout=60)
        assert process.returncode in (DONE, CONFLICT), err
        self._run.service.wait_for_state("running", self._run.pipeline)

    def _is_started(self) -> bool:
        return self._run.service.states().get(self._run.pipeline) in ("running", "paused", "blocked")

    def _change_file(self) -> None:
        self._reloads += 1
        source = {"max_events_per_batch": 2_000 + self._reloads}
        changed = {"pipelines": {self._run.pipeline: {"source": {"kafka": source}}}}
        self._run.service.write(merged(self._run.content(), changed))

    def _begin(self, name: str) -> "subprocess.Popen[str]":
        file = str(self._run.service.file)
        words = [*name.split(), "-f", file]
        if name == "replay":
            # whole micro-batches: a part of one adds a second dead letter of the same record
            words += ["--from", moment(self._begin_ms), "--to", moment(self._begin_ms + 24 * 3_600_000)]
        return subprocess.Popen(
            [sys.executable, "-m", "ingest", *words],
            cwd=self._run.service.folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


def storm(run: LedgerRun) -> None:
    """Commands for `MINUTES`, and the audit."""
    run.produce(2_000)
    run.start()
    run.service.wait_for_batches(1, run.pipeline)
    operator, end_s = Operator(run), time.monotonic() + MINUTES * 60
    with run.produce_in_background(rate=500):
        while time.monotonic() < end_s:
            operator.round()
        operator.end()
    run.proven(", ".join(f"{name} {count}x" for name, count in sorted(operator.done.items())))
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_storm_of_commands(ledger_run: LedgerRuns) -> None:
    storm(ledger_run("storm of commands", store="rocksdb", batch_size=2_000, pipeline={"trigger": {"every": "1s"}}))


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
def test_storm_of_commands_with_hbase(ledger_run: LedgerRuns) -> None:
    storm(ledger_run("storm of commands", store="hbase", batch_size=2_000, pipeline={"trigger": {"every": "1s"}}))
