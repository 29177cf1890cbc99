"""The ledger sees what it is made to see: the product with one deliberate bug each does not pass it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.invariants import Rule
from tests.support.ledger.mutants.catalogue import MUTANTS, environment
from tests.support.ledger.run import LedgerError, LedgerRun
from tests.support.servers import HBase

COUNT = 4_050  # the last micro-batch is small
BATCH = 1_000


class Mutated:
    """Runs mutants."""

    def __init__(self, runs: LedgerRuns, folder: Path) -> None:
        self._runs = runs
        self._proof = folder / "acted"

    def run(self, name: str, **options: object) -> LedgerRun:
        """The service of a mutant, at work on some events."""
        about = MUTANTS[name].about
        run = self._runs(f"mutant {name}", mutant=about, batch_size=BATCH, **options)
        run.produce(COUNT)
        run.begin(env=environment(name, self._proof))
        return run

    def caught_at_the_end(self, run: LedgerRun) -> set[Rule]:
        """The same, after the service has done all it will."""
        run.wait_acknowledged()
        return self.caught(run, run.finish)

    def caught(self, run: LedgerRun, look: Callable[[], object]) -> set[Rule]:
        """The rules that are found broken, once the bug has acted."""
        assert self._proof.exists(), f"the bug never acted\n{run.service.last_lines()}"
        run.proven("the bug acted")
        with pytest.raises(LedgerError) as caught:
            look()
        return caught.value.rules


@pytest.fixture
def mutated(ledger_run: LedgerRuns, tmp_path: Path) -> Mutated:
    return Mutated(ledger_run, tmp_path)


@pytest.mark.seeds(1)
def test_acknowledged_before_it_is_flushed(mutated: Mutated) -> None:
    run = mutated.run("ack_before_flush")
    run.wait_acknowledged(0.5)
    run.kill()
    assert Rule.DURABLE in mutated.caught(run, run.check_while_dead)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("swallow_one_chunk", Rule.CONSERVATION),
        pytest.param("drop_partial_buffer", Rule.CONSERVATION, marks=pytest.mark.slow),
        pytest.param("commit_the_maximum", Rule.CONSERVATION, marks=pytest.mark.slow),
        pytest.param("clock_for_cells", Rule.NO_REGRESS, marks=pytest.mark.slow),
        pytest.param("forget_dead_letters", Rule.CONSERVATION, marks=pytest.mark.slow),
        pytest.param("tear_rows", Rule.CLEAN, marks=pytest.mark.slow),
        pytest.param("metrics_that_lie", Rule.METRICS, marks=pytest.mark.slow),
    ],
)
@pytest.mark.seeds(1)
def test_found_at_the_end(mutated: Mutated, name: str, rule: Rule) -> None:
    run = mutated.run(name)
    assert rule in mutated.caught_at_the_end(run)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_the_first_value_of_a_row_wins(mutated: Mutated) -> None:
    run = mutated.run("first_value_wins", store="hbase", rows=100)
    assert Rule.CONSERVATION in mutated.caught_at_the_end(run)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_returns_when_stopped(mutated: Mutated) -> None:
    run = mutated.run("return_when_stopped")
    run.service.wait_for_state("blocked", run.pipeline)
    assert run.service.stop() == 0, run.service.last_lines()
    assert Rule.DURABLE in mutated.caught(run, run.check_while_dead)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_without_wal_a_killed_server_loses_what_was_predicted(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """No mutant, but an option that weakens the promise: what it costs is said before it is counted."""
    run = ledger_run("F10 HBase killed, WAL off", store="hbase", sink={"write_to_wal": False})
    run.produce(COUNT)
    run.start()
    run.wait_acknowledged()
    assert run.predict_lost(range(COUNT)) > 0
    pid = hbase.server.hbase.pid
    hbase.kill()
    run.proven(f"SIGKILL of HBase, pid {pid} gone")
    assert run.service.stop() == 0, run.service.last_lines()
    hbase.start()
    run.start()
    run.produce(COUNT)
    found = run.finish()
    assert found.lost == found.predicted > 0
