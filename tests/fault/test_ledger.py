"""The ledger balances: after a kill in the midst of the work, in either store."""

import pytest

from tests.support.ledger.fixture import LedgerRuns

COUNT = 20_000


@pytest.mark.slow
@pytest.mark.parametrize("store", ["rocksdb", "hbase"])
def test_killed_and_started_again(ledger_run: LedgerRuns, store: str) -> None:
    run = ledger_run("F01 SIGKILL of everything", store=store)
    run.produce(COUNT)
    run.start()
    run.wait_acknowledged(0.3)
    run.kill()
    run.check_while_dead()
    run.start()
    found = run.finish()
    assert found.stored + found.dead_lettered + found.dropped == COUNT
    assert min(found.stored, found.dead_lettered, found.dropped) > 0
