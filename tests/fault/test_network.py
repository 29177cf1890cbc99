"""Network faults between workers and HBase or its Thrift server: half-open, reset, slow, stalled, refused, moved."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun, merged
from tests.support.local import free_ports
from tests.support.memory import described, watched
from tests.support.protocols import SLOW_WITH_THRIFT
from tests.support.proxy import Direction, Proxy
from tests.support.servers import HBase, Protocol
from tests.support.service import ROOT
from tests.support.waiting import reached

CHUNK_BYTES = 10_000  # minimum size of a request that is a chunk
NAME = "hbase.test"
RESOLVER = """
import pathlib, socket
_real = socket.getaddrinfo
def _getaddrinfo(host, *arguments, **options):
    known = pathlib.Path({file!r}).read_text() if host == {name!r} else host
    return _real(known, *arguments, **options)
socket.getaddrinfo = _getaddrinfo
"""


@pytest.fixture
def proxy(hbase: HBase, protocol: Protocol) -> Iterator[Proxy]:
    with hbase.proxy(protocol) as target:
        yield target


def started(ledger_run: LedgerRuns, fault: str, proxy: Proxy, *, timeout: str, events: int = 1_500) -> LedgerRun:
    """A started service that has written events through the proxy."""
    run = ledger_run(fault, store="hbase", hbase_port=proxy.port, store_options={"timeout": timeout})
    run.produce(events)
    run.start()
    run.wait_acknowledged()
    return run


@SLOW_WITH_THRIFT
def test_unreachable_reset_half_open_idle_and_restarted_server(ledger_run: LedgerRuns, proxy: Proxy) -> None:
    """F08, F05, F04, F07 with one service, one after another."""
    run = ledger_run(
        "F04 F05 F07 F08 quick", store="hbase", hbase_port=proxy.port, store_options={"timeout": "2s"}, batch_size=1_000
    )
    unreachable_from_the_start(run, proxy)
    resets(run, proxy)
    half_open(run, proxy)
    idle(run, proxy)
    restarted(run, proxy)
    run.finish()


def unreachable_from_the_start(run: LedgerRun, proxy: Proxy) -> None:
    target, proxy.target = proxy.target, ("127.0.0.1", free_ports(1)[0])
    run.produce(1_000)
    run.start()
    run.service.wait_for_state("blocked", run.pipeline)
    assert run.service.get("/readyz")[0] == 503
    proxy.target = target
    run.wait_acknowledged()
    run.proven(f"F08 wrong port: {proxy.counts.refused} connections failed")


def resets(run: LedgerRun, proxy: Proxy) -> None:
    proxy.cut(Direction.UP, CHUNK_BYTES)
    proxy.cut(Direction.DOWN, 0, request_bytes=CHUNK_BYTES)
    proxy.cut(Direction.DOWN, 3, request_bytes=CHUNK_BYTES)
    run.produce(2_000)
    run.wait_acknowledged()
    cuts = {(cut.direction, cut.response_bytes) for cut in proxy.counts.cuts}
    assert cuts == {(Direction.UP, 0), (Direction.DOWN, 0), (Direction.DOWN, 3)}
    shown = ", ".join(
        f"{cut.request_bytes} B of the request and {cut.response_bytes} B of the response" for cut in proxy.counts.cuts
    )
    run.proven(f"F05 resets after {shown}")


def half_open(run: LedgerRun, proxy: Proxy) -> None:
    connections = proxy.counts.connections
    proxy.behave(discarded=True)
    run.produce(500)
    run.service.wait_for(lambda: proxy.counts.connections >= connections + 2, "a new attempt after a timeout")
    proxy.heal()
    run.wait_acknowledged()
    assert proxy.counts.discarded_bytes > 0
    run.proven(f"F04 half-open: {proxy.counts.discarded_bytes} B discarded")


def idle(run: LedgerRun, proxy: Proxy) -> None:
    """One event after the server has closed idle connections: the call is repeated within the attempt."""
    before = repeated_attempts(run)
    proxy.behave(idle_s=0.5)
    run.service.wait_for(lambda: proxy.live == 0, "idle connections closed")
    proxy.heal()
    run.produce(1)
    run.wait_acknowledged()
    assert repeated_attempts(run) == before
    run.proven(f"F07 idle: {proxy.counts.closed_idle} connections closed by the server's side")


def restarted(run: LedgerRun, proxy: Proxy) -> None:
    connections = proxy.live
    proxy.refuse()
    proxy.reset_all()
    run.produce(500)
    run.service.wait_for_state("blocked", run.pipeline)
    proxy.heal()
    run.wait_acknowledged()
    run.service.wait_for_state("running", run.pipeline)
    run.proven(f"F08 restart: {connections} connections reset, then refused")


def repeated_attempts(run: LedgerRun) -> float:
    """Number of attempts beyond the first of each micro-batch."""
    attempts = run.service.metric("attr2hbase_batch_attempts_total", pipeline=run.pipeline)
    return attempts - run.service.metric("attr2hbase_batch_seconds_count", pipeline=run.pipeline)


@pytest.mark.slow
def test_half_open_under_load(ledger_run: LedgerRuns, proxy: Proxy) -> None:
    """Existing and new connections of the workers get no responses for 20 s."""
    run = started(ledger_run, "F04 half-open under load", proxy, timeout="5s")
    with run.produce_in_background(300):
        run.service.wait_for_batches(2, run.pipeline)
        proxy.behave(discarded=True)
        run.service.wait_for_state("blocked", run.pipeline, 20)
        commits = run.service.checkpoint(run.pipeline).commits()
        assert not reached(lambda: run.service.checkpoint(run.pipeline).commits() != commits, 20)
        run.proven(f"{proxy.counts.discarded_bytes} B discarded on {proxy.live} connections")
        proxy.heal()
        run.service.wait_for_state("running", run.pipeline)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("a Thrift server is frozen")
def test_thrift_server_frozen(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """SIGSTOP: connections stay, the kernel accepts new ones, and there are no responses."""
    run = ledger_run("F04 Thrift server frozen", store="hbase", store_options={"timeout": "5s"})
    run.produce(1_000)
    run.start()
    run.wait_acknowledged()
    with run.produce_in_background(300):
        hbase.pause("thrift")
        run.service.wait_for_state("blocked", run.pipeline, 20)
        pid = hbase.server.thrift.pid
        assert pid is not None
        run.proven(f"SIGSTOP, pid {pid} in state {Path(f'/proc/{pid}/stat').read_text().split()[2]}")
        assert not reached(lambda: run.service.states() != {run.pipeline: "blocked"}, 20)
        hbase.resume("thrift")
        run.service.wait_for_state("running", run.pipeline)
    run.finish()


@pytest.mark.slow
def test_repeated_resets_lose_no_events(ledger_run: LedgerRuns, proxy: Proxy) -> None:
    """Connections are reset repeatedly, during requests and responses."""
    run = started(ledger_run, "F05 repeated resets", proxy, timeout="10s")
    with run.produce_in_background(1_500):
        for number in range(30):
            if number % 2:
                proxy.cut(Direction.UP, CHUNK_BYTES + 1_000 * number)
            else:
                proxy.cut(Direction.DOWN, number % 5, request_bytes=CHUNK_BYTES)
            done = len(proxy.counts.cuts)
            run.service.wait_for(lambda done=done: len(proxy.counts.cuts) > done, "a reset")
    asked = sum(cut.direction is Direction.UP for cut in proxy.counts.cuts)
    run.proven(f"{asked} resets during the request, {len(proxy.counts.cuts) - asked} during the response")
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("seconds", [1, 20, 120])
def test_stalled_network_loses_no_events(ledger_run: LedgerRuns, proxy: Proxy, seconds: int) -> None:
    """The network stalls and then delivers all data; the timeout is longer."""
    run = started(ledger_run, f"F06 stall of {seconds} s", proxy, timeout="180s")
    connections = proxy.counts.connections
    with run.produce_in_background(300):
        run.service.wait_for_batches(2, run.pipeline)
        proxy.behave(stalled=True)
        bytes_before = proxy.counts.down_bytes
        assert not reached(lambda: proxy.counts.down_bytes != bytes_before, seconds)
        if seconds > 15:
            assert run.service.states() == {run.pipeline: "blocked"}
        proxy.heal()
        run.service.wait_for_state("running", run.pipeline)
    run.proven(f"no byte for {seconds} s; {proxy.counts.connections - connections} new connections")
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_stall_longer_than_the_timeout(ledger_run: LedgerRuns, proxy: Proxy) -> None:
    """A timed-out call executes after its repetition, with the same cells and timestamps."""
    run = started(ledger_run, "F06 stall beyond the timeout", proxy, timeout="3s")
    connections = proxy.counts.connections
    with run.produce_in_background(300):
        run.service.wait_for_batches(2, run.pipeline)
        for _ in range(4):
            proxy.behave(stalled=True)
            bytes_before = proxy.counts.down_bytes
            assert not reached(lambda before=bytes_before: proxy.counts.down_bytes != before, 8)
            proxy.heal()
            run.service.wait_for_batches(1, run.pipeline)
    run.proven(f"4 stalls of 8 s; {proxy.counts.connections - connections} new connections")
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize(
    ("name", "faults", "events"),
    [("100 KB/s", {"bytes_per_s": 100_000}, 12_000), ("1-byte pieces", {"slice_bytes": 1}, 4_000)],
    ids=["100KB", "1byte"],
)
def test_slow_network_does_not_increase_memory(
    ledger_run: LedgerRuns, proxy: Proxy, name: str, faults: dict[str, int], events: int
) -> None:
    """A slow network does not increase memory."""
    run = started(ledger_run, f"F06 {name}", proxy, timeout="180s", events=3_000)
    before = proxy.counts.up_bytes
    with watched(run.service) as memory:
        begin_s = time.monotonic()
        proxy.behave(**faults)
        run.produce(events)
        run.wait_acknowledged(timeout_s=600)
        end_s = time.monotonic()
    third_s = (end_s - begin_s) / 3
    early = memory.between(begin_s, begin_s + third_s)
    late = memory.between(end_s - third_s, end_s)
    assert late["workers"] < early["workers"] * 1.2 + 20, f"{described(early)}; then {described(late)}"
    size = proxy.counts.up_bytes - before
    run.proven(f"{size} B in {end_s - begin_s:.0f} s; {described(early)}; later {described(late)}")
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("the read timeout is that of a Thrift server")
def test_idle_beyond_the_read_timeout_of_the_server(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """A real Thrift server that closes connections after 2 s of idle time."""
    properties = hbase.server.properties
    properties["hbase.thrift.server.socket.read.timeout"] = "2000"
    try:
        hbase.stop("thrift")
        hbase.start()
        run = ledger_run("F07 idle beyond the server's read timeout", store="hbase")
        run.produce(500)
        run.start()
        run.wait_acknowledged()
        before = repeated_attempts(run)
        closed = 0
        for _ in range(3):
            workers = run.service.workers()
            closing = lambda workers=workers: sum(_closed_by_server(worker, hbase.port) for worker in workers)  # noqa: E731
            run.service.wait_for(lambda closing=closing: closing() > 0, "a connection closed by the server")
            closed += closing()
            run.produce(1)
            run.wait_acknowledged()
        assert repeated_attempts(run) == before
        run.proven(f"{closed} connections of workers in CLOSE_WAIT before the next event")
        run.finish()
    finally:
        del properties["hbase.thrift.server.socket.read.timeout"]
        hbase.stop("thrift")


def _closed_by_server(worker, port: int) -> int:
    connections = worker.net_connections(kind="tcp")
    return sum(each.status == "CLOSE_WAIT" and each.raddr.port == port for each in connections if each.raddr)


@pytest.mark.slow
@pytest.mark.one_protocol("a Thrift server is killed")
def test_thrift_server_restarted(ledger_run: LedgerRuns, hbase: HBase) -> None:
    """Killed and restarted three times under load."""
    run = ledger_run("F08 Thrift server killed and restarted", store="hbase", store_options={"timeout": "20s"})
    run.produce(1_000)
    run.start()
    run.wait_acknowledged()
    with run.produce_in_background(500):
        for _ in range(3):
            pid = hbase.server.thrift.pid
            hbase.kill("thrift")
            run.service.wait_for_state("blocked", run.pipeline, 20)
            hbase.start()
            run.proven(f"SIGKILL, pid {pid} gone, now {hbase.server.thrift.pid}")
            run.service.wait_for_state("running", run.pipeline)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.one_protocol("other servers are found by the names in the meta table")
def test_host_name_with_another_address(ledger_run: LedgerRuns, hbase: HBase, tmp_path: Path) -> None:
    """The host name of the Thrift server resolves to another address, and the old address is dead."""
    file, modules = tmp_path / "address", tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(RESOLVER.format(file=str(file), name=NAME))
    target = hbase.host, hbase.port
    with Proxy(target) as old, Proxy(target, host="127.0.0.2", port=old.port) as new:
        run = ledger_run("F08 host name with another address", store="hbase", hbase_port=old.port)
        store = {"host": NAME, "timeout": "20s", "security": {"insecure": True}}
        run.service.write(merged(run.content(), {"stores": {"store": {"hbase": store}}}))
        file.write_text(old.host)
        run.start(env={"PYTHONPATH": f"{modules}:{ROOT}"})
        with run.produce_in_background(500):
            run.service.wait_for_batches(3, run.pipeline)
            assert old.counts.up_bytes > 0
            assert new.counts.connections == 0
            old.refuse()
            old.reset_all()
            assert not reached(lambda: new.counts.connections > 0, 3), "the name still resolves to the old address"
            file.write_text(new.host)
            run.service.wait_for(lambda: new.counts.up_bytes > CHUNK_BYTES, "chunks to the new address")
        run.proven(f"{old.counts.up_bytes} B to the old address, {new.counts.up_bytes} B to the new one")
        run.finish()
