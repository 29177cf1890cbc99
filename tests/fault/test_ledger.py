"""All rules hold after a kill under load, with either store."""

import pytest

from tests.support.ledger.fixture import LedgerRuns

COUNT = 20_000


@pytest.mark.slow
def test_f01_killed_and_restarted_with_rocksdb(ledger_run: LedgerRuns) -> None:
    killed_and_restarted(ledger_run, "rocksdb")


@pytest.mark.slow
@pytest.mark.usefixtures("protocol")
def test_f01_killed_and_restarted_with_hbase(ledger_run: LedgerRuns) -> None:
    killed_and_restarted(ledger_run, "hbase")


def killed_and_restarted(ledger_run: LedgerRuns, store: str) -> None:
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
