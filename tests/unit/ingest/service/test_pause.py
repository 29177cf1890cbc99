"""The supervisor carries out pause, resume and flush."""

import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ingest.api import ConfigError
from ingest.observe.health import State
from ingest.service import supervisor as module
from ingest.service.control import Control
from ingest.service.pauses import Pauses
from tests.support.supervised import Bench
from tests.support.waiting import reached

WAIT_S = 30.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.001)
    monkeypatch.setattr(module, "BLOCKED_STOP_S", 0.01)
    monkeypatch.setattr(module, "START_STOP_S", 0.1)


class Running:
    """A supervisor that runs in a thread until the test ends."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._thread = threading.Thread(target=bench.supervisor.run)

    def __enter__(self) -> Bench:
        self._thread.start()
        return self.bench

    def __exit__(self, *_exception: object) -> None:
        self.bench.stop.request()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


def start(bench: Bench) -> None:
    bench.query.has_ended = False


def is_in(bench: Bench, state: State) -> bool:
    return reached(lambda: bench.state is state, WAIT_S)


def test_pause_waits_for_the_running_batch(tmp_path: Path):
    bench = Bench(start, state_dir=tmp_path)
    bench.query.is_drained = False
    with Running(bench):
        assert is_in(bench, State.RUNNING)
        bench.control.pause("p")
        assert reached(lambda: bench.query.refuses, WAIT_S)
        assert not bench.query.stopped
        assert bench.state is State.RUNNING
        bench.query.is_drained = True
        assert is_in(bench, State.PAUSED)
        assert bench.query.stopped


@pytest.mark.parametrize("is_stop", [True, False])
def test_batch_that_fails_for_good_while_a_pause_or_a_stop_waits_fails_its_pipeline(tmp_path: Path, is_stop: bool):
    bench = Bench(start, state_dir=tmp_path, stop_timeout_s=WAIT_S)
    bench.query.is_drained = False
    with Running(bench):
        assert is_in(bench, State.RUNNING)
        if is_stop:
            bench.stop.request()
        else:
            bench.control.pause("p")
        assert reached(lambda: bench.query.refuses, WAIT_S)
        bench.query.error = ConfigError("the error budget is used up", code="error_budget")
        bench.query.is_drained = True
        assert is_in(bench, State.FAILED)
    assert (bench.member.error, bench.health.snapshot()[0].reason) == (bench.query.error, str(bench.query.error))


def test_batch_that_fails_while_a_pause_waits_runs_again_after_it(tmp_path: Path):
    bench = Bench(start, state_dir=tmp_path)
    bench.query.is_drained = False
    with capture_logs() as logs, Running(bench):
        assert is_in(bench, State.RUNNING)
        bench.control.pause("p")
        assert reached(lambda: bench.query.refuses, WAIT_S)
        bench.query.error = RuntimeError("worker gone")
        bench.query.is_drained = True
        assert is_in(bench, State.PAUSED)
    assert [line["reason"] for line in logs if line["event"].startswith("the last batch failed")] == ["worker gone"]


def test_stop_within_a_start_after_a_pause_reports_no_failed_batch(tmp_path: Path):
    """Its query was stopped by the pause, and has no error."""
    may_start = threading.Event()

    def start_late(bench: Bench) -> None:
        if bench.starts == 2:
            may_start.wait(WAIT_S)

    bench = Bench(start_late, state_dir=tmp_path)
    with capture_logs() as logs, Running(bench):
        assert is_in(bench, State.RUNNING)
        bench.control.pause("p")
        assert is_in(bench, State.PAUSED)
        bench.query.has_ended, bench.query.error = True, RuntimeError("the query ended, and Spark reports no reason")
        bench.control.resume("p")
        assert reached(lambda: bench.starts == 2, WAIT_S)
        bench.stop.request()
        assert is_in(bench, State.STOPPED)
        may_start.set()
    assert [line for line in logs if line["event"].startswith("the last batch failed")] == []


def test_blocked_batch_is_abandoned_by_a_pause(tmp_path: Path):
    bench = Bench(start, state_dir=tmp_path)
    bench.query.is_drained = False
    with Running(bench):
        bench.observer.blocked("store_unavailable", "away")
        bench.control.pause("p")
        assert is_in(bench, State.PAUSED)


def test_resumed_pipeline_starts_again_and_takes_batches(tmp_path: Path):
    bench = Bench(start, state_dir=tmp_path)
    with Running(bench):
        bench.control.pause("p")
        assert is_in(bench, State.PAUSED)
        bench.query.has_ended = True
        bench.control.resume("p")
        assert is_in(bench, State.RUNNING)
        assert (bench.starts, bench.query.refuses) == (2, False)


def test_pause_survives_a_restart(tmp_path: Path):
    Control(Pauses(tmp_path), ["p"]).pause("p")
    bench = Bench(start, state_dir=tmp_path)
    with Running(bench):
        assert is_in(bench, State.PAUSED)
        assert bench.starts == 0
        bench.control.resume("p")
        assert is_in(bench, State.RUNNING)
    assert not Pauses(tmp_path).is_set("p")


def test_paused_pipeline_ends_a_run_over_existing_records(tmp_path: Path):
    Pauses(tmp_path).set("p")
    bench = Bench(start, once=True, state_dir=tmp_path)
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.state) == (0, State.PAUSED)


def test_pause_during_a_run_over_existing_records_ends_it(tmp_path: Path):
    def pause(bench: Bench) -> None:
        start(bench)
        bench.control.pause("p")

    bench = Bench(pause, once=True, state_dir=tmp_path)
    run = threading.Thread(target=bench.supervisor.run, daemon=True)
    with capture_logs() as logs:
        run.start()
        run.join(WAIT_S)
    assert not run.is_alive()
    assert (bench.starts, bench.stops, bench.state, bench.member.error) == (1, 1, State.PAUSED, None)
    assert any("the pause ends this run" in line["event"] for line in logs)


def test_pause_that_ends_before_its_batch_still_restarts_the_query(tmp_path: Path):
    """The query may have refused a batch meanwhile, which ends it."""
    bench = Bench(start, state_dir=tmp_path)
    bench.query.is_drained = False
    with Running(bench):
        assert is_in(bench, State.RUNNING)
        bench.control.pause("p")
        assert reached(lambda: bench.query.refuses, WAIT_S)
        bench.control.resume("p")
        bench.query.is_drained = True
        assert reached(lambda: bench.starts == 2, WAIT_S)
        assert not bench.query.refuses


@pytest.mark.parametrize(("every_s", "starts"), [(3600.0, 2), (0.0, 1)])
def test_flush_restarts_a_query_that_waits_for_its_interval(tmp_path: Path, every_s: float, starts: int):
    bench = Bench(start, state_dir=tmp_path)
    bench.pipeline.every_s = every_s
    with Running(bench):
        assert is_in(bench, State.RUNNING)
        bench.control.flush("p")
        if every_s:
            assert reached(lambda: bench.running.must_flush, WAIT_S)
            assert bench.starts == 1
        bench.query.has_no_data = True
        assert reached(lambda: bench.starts == starts and not bench.running.must_flush, WAIT_S)


def test_failed_pipeline_stays_failed(tmp_path: Path):
    def fail(bench: Bench) -> None:
        raise OSError("no room")

    bench = Bench(fail, state_dir=tmp_path)
    bench.control.pause("p")
    bench.control.resume("p")
    assert [str(error) for error in bench.supervisor.run()] == ["no room"]
    assert bench.state is State.FAILED
