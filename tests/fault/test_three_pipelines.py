"""One pipeline has failed, one is blocked by a frozen HBase, and one is fine: for half an hour, and after a restart."""

import os
import time
from typing import Any

import pytest

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.observed import hbase_rows
from tests.support.ledger.pipeline import merged, with_neighbour
from tests.support.ledger.run import LedgerRun
from tests.support.names import unique
from tests.support.servers import HBase
from tests.support.waiting import reached

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
LOOK_S = 5.0
BACKLOG = 300_000  # events for a measurement of the rate
LEAST_OF_ALONE = 0.85
BLOCKED, FAILED = "blocked", "failed"


def with_neighbours(run: LedgerRun, hbase: HBase, table: str) -> dict[str, Any]:
    """The file of a run with two more pipelines over its topic; the second has a damaged checkpoint."""
    damaged = run.service.checkpoint(FAILED).folder / "commits"
    damaged.mkdir(parents=True)
    (damaged / "0").write_text("v1\n{}")
    cluster = {"stores": {"cluster": {"hbase": {"host": hbase.host, "port": hbase.port}}}}
    content = with_neighbour(merged(run.content(), cluster), BLOCKED, table=table, store="cluster")
    return with_neighbour(content, FAILED, table="never")


def rate_of_backlog(run: LedgerRun) -> float:
    """Produce many events while the pipeline is paused; returns events per second after it is resumed."""
    path = f"/pipelines/{run.pipeline}"
    assert run.service.post(f"{path}/pause")[0] == 202
    run.service.wait_for_state("paused", run.pipeline)
    run.produce(BACKLOG)
    assert run.service.post(f"{path}/resume")[0] == 202
    run.service.wait_for_batches(1, run.pipeline)
    read = run.service.metric("attr2hbase_events_read_total", pipeline=run.pipeline)
    started_s = time.monotonic()
    run.wait_acknowledged()
    seconds = time.monotonic() - started_s
    return (run.service.metric("attr2hbase_events_read_total", pipeline=run.pipeline) - read) / seconds


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("the pipelines beside each other are tested")
def test_half_an_hour_beside_a_failed_and_a_blocked_pipeline(ledger_run: LedgerRuns, hbase: HBase) -> None:
    run = ledger_run("three pipelines", store="rocksdb", batch_size=10_000, sink={"store": "store"})
    table = unique("blocked")
    run.service.write(with_neighbours(run, hbase, table))
    made = run.service.ingest("table apply")
    assert made.returncode == 0, made.stderr
    run.produce(BACKLOG)
    run.start()
    run.service.wait_for_state("failed", FAILED)
    run.wait_acknowledged()

    hbase.pause("thrift")
    try:
        run.produce(1_000)  # the pipeline to HBase may have stored the others
        run.service.wait_for_state("blocked", BLOCKED)
        expected = {run.pipeline: "running", BLOCKED: "blocked", FAILED: "failed"}
        end_s = time.monotonic() + MINUTES * 60
        looks = 0
        before = run.service.metric("attr2hbase_events_stored_total", pipeline=run.pipeline)
        with run.produce_in_background(rate=1_500):
            while time.monotonic() < end_s:
                reached(lambda: not run.service.is_running, LOOK_S)
                assert run.service.states() == expected, run.service.last_lines()
                for name, state in expected.items():
                    assert run.service.metric("attr2hbase_pipeline_state", pipeline=name, state=state) == 1
                    assert run.service.metric("attr2hbase_pipeline_state", pipeline=name) == 1
                stored = run.service.metric("attr2hbase_events_stored_total", pipeline=run.pipeline)
                assert stored > before
                before = stored
                assert run.service.get("/readyz")[0] == 503
                looks += 1
        run.wait_acknowledged()
        beside = rate_of_backlog(run)
        # then, since a larger table is written more slowly
        assert run.service.post(f"/pipelines/{BLOCKED}/pause")[0] == 202
        run.service.wait_for_state("paused", BLOCKED)
        alone = rate_of_backlog(run)
        assert run.service.post(f"/pipelines/{BLOCKED}/resume")[0] == 202
        run.service.wait_for_state("blocked", BLOCKED)
        run.proven(f"{looks} looks in {MINUTES:g} minutes; {beside:,.0f} events/s, alone {alone:,.0f}")
        assert beside >= LEAST_OF_ALONE * alone
        # the limit is `stop_timeout`, 60 s by default; a blocked batch is abandoned
        assert run.service.stop(timeout_s=90) == 5, run.service.last_lines()
    finally:
        hbase.resume("thrift")

    run.start()
    places = run.service.checkpoint(BLOCKED)
    run.service.wait_for_state("running", BLOCKED)
    run.wait_acknowledged()
    ends = run.service.checkpoint(run.pipeline).acknowledged(run.topic)
    run.service.wait_for(lambda: places.acknowledged(run.topic) == ends, "the blocked pipeline at the end", 900)
    run.finish(exit_code=5)
    rows = run.observed().rows
    assert hbase_rows(hbase, table).keys() == rows.keys()
