"""A replay that is killed with SIGKILL and run again restores the whole table; the audit is exact."""

import subprocess
import sys
import time
from collections.abc import Mapping

import pytest

from ingest.formats.times import moment
from tests.support.killed_at import Failpoint
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.service import environment

LIMIT_S = 600.0


def replay(run: LedgerRun, begin_ms: int, env: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `attr2hbase replay` for everything produced since a time."""
    times = ("--from", moment(begin_ms), "--to", moment(begin_ms + 24 * 3_600_000))
    return subprocess.run(
        [sys.executable, "-m", "ingest", "replay", "-f", str(run.service.file), *times, *arguments],
        cwd=run.service.folder,
        env={**environment(), **env},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def kill_and_resume(run: LedgerRun, begin_ms: int, points: Mapping[str, int]) -> None:
    """Kill a replay at each of these failpoints, at the given hit, then let it finish."""
    for point, hit in points.items():
        failpoint = Failpoint(run, point, hit=hit)
        killed = replay(run, begin_ms, failpoint.environment, "--own-process")
        assert killed.returncode == -9, killed.stdout + killed.stderr
        assert failpoint.file.exists()
        run.proven(f"SIGKILL {point}#{hit} of a replay")
    done = replay(run, begin_ms, {}, "--own-process")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_lost_rocksdb_table_is_restored(ledger_run: LedgerRuns) -> None:
    begin_ms = int(time.time() * 1000) - 3_600_000
    run = ledger_run("replay killed", store="rocksdb", batch_size=500)
    run.produce(4_000)
    run.start()
    run.wait_acknowledged()
    assert run.service.stop() == 0, run.service.last_lines()
    run.store_folder.rename(run.store_folder.with_name("lost"))
    kill_and_resume(run, begin_ms, {"after_last_send": 2, "before_commit": 3})
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_lost_rocksdb_table_is_restored_by_a_service_that_is_killed(ledger_run: LedgerRuns) -> None:
    begin_ms = int(time.time() * 1000) - 3_600_000
    run = ledger_run("replay killed", store="rocksdb", batch_size=500)
    run.produce(4_000)
    run.start()
    run.wait_acknowledged()
    assert run.service.stop() == 0, run.service.last_lines()
    run.store_folder.rename(run.store_folder.with_name("lost"))
    for point, hit in {"after_last_send": 2, "before_commit": 3}.items():
        failpoint = Failpoint(run, point, hit=hit)
        run.start(env=failpoint.environment)
        # the pipeline has nothing to read, so the replay reaches the failpoint
        interrupted = replay(run, begin_ms, {})
        failpoint.wait_killed()
        assert interrupted.returncode == 3, interrupted.stdout + interrupted.stderr
    run.start()
    with run.produce_in_background(rate=100):
        done = replay(run, begin_ms, {})
    assert done.returncode == 0, done.stdout + done.stderr
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
def test_lost_hbase_table_is_restored_while_the_service_writes(ledger_run: LedgerRuns) -> None:
    begin_ms = int(time.time() * 1000) - 3_600_000
    run = ledger_run("replay killed", store="hbase", batch_size=500)
    run.make_table()
    run.produce(4_000)
    run.start()
    run.wait_acknowledged()
    assert run.service.stop() == 0, run.service.last_lines()
    assert run.hbase is not None
    with run.hbase.connection() as connection:
        connection.delete_table(run.table, disable=True)
    run.make_table()
    run.start()
    with run.produce_in_background(rate=100):
        kill_and_resume(run, begin_ms, {"after_last_send": 2, "before_commit": 3})
    run.finish()
