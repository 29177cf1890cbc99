"""
F03: SIGTERM and SIGINT under load, once and twice. The running batch is completed and committed to the group, or
abandoned and repeated at the next start; the exit code depends on the signal.
"""

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psutil
import pytest

from tests.support.killed_at import Failpoint
from tests.support.ledger.run import LedgerRun, merged

EVENTS = 12_000  # in batches of 250: more than three short runs process
STOP_S = 20.0  # a batch takes one second, the default stop_timeout is half a minute


def send(run: LedgerRun, signals: Sequence[signal.Signals]) -> None:
    """Send signals one after another, since two pending ones would be merged."""

    def stops() -> int:
        return written(run).count('"pipeline stops"')

    before = stops()
    for sent, number in enumerate(signals):
        if sent:
            run.service.wait_for(lambda: stops() > before, f"{number.name} handled")
        os.kill(run.service.pid, number)


def stopped(run: LedgerRun, signals: Sequence[signal.Signals], code: int) -> None:
    """Start the service, send signals under load, and check its end."""
    checkpoint = run.service.checkpoint(run.pipeline)
    run.start()
    run.service.wait_for_batches(2, run.pipeline)
    send(run, signals)
    assert run.service.wait_for_exit(STOP_S) == code, run.service.last_lines()
    run.service.wait_until_gone()
    acknowledged = checkpoint.acknowledged(run.topic)
    assert 0 < sum(acknowledged.values()) < EVENTS, "it was not stopped under load"
    assert {part: end for part, end in acknowledged.items() if end} == run.kafka.committed(run.group, run.topic)
    if len(signals) == 1:
        assert not checkpoint.is_inside_a_batch()
    run.proven(f"{'+'.join(number.name for number in signals)}: exit {code}")
    run.check_while_dead()


def written(run: LedgerRun) -> str:
    """Everything that the service wrote; spark-submit writes both streams of the driver to its standard output."""
    return "".join(path.read_text() for path in (run.service.log, run.service.out))


def with_source(run: LedgerRun, **options: Any) -> Mapping[str, Any]:
    return merged(run.content(), {"pipelines": {run.pipeline: {"source": {"kafka": options}}}})


def send_to_all(run: LedgerRun) -> None:
    """Send SIGTERM to every process of the service, including Spark's, like systemd."""
    for process in run.service.processes():
        with contextlib.suppress(psutil.Error):
            process.terminate()


def assert_ends_cleanly(run: LedgerRun, code: int = 0) -> None:
    """The service ends without a traceback, and the offsets of group and checkpoint are equal."""
    assert run.service.wait_for_exit(STOP_S) == code, run.service.last_lines()
    run.service.wait_until_gone()
    assert "Traceback" not in written(run)
    acknowledged = run.service.checkpoint(run.pipeline).acknowledged(run.topic)
    committed = run.kafka.committed(run.group, run.topic)
    assert {part: end for part, end in acknowledged.items() if end} == committed
    run.check_while_dead()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f03_sigterm_to_all_processes(ledger_run) -> None:
    run: LedgerRun = ledger_run("F03 all processes", batch_size=250)
    run.produce(EVENTS)
    for send in (lambda: os.killpg(run.service.pid, signal.SIGTERM), lambda: send_to_all(run)):
        run.start()
        run.service.wait_for_batches(2, run.pipeline)
        send()
        assert_ends_cleanly(run)
        assert not run.service.checkpoint(run.pipeline).is_inside_a_batch()
        for late_s in (0.0, 1.0, 2.0, 3.0, 4.0):  # during the start of the JVM, of Spark, of the query
            run.begin()
            run.service.wait_for(lambda: len(run.service.processes()) > 1, "Spark starts")
            time.sleep(late_s)  # different times of the start
            send()
            assert_ends_cleanly(run)
    run.proven("SIGTERM to the group and to each process, while running and at ten moments of a start: exit 0")
    run.start()
    run.finish(max_redelivered=12 * 250)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f03_signals_to_spark_submit(ledger_run) -> None:
    run: LedgerRun = ledger_run("F03 spark-submit", batch_size=250)
    run.produce(EVENTS)

    def to_pid(number: signal.Signals) -> None:
        os.kill(run.service.pid, number)

    def to_group(number: signal.Signals) -> None:
        os.killpg(run.service.pid, number)

    for target in (to_pid, to_group):
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
            run.begin_submitted()
            run.service.wait_for_batches(2, run.pipeline)
            target(number)
            assert_ends_cleanly(run, code)
            assert not run.service.checkpoint(run.pipeline).is_inside_a_batch()
            run.proven(f"{number.name} {target.__name__.replace('_', ' ')}: exit {code}")
    run.start()
    run.finish(max_redelivered=0)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f03_two_signals_to_spark_submit_while_a_batch_hangs(ledger_run) -> None:
    run: LedgerRun = ledger_run("F03 spark-submit while a batch hangs", batch_size=1_000)
    run.produce(3_000)
    run.service.write(merged(run.content(), {"service": {"stop_timeout": "60s"}}))
    failpoint = Failpoint(run, "after_last_send", action="hold")
    run.begin_submitted(env=failpoint.environment)
    failpoint.wait_reached()
    send(run, [signal.SIGTERM, signal.SIGTERM])
    assert_ends_cleanly(run)
    assert run.service.checkpoint(run.pipeline).is_inside_a_batch()
    run.proven("batch hangs, SIGTERM+SIGTERM: exit 0")
    run.start()
    run.finish()


@pytest.mark.slow
def test_f03_signals_under_load(ledger_run) -> None:
    run: LedgerRun = ledger_run("F03 signals", batch_size=250)
    run.produce(EVENTS)
    stopped(run, [signal.SIGTERM], 0)
    stopped(run, [signal.SIGINT], 130)
    stopped(run, [signal.SIGINT, signal.SIGINT], 130)
    run.service.write(with_source(run, max_events_per_batch=EVENTS))
    run.start()
    run.finish(max_redelivered=3 * 250)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f03_signals_while_a_batch_hangs(ledger_run) -> None:
    run: LedgerRun = ledger_run("F03 signals while a batch hangs", batch_size=1_000)
    run.produce(3_000)
    for stop_timeout, signals, code in (
        ("2s", [signal.SIGTERM], 0),  # stop_timeout expires
        ("60s", [signal.SIGTERM, signal.SIGTERM], 0),  # the second signal stops at once
        ("60s", [signal.SIGINT, signal.SIGINT], 130),
    ):
        run.service.write(merged(run.content(), {"service": {"stop_timeout": stop_timeout}}))
        failpoint = Failpoint(run, "after_last_send", action="hold")
        run.begin(env=failpoint.environment)
        failpoint.wait_reached()
        send(run, signals)
        assert run.service.wait_for_exit(STOP_S) == code, run.service.last_lines()
        run.service.wait_until_gone()
        assert run.service.checkpoint(run.pipeline).is_inside_a_batch()
        run.proven(f"batch hangs, {'+'.join(each.name for each in signals)}, stop_timeout {stop_timeout}: exit {code}")
        run.check_while_dead()
    run.start()
    run.finish()
