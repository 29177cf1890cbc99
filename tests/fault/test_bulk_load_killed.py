"""A service that loads files, and the HBase that loads them, are killed: nothing is lost, changed or doubled."""

import shutil
from pathlib import Path

import pytest

from tests.support.hbase_admin import Admin
from tests.support.killed_at import killed_at
from tests.support.servers import HBase

EVENTS = 4_000
LOADED = "attr2hbase_bulk_load_rows_total"


@pytest.mark.slow
@pytest.mark.one_protocol("a Thrift server loads no files")
@pytest.mark.parametrize("protocol", ["rpc"])
@pytest.mark.usefixtures("protocol")
def test_killed_between_a_load_and_its_acknowledgement(ledger_run, hbase: HBase, tmp_path: Path) -> None:
    staging = tmp_path / "staging"
    run = ledger_run(
        "F01 bulk load",
        store="hbase",
        batch_size=1_000,
        table={"bulk_load": {"from": 1}, "splits": ["e", "k", "t"]},
        store_options={"staging": str(staging)},
    )
    run.produce(EVENTS)
    killed_at(run, "after_last_send", hit=2)
    killed_at(run, "before_commit", hit=2)
    run.start()
    service, labels = run.service, {"table": run.table}
    service.wait_for(lambda: service.metric(LOADED, **labels), "rows that are loaded as files", 120)
    with run.produce_in_background(rate=2_000):
        hbase.kill("hbase")
        run.proven("SIGKILL of HBase while it loads files")
        service.wait_for_state("blocked", run.pipeline, 60)
        hbase.start()
        service.wait_for_state("running", run.pipeline, 120)
    run.wait_acknowledged()
    with run.produce_in_background(rate=2_000), Admin(hbase.server) as admin:
        run.proven(f"split while files are loaded: {admin.ask('split', run.table)} regions")
    run.wait_acknowledged()
    assert service.metric("attr2hbase_bulk_load_unstaged_total", **labels) in {None, 0}
    shutil.rmtree(staging)
    staging.write_bytes(b"")  # no folder can be made there
    run.produce(EVENTS)
    run.wait_acknowledged()
    assert service.metric("attr2hbase_bulk_load_unstaged_total", **labels)
    run.finish()
