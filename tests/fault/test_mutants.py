"""The ledger detects every mutant: the product with one deliberate bug."""

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

pytestmark = pytest.mark.one_protocol("the ledger is tested")


class Mutated:
    """Starts mutants and checks that they are detected."""

    def __init__(self, runs: LedgerRuns, folder: Path) -> None:
        self._runs = runs
        self._proof = folder / "acted"

    def run(self, name: str, **options: object) -> LedgerRun:
        """A started service with a mutant."""
        about = MUTANTS[name].about
        run = self._runs(f"mutant {name}", mutant=about, batch_size=BATCH, **options)
        run.produce(COUNT)
        run.begin(env=environment(name, self._proof))
        return run

    def caught_at_the_end(self, run: LedgerRun) -> set[Rule]:
        """The broken rules after the service has processed all events."""
        run.wait_acknowledged()
        return self.caught(run, run.finish)

    def caught(self, run: LedgerRun, check: Callable[[], object]) -> set[Rule]:
        """The broken rules that `check` reports, after the bug has acted."""
        assert self._proof.exists(), f"the bug never acted\n{run.service.last_lines()}"
        run.proven("the bug acted")
        with pytest.raises(LedgerError) as caught:
            check()
        return caught.value.rules


@pytest.fixture
def mutated(ledger_run: LedgerRuns, tmp_path: Path) -> Mutated:
    return Mutated(ledger_run, tmp_path)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_acknowledgement_before_the_flush_is_detected(mutated: Mutated) -> None:
    run = mutated.run("ack_before_flush")
    run.wait_acknowledged(0.5)
    run.kill()
    assert Rule.DURABLE in mutated.caught(run, run.check_while_dead)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("swallow_one_chunk", Rule.CONSERVATION),
        ("drop_partial_buffer", Rule.CONSERVATION),
        ("commit_the_maximum", Rule.CONSERVATION),
        ("clock_for_cells", Rule.NO_REGRESS),
        ("forget_dead_letters", Rule.CONSERVATION),
        ("tear_rows", Rule.CLEAN),
        ("metrics_that_lie", Rule.METRICS),
    ],
)
@pytest.mark.seeds(1)
def test_mutant_is_detected_at_the_end(mutated: Mutated, name: str, rule: Rule) -> None:
    run = mutated.run(name)
    assert rule in mutated.caught_at_the_end(run)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_first_value_of_a_row_instead_of_the_last_is_detected(mutated: Mutated) -> None:
    run = mutated.run("first_value_wins", store="hbase", rows=100)
    assert Rule.CONSERVATION in mutated.caught_at_the_end(run)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_return_from_the_batch_at_a_stop_is_detected(mutated: Mutated) -> None:
    run = mutated.run("return_when_stopped")
    run.service.wait_for_state("blocked", run.pipeline)
    assert run.service.stop() == 0, run.service.last_lines()
    assert Rule.DURABLE in mutated.caught(run, run.check_while_dead)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_killed_hbase_without_wal_loses_the_predicted_rows(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """Not a mutant, but an option that weakens the guarantee; the loss is predicted before the audit."""
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
