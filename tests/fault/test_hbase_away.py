"""HBase unavailable for minutes under load, and slow HBase: the service waits, uses no more memory, and catches up."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.memory import KINDS, Memory, described, watched
from tests.support.proxy import Proxy
from tests.support.servers import HBase, Protocol
from tests.support.waiting import reached

MINUTES = int(os.environ.get("HBASE_AWAY_MINUTES", "3"))
"""`HBASE_AWAY_MINUTES=10` for a longer outage; three minutes show whether memory grows."""

MINUTE_S = 60.0
MAX_GROWTH = 0.10
RATE = 500


@pytest.fixture
def proxy(hbase: HBase, protocol: Protocol) -> Iterator[Proxy]:
    with hbase.proxy(protocol) as target:
        yield target


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
def test_hbase_unavailable_for_minutes_under_load(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """F09: HBase is stopped and restarted; the service resumes without a restart, and its memory does not grow."""
    run = ledger_run(f"F09 HBase unavailable for {MINUTES} minutes", store="hbase", store_options={"timeout": "20s"})
    run.produce(20_000)
    run.start()
    run.wait_acknowledged()
    pid = run.service.pid
    with run.produce_in_background(RATE), watched(run.service) as memory:
        run.service.wait_for_batches(20, run.pipeline)
        stopped = hbase.server.hbase.pid
        hbase.stop("hbase")
        run.service.wait_for_state("blocked", run.pipeline, 30)
        begin_s = time.monotonic()
        assert_stays_blocked(run, MINUTES * MINUTE_S)
        first, last = minute(memory, begin_s, 0), minute(memory, begin_s, MINUTES - 1)
        hbase.start()
        run.service.wait_for_state("running", run.pipeline)
    run.wait_acknowledged(timeout_s=600)
    run.service.wait_for(lambda: run.service.metric("attr2hbase_lag_records", pipeline=run.pipeline) == 0, "no lag")
    assert run.service.pid == pid
    run.proven(
        f"HBase, pid {stopped}, stopped for {MINUTES} minutes; "
        f"minute 1: {described(first)}; {MINUTES}: {described(last)}"
    )
    for kind in KINDS:
        assert last[kind] - first[kind] <= first[kind] * MAX_GROWTH, (
            f"{kind}: {described(first)}, then {described(last)}"
        )
    run.finish()


def assert_stays_blocked(run: LedgerRun, seconds: float) -> None:
    """The pipeline stays blocked, alive and not ready, acknowledges nothing, and its lag grows."""
    commits = run.service.checkpoint(run.pipeline).commits()
    lag = run.service.metric("attr2hbase_lag_records", pipeline=run.pipeline)
    assert not reached(lambda: run.service.states() != {run.pipeline: "blocked"}, seconds, 1.0), (
        run.service.last_lines()
    )
    assert (run.service.get("/readyz")[0], run.service.get("/livez")[0]) == (503, 200)
    assert run.service.checkpoint(run.pipeline).commits() == commits
    assert run.service.metric("attr2hbase_lag_records", pipeline=run.pipeline) > lag


def minute(memory: Memory, begin_s: float, number: int) -> dict[str, float]:
    """Memory in a minute of the outage, from 0."""
    return memory.between(begin_s + number * MINUTE_S, begin_s + (number + 1) * MINUTE_S)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_slow_store_with_a_backlog(ledger_run: LedgerRuns, proxy: Proxy) -> None:
    """F35: calls of 50 ms, small chunks and a backlog: batches do not exceed their limit, and memory does not grow."""
    batch = 2_000
    run = ledger_run(
        "F35 slow store", store="hbase", hbase_port=proxy.port, sink={"write_buffer_size": "8KiB"}, batch_size=batch
    )
    run.produce(60_000)
    proxy.behave(delay_s=0.05)
    run.start()
    with watched(run.service) as memory:
        run.wait_acknowledged(0.2)
        begin_s, calls = time.monotonic(), proxy.counts.exchanges
        with run.produce_in_background(RATE):
            run.wait_acknowledged(0.9, timeout_s=900)
        end_s = time.monotonic()
    took_s, calls = end_s - begin_s, proxy.counts.exchanges - calls
    third_s = took_s / 3
    early = memory.between(begin_s, begin_s + third_s)
    late = memory.between(end_s - third_s, end_s)
    batches = list(run.service.checkpoint(run.pipeline).batches(run.topic))
    largest = max(sum(each.ends.values()) - sum(each.starts.values()) for each in batches)
    assert largest <= batch
    for kind in KINDS:
        assert late[kind] <= early[kind] * (1 + MAX_GROWTH), f"{kind}: {described(early)}, then {described(late)}"
    run.proven(
        f"{calls} calls of 50 ms, {took_s:.0f} s; largest batch {largest}; {described(early)}; later {described(late)}"
    )
    proxy.heal()
    run.finish(timeout_s=600)
