"""
F01: the whole service is killed with SIGKILL at a failpoint. While it is down, everything acknowledged is stored; the
next start runs the same batch again, and nothing is lost, changed or duplicated. F02: a single process is killed.

The seed determines the order of the failpoints and the hits. `test_kills` kills at random times.
"""

import random

import pytest

from tests.support.disk_faults import DiskFaults
from tests.support.killed_at import Failpoint, killed_at
from tests.support.ledger.run import LedgerRun
from tests.support.small_disk import MIB, MakeDisk, fill_until_blocked

EVENTS = 4_000  # for each start: batches of 1,000 before and after the failpoint
SMALL_CHUNKS = {"write_buffer_size": "16KiB"}  # so that a partition needs many calls
OFFSETS = "*/checkpoints/*/offsets/[0-9]*"


def killed_in_rename(run: LedgerRun, faults: DiskFaults, moment: str) -> None:
    """Start a service and kill it while Spark renames the offsets file of a batch."""
    before = len(faults.acts("hold_rename"))
    faults.on()
    run.begin(env=faults.environment(hold_rename=OFFSETS, hold_at=moment))
    run.service.wait_for(lambda: len(faults.acts("hold_rename")) > before, "a held rename", 180)
    run.service.kill_all()
    run.proven(f"SIGKILL {moment} the rename to offsets/{faults.acts('hold_rename')[-1].path.rpartition('/')[2]}")
    run.check_while_dead()


def killed_in_drain(run: LedgerRun) -> None:
    """Stop a service under load, and kill it while the running batch finishes."""
    failpoint = Failpoint(run, "drain")
    run.start(env=failpoint.environment)
    run.service.wait_for_batches(1, run.pipeline)
    run.service.terminate()
    failpoint.wait_killed()
    run.check_while_dead()


def worker_dies(run: LedgerRun, point: str, *, hit: int) -> None:
    """Start a service and kill one Python worker; Spark runs its task again."""
    failpoint = Failpoint(run, point, hit=hit, action="die")
    run.start(env=failpoint.environment)
    failpoint.wait_reached()
    driver = run.service.pid
    run.produce(EVENTS)
    run.wait_acknowledged()
    assert run.service.pid == driver != failpoint.pid
    run.proven(f"SIGKILL {point}#{hit} of worker {failpoint.pid} alone, driver {driver} kept running")


def jvm_dies(run: LedgerRun) -> None:
    """Kill the JVM under load: the service ends with an error."""
    run.produce(EVENTS)
    checkpoint = run.service.checkpoint(run.pipeline)
    run.service.wait_for(checkpoint.is_inside_a_batch, "a batch to run")
    jvm = run.service.jvm()
    assert jvm is not None
    run.service.kill(jvm)
    assert run.service.wait_for_exit(60) == 1, run.service.last_lines()
    run.service.wait_until_gone()
    run.proven(f"SIGKILL of the JVM {jvm.pid}: exit 1")
    run.check_while_dead()


def test_f01_killed_at_two_points_and_f37_full_disk(ledger_run, disk_faults: DiskFaults, small_disk: MakeDisk) -> None:
    """The quick form of `test_disk_full`, too, which fills other disks and kills meanwhile."""
    # more than 8 MiB: the driver writes them in several calls
    large = dict.fromkeys(range(0, EVENTS, 200), 800_000)
    run = ledger_run("F01 two failpoints, F37 full disk", store="rocksdb", batch_size=2 * EVENTS, sizes=large)
    disk = small_disk(run.state_folder / "checkpoints", 4 * MIB)
    run.produce(EVENTS)
    killed_in_rename(run, disk_faults, "before")  # the first batch: nothing is written yet
    killed_at(run, "before_commit")
    disk_faults.off()
    run.start(env=disk.environment)
    run.wait_acknowledged()
    driver = run.service.pid
    fill_until_blocked(run, disk)
    disk.free()
    run.finish()
    assert run.service.pid == driver, "the service was restarted"


@pytest.mark.slow
@pytest.mark.usefixtures("protocol")
def test_f01_f02_killed_while_writing_to_hbase(ledger_run) -> None:
    run = ledger_run("F01 between_sends, F02", store="hbase", batch_size=1_000, sink=SMALL_CHUNKS)
    run.produce(EVENTS)
    killed_at(run, "between_sends", hit=random.Random(run.seed).randrange(1, 8))
    worker_dies(run, "after_last_send", hit=1)
    jvm_dies(run)
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.usefixtures("protocol")
@pytest.mark.parametrize(("store", "protocol"), [("rocksdb", "thrift"), ("hbase", "thrift"), ("hbase", "rpc")])
def test_f01_killed_at_all_points(ledger_run, disk_faults: DiskFaults, store: str) -> None:
    run = ledger_run("F01 all failpoints", store=store, batch_size=1_000, sink=SMALL_CHUNKS, dead_letters="kafka")
    chance = random.Random(run.seed)
    kills = {
        "after_poll": lambda: killed_at(run, "after_poll", hit=chance.randrange(1, 4)),
        "mid_decorate": lambda: killed_at(run, "mid_decorate", hit=chance.randrange(1, 1_000)),
        "before_send": lambda: killed_at(run, "before_send", hit=chance.randrange(1, 4)),
        "after_last_send": lambda: killed_at(run, "after_last_send", hit=chance.randrange(1, 4)),
        "before_commit": lambda: killed_at(run, "before_commit", hit=chance.randrange(1, 4)),
        "offsets rename, before": lambda: killed_in_rename(run, disk_faults, "before"),
        "offsets rename, after": lambda: killed_in_rename(run, disk_faults, "after"),
        "dead_letters_sent": lambda: killed_at(run, "dead_letters_sent", hit=chance.randrange(1, 3)),
        "drain": lambda: killed_in_drain(run),
        "recovery": lambda: killed_at(run, "recovery", hit=chance.randrange(1, 4)),
    }
    if store == "hbase":
        # for RocksDB the quick test covers it, since it needs larger batches
        kills["between_sends"] = lambda: killed_at(run, "between_sends", hit=chance.randrange(1, 8))
    for name in chance.sample(sorted(kills), len(kills)):
        run.produce(EVENTS)
        kills[name]()
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.usefixtures("protocol")
@pytest.mark.parametrize("point", ["after_poll", "mid_decorate", "between_sends", "after_last_send"])
def test_f02_task_of_a_killed_worker_runs_again(ledger_run, point: str) -> None:
    run = ledger_run(f"F02 {point}", store="hbase", batch_size=1_000, sink=SMALL_CHUNKS)
    run.produce(EVENTS)
    worker_dies(run, point, hit=random.Random(run.seed).randrange(1, 4))
    run.finish()
