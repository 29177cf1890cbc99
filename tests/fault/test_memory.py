"""F36: the kernel kills a process of the service for lack of memory. Nothing is lost or duplicated."""

import psutil
import pytest

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.memory_limit import MemoryLimit
from tests.support.names import unique

EVENTS = 8_000


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("victim", ["driver", "jvm", "worker"])
def test_f36_process_killed_by_the_oom_killer(ledger_run: LedgerRuns, victim: str) -> None:
    run = ledger_run(f"F36 {victim} out of memory", batch_size=500)
    run.produce(EVENTS)
    if MemoryLimit.is_available():
        with MemoryLimit(unique("memory")) as limit:
            with limit.joined():
                run.begin()
            run.wait_acknowledged(0.2)
            process = victim_of(run, victim)
            limit.kill(process)
            run.proven(f"memory limit reached: the kernel killed {limit.kills} process, {victim} {process.pid}")
            recover(run, victim)
    else:
        run.start()
        run.wait_acknowledged(0.2)
        process = victim_of(run, victim)
        run.service.kill(process)
        # weaker: the kill without the lack of memory
        run.proven(f"no memory controller on this machine: SIGKILL to {victim} {process.pid} instead")
        recover(run, victim)
    run.finish()


def recover(run: LedgerRun, victim: str) -> None:
    """The task of a killed worker runs again; other kills end the service, which is restarted."""
    if victim == "worker":
        run.produce(EVENTS)
        run.wait_acknowledged()
        return
    assert run.service.wait_for_exit(60) == (-9 if victim == "driver" else 1)
    run.service.wait_until_gone()
    run.check_while_dead()
    run.start()


def victim_of(run: LedgerRun, name: str) -> psutil.Process:
    if name == "driver":
        return psutil.Process(run.service.pid)
    if name == "worker":
        run.service.wait_for(lambda: bool(run.service.workers()), "a worker")
        return run.service.workers()[0]
    jvm = run.service.jvm()
    assert jvm is not None
    return jvm
