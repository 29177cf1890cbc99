"""F36: a process of the service is killed because there is no memory left. Nothing is lost, and nothing is twice."""

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
def test_f36_killed_for_want_of_memory(ledger_run: LedgerRuns, victim: str) -> None:
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
            look_after(run, victim)
    else:
        run.start()
        run.wait_acknowledged(0.2)
        process = victim_of(run, victim)
        run.service.kill(process)
        # plainly not the same: what the kernel does in the end, without the want of memory before it
        run.proven(f"no memory controller for us here: SIGKILL to {victim} {process.pid} in the kernel's place")
        look_after(run, victim)
    run.finish()


def look_after(run: LedgerRun, victim: str) -> None:
    """A worker's task runs again; all else ends the service, which is started anew."""
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
