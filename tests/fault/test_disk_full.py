"""
F37: a disk of the service is full. If it is needed, nothing is acknowledged until there is room again, and the pipeline
resumes without a restart. Full disks for logs and temporary files have no effect.
"""

import pytest

from tests.support.ledger.run import LedgerRun
from tests.support.small_disk import MIB, MakeDisk, fill_until_blocked


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("place", ["checkpoint", "store", "staged files"])
def test_f37_full_disk_blocks_until_there_is_room(ledger_run, small_disk: MakeDisk, place: str) -> None:
    run: LedgerRun = ledger_run(f"F37 full disk: {place}", batch_size=1_000)
    folder, size_bytes = {
        "checkpoint": (run.state_folder / "checkpoints", 4 * MIB),
        "store": (run.store_folder, 96 * MIB),
        "staged files": (run.state_folder / "incoming", 4 * MIB),
    }[place]
    disk = small_disk(folder, size_bytes)
    run.produce(2_000)
    run.start(env=disk.environment)
    run.wait_acknowledged()
    driver = run.service.pid

    fill_until_blocked(run, disk)
    disk.free()
    run.wait_acknowledged()
    assert run.service.pid == driver, "the service was restarted"

    fill_until_blocked(run, disk)
    run.kill()
    run.check_while_dead()
    disk.free()
    run.start(env=disk.environment)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f37_full_log_disk_drops_log_lines_only(ledger_run, small_disk: MakeDisk) -> None:
    run: LedgerRun = ledger_run("F37 full disk: log", batch_size=500)
    disk = small_disk(run.service.folder / "logs", 1 * MIB)
    run.service.log.symlink_to(disk.folder / "service.log")
    run.produce(1_000)
    run.start(env=disk.environment)
    run.wait_acknowledged()
    proof = disk.fill(disk.folder / "service.log")
    run.produce(5_000)
    run.wait_acknowledged()
    dropped = run.service.metric("attr2hbase_log_lines_dropped_total")
    assert dropped > 0
    run.proven(f"{proof}, {dropped:.0f} lines dropped")
    disk.free()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f37_full_local_dir_of_spark_has_no_effect(ledger_run, small_disk: MakeDisk) -> None:
    run: LedgerRun = ledger_run("F37 full disk: spark.local.dir", batch_size=500)
    disk = small_disk(run.service.folder / "scratch", 256 * MIB)
    content = run.content()
    content["spark"]["conf"]["spark.local.dir"] = str(disk.folder)
    run.service.write(content)
    run.produce(1_000)
    run.start(env=disk.environment)
    run.wait_acknowledged()
    assert any(disk.folder.iterdir()), "Spark does not use the folder"
    run.proven(disk.fill())
    run.produce(3_000)
    run.wait_acknowledged()  # batches write nothing there
    assert run.service.states()[run.pipeline] == "running"
    run.kill()
    run.check_while_dead()
    disk.free()
    run.start(env=disk.environment)
    run.finish()
