"""The supervisor: restart, failure, stop."""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from structlog.testing import capture_logs

from ingest.api import ConfigError, IngestError, PositionLostError, SourceUnavailableError
from ingest.observe.health import MAX_REASON_CHARS, State
from ingest.observe.logs import set_up
from ingest.receipt import Counts
from ingest.service import member as member_module
from ingest.service import supervisor as supervisor_module
from ingest.service.supervisor import Supervisor
from ingest.service.systemd import ServiceManager
from ingest.spark.errors import JvmUnresponsiveError, WorkerLateError
from tests.support.supervised import Bench, Query

WAIT_S = 30.0  # for another thread; only a failing test waits so long


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_module, "RESTART_S", (0.0,))
    monkeypatch.setattr(supervisor_module, "POLL_S", 0.001)
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.01)


def test_run_ends_when_its_query_ends():
    def start(bench: Bench) -> None:
        bench.query.has_ended = True

    bench = Bench(start, once=True)
    assert bench.supervisor.run() == []
    assert (bench.state, bench.stops) == (State.STOPPED, 1)


def test_systemd_receives_readiness_pings_and_stop():
    class Recorded(ServiceManager):
        def __init__(self) -> None:
            super().__init__()
            self.sent: list[str] = []

        def ready(self) -> None:
            self.sent.append(f"ready after {bench.starts} starts")

        def alive(self) -> None:
            self.sent.append("alive")
            bench.query.has_ended = True

        def stopping(self) -> None:
            self.sent.append(f"stopping after {bench.stops} stops")

    bench = Bench(lambda _bench: None)
    manager = bench.supervisor._service_manager = Recorded()
    bench.supervisor.run()
    assert [manager.sent[0], manager.sent[-1]] == ["ready after 1 starts", "stopping after 0 stops"]
    assert set(manager.sent[1:-1]) == {"alive"}


def test_failed_query_is_restarted():
    def start(bench: Bench) -> None:
        bench.query.has_ended = True
        bench.query.error = RuntimeError("worker gone") if bench.starts < 3 else None

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert bench.starts == 3


@pytest.mark.parametrize("first", ["[STREAM_FAILED] Query terminated: ", "[STREAM_FAILED] " + "x" * MAX_REASON_CHARS])
def test_restart_is_announced_in_the_first_line_of_a_long_error(first: str):
    def start(bench: Bench) -> None:
        bench.query.has_ended = True
        dump = f"{first}\nTraceback:\n" + "+- StreamingDataSourceV2Relation\n" * 1_000
        bench.query.error = RuntimeError(dump) if bench.starts == 1 else None

    bench = Bench(start)
    reasons: list[str] = []
    when(bench, State.BACKING_OFF, lambda _reason: reasons.append(bench.health.snapshot()[0].reason))
    assert bench.supervisor.run() == []
    line, *more = reasons[0].split("\n")
    assert line.startswith(f"query_failed: {first.strip()[:500]}")
    assert line.endswith("; the query is restarted in 0 s")
    assert more[0] == "Traceback:"
    assert len(line) < MAX_REASON_CHARS // 2


def test_unexpected_error_of_the_first_start_fails_the_pipeline():
    def start(bench: Bench) -> None:
        raise OSError("no room")

    bench = Bench(start)
    assert [str(error) for error in bench.supervisor.run()] == ["no room"]
    assert (bench.starts, bench.state, bench.stops) == (1, State.FAILED, 1)


def test_unexpected_error_of_a_restart_is_retried():
    def start(bench: Bench) -> None:
        if bench.starts == 2:
            raise OSError("no room")
        bench.query.has_ended = True
        bench.query.error = RuntimeError("worker gone") if bench.starts < 3 else None

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert bench.starts == 3


def test_restarted_query_without_new_data_is_not_blocked():
    def start(bench: Bench) -> None:
        bench.query.has_ended = bench.starts == 1
        bench.query.error = SourceUnavailableError("no broker")
        bench.query.has_no_data = bench.starts == 2

    bench = Bench(start)
    states = []

    def seen() -> None:
        while not states or states[-1] is not State.RUNNING:
            states.append(bench.state)
        bench.stop.request()

    thread = threading.Thread(target=seen, daemon=True)
    thread.start()
    assert bench.supervisor.run() == []
    assert not bench.observer.is_blocked


def test_error_with_disposition_stop_fails_the_pipeline_without_a_retry():
    def start(bench: Bench) -> None:
        raise ConfigError("no such topic")

    bench = Bench(start)
    errors = bench.supervisor.run()
    assert [str(error) for error in errors] == ["no such topic"]
    assert (bench.starts, bench.state, bench.stops) == (1, State.FAILED, 1)


def test_lost_position_is_reported_with_the_error_of_the_source():
    def start(bench: Bench) -> None:
        if bench.starts == 2:
            raise PositionLostError("offsets 0 to 9 are gone")
        bench.query.has_ended = True
        bench.query.error = PositionLostError("some data may have been lost")

    bench = Bench(start)
    errors = bench.supervisor.run()
    assert [str(error) for error in errors] == ["offsets 0 to 9 are gone"]
    assert bench.starts == 2


def test_failed_restart_after_a_lost_position_is_retried():
    def start(bench: Bench) -> None:
        if bench.starts == 2:
            raise RuntimeError("a query with that name is already active")
        bench.query.has_ended = True
        bench.query.error = PositionLostError("some data may have been lost") if bench.starts == 1 else None

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert bench.starts == 3


@pytest.mark.parametrize("once", [True, False])
def test_lost_position_that_a_restart_does_not_detect_fails_the_pipeline(once: bool):
    """One restart for each loss; another one only after progress."""

    def start(bench: Bench) -> None:
        bench.query.has_ended = True
        bench.query.error = PositionLostError("ended before the end")
        if bench.starts == 2:
            bench.observer.durable(0, 5_000, Counts(), 0.5)

    bench = Bench(start, once=once)
    assert [str(error) for error in bench.supervisor.run()] == ["ended before the end"]
    assert (bench.starts, bench.state) == (3, State.FAILED)


def test_unavailable_source_blocks_a_service_until_it_answers():
    def start(bench: Bench) -> None:
        if bench.starts < 5:
            raise SourceUnavailableError("no broker")
        bench.query.has_ended = True

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert bench.starts == 5


def test_unavailable_source_ends_a_once_run():
    def start(bench: Bench) -> None:
        raise SourceUnavailableError("no broker")

    bench = Bench(start, once=True)
    (error,) = bench.supervisor.run()
    assert isinstance(error, IngestError)
    assert (bench.starts, error.exit_code) == (3, 3)


def test_once_run_on_a_busy_machine_starts_more_often():
    def start(bench: Bench) -> None:
        raise WorkerLateError("did not connect")

    bench = Bench(start, once=True)
    (error,) = bench.supervisor.run()
    assert isinstance(error, IngestError)
    assert (bench.starts, error.exit_code) == (10, 3)


@pytest.mark.parametrize("once", [True, False])
def test_query_whose_reason_the_jvm_has_not_given_yet_is_not_restarted(once: bool):
    """The reason decides how often a `--once` run starts."""

    class Late(Query):
        asked = 0

        def failure(self) -> BaseException | None:
            self.asked += 1
            return JvmUnresponsiveError("no answer") if self.asked < 9 else None

    def start(bench: Bench) -> None:
        bench.query.has_ended = True

    bench = Bench(start, once=once)
    bench.query = bench.pipeline.query = Late()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.state) == (1, State.STOPPED)


def test_start_on_a_busy_machine_is_repeated():
    def start(bench: Bench) -> None:
        bench.query.has_ended = True
        if bench.starts < 6:
            raise PySparkException("Python worker failed to connect back.")

    bench = Bench(start, once=True)
    assert bench.supervisor.run() == []
    assert bench.starts == 6


def test_fatal_error_stops_a_query_that_does_not_detect_it():
    def start(bench: Bench) -> None:
        bench.fatal = PositionLostError("recreated")

    bench = Bench(start)
    assert [str(error) for error in bench.supervisor.run()] == ["recreated"]
    assert (bench.query.stopped, bench.starts, bench.state, bench.stops) == (True, 1, State.FAILED, 1)


def test_unresponsive_source_blocks_a_running_query():
    bench = Bench(lambda bench: setattr(bench, "unavailable", "no answer of Kafka"))
    states = []

    def seen() -> None:
        while bench.state is not State.BLOCKED:
            pass
        states.append(bench.health.snapshot()[0].reason)
        bench.unavailable = None
        while bench.state is not State.RUNNING:
            pass
        bench.stop.request()

    watcher = threading.Thread(target=seen)
    watcher.start()
    assert bench.supervisor.run() == []
    watcher.join()
    assert states == ["source_unavailable: no answer of Kafka"]


def test_recovered_source_does_not_unblock_a_batch_blocked_by_a_store(capsys: pytest.CaptureFixture[str]):
    set_up()
    bench = Bench(lambda _bench: None)
    bench.observer.blocked("store_unavailable", "no answer")
    bench.observer.source("no answer of Kafka")
    assert bench.health.snapshot()[0].reason == "source_unavailable: no answer of Kafka"
    bench.observer.source(None)
    assert (bench.state, bench.health.snapshot()[0].reason) == (State.BLOCKED, "store_unavailable: no answer")
    bench.observer.blocked("store_unavailable", "still no answer")
    bench.observer.blocked("disabled", "the table is disabled")
    bench.observer.running()
    assert bench.state is State.RUNNING
    reported = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("code", line["message"]) for line in reported] == [
        "store_unavailable",
        "source_unavailable",
        "store_unavailable",
        "disabled",
        "pipeline resumes",
    ]


def test_chunks_that_went_as_calls_in_place_of_files_are_a_warning():
    bench = Bench(lambda _bench: None)
    with capture_logs() as lines:
        bench.observer.durable(0, 5_000, Counts(counted=Counter({("bulk_load_refused", "t"): 2})), 0.5)
    found = [(line["log_level"], line["table"], line["chunks"]) for line in lines if "table" in line]
    assert found == [("warning", "t", 2)]


def test_slow_batch_stage_is_reported_and_gets_the_whole_stop_timeout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.0)

    def start(bench: Bench) -> None:
        bench.query.running_s = 121.0
        bench.query.is_drained = False
        change = bench.health.change

        def changed(pipeline: str, state: State, reason: str = "") -> None:
            change(pipeline, state, reason)
            if reason and not reasons:
                reasons.append(reason)
                bench.stop.request()

        bench.health.change = changed

    def wait_drained(timeout_s: float) -> bool:
        bench.query.is_drained = len(waited) == 3
        waited.append(timeout_s)
        return False

    reasons: list[str] = []
    waited: list[float] = []
    bench = Bench(start, stop_timeout_s=3600.0)
    bench.query.wait_drained = wait_drained
    assert bench.supervisor.run() == []
    assert reasons == ["batch_slow: a stage of the micro-batch has run for over 120 s"]
    assert (len(waited), bench.query.is_drained) == (4, True)


def test_last_batch_result_does_not_override_final_state():
    bench = Bench(lambda _bench: None)
    for end in (State.STOPPING, State.STOPPED, State.FAILED):
        bench.observer.end(end, "recreated")
        bench.observer.blocked("store_busy", "no")
        bench.observer.durable(0, 5_000, Counts(), 0.5)
        bench.observer.reading()
        bench.observer.unresponsive("hung")
        assert (bench.state, bench.health.snapshot()[0].reason) == (end, "recreated")


def test_batch_that_blocks_during_a_status_call_stays_blocked():
    """A status call to Spark takes time; the batch may become blocked during it."""

    def start(bench: Bench) -> None:
        def is_reading() -> bool:
            bench.observer.blocked("store_unavailable", "no answer")
            bench.query.is_reading = lambda: True
            return True

        def is_waiting() -> bool:
            states.append(bench.state)
            bench.stop.request()
            return False

        bench.query.is_reading = is_reading
        bench.query.is_waiting = is_waiting

    states: list[State] = []
    bench = Bench(start)
    bench.supervisor.run()
    assert states == [State.BLOCKED]


def test_stop_lets_the_running_batch_finish():
    bench = Bench(lambda bench: bench.stop.request())
    assert bench.supervisor.run() == []
    assert (bench.query.refuses, bench.query.stopped) == (True, True)
    assert bench.state is State.STOPPED


def test_stop_abandons_a_batch_that_takes_too_long():
    def start(bench: Bench) -> None:
        bench.query.is_drained = False
        bench.stop.request()

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert bench.query.stopped


def test_stop_abandons_a_blocked_batch_before_the_timeout():
    def start(bench: Bench) -> None:
        bench.query.is_drained = False
        bench.observer.blocked("store_unavailable", "no answer")
        bench.stop.request()

    bench = Bench(start, stop_timeout_s=3600.0)
    assert bench.supervisor.run() == []


@pytest.mark.parametrize("is_first", [True, False])
def test_stop_waits_for_a_pipeline_beside_a_blocked_one(monkeypatch: pytest.MonkeyPatch, is_first: bool):
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.0)
    healthy, blocked = (
        Bench(lambda bench: None),
        Bench(lambda bench: bench.observer.blocked("store_busy", "no")),
    )
    healthy.query.is_drained = blocked.query.is_drained = False

    def wait_drained(timeout_s: float) -> bool:
        healthy.query.is_drained = True
        return True

    healthy.query.wait_drained = wait_drained
    members = [healthy.member, blocked.member] if is_first else [blocked.member, healthy.member]
    start_last = members[-1].pipeline.start

    def start() -> None:
        start_last()
        blocked.stop.request()

    members[-1].pipeline.start = start
    supervisor = Supervisor(
        members,
        blocked.control,
        once=False,
        jobs=blocked.jobs,
        stop=blocked.stop,
        stop_timeout_s=3600.0,
        is_alive=lambda: True,
    )
    assert supervisor.run() == []
    assert (healthy.query.is_drained, blocked.query.is_drained) == (True, False)


def test_lost_jvm_fails_all_pipelines():
    def start(bench: Bench) -> None:
        bench.is_alive = False

    bench = Bench(start)
    (error,) = bench.supervisor.run()
    assert isinstance(error, IngestError)
    assert error.code == "jvm_lost"


def test_lost_jvm_does_not_fail_a_pipeline_that_has_ended():
    ended, running = Bench(lambda bench: setattr(bench.query, "has_ended", True), once=True), Bench(lambda _bench: None)
    supervisor = Supervisor(
        [ended.member, running.member],
        ended.control,
        once=True,
        jobs=ended.jobs,
        stop=ended.stop,
        stop_timeout_s=0.05,
        is_alive=lambda: not ended.member.is_done,
    )
    (error,) = supervisor.run()
    assert (error, ended.member.error, ended.state) == (running.member.error, None, State.STOPPED)


def test_observer_publishes_state_and_totals():
    bench = Bench(lambda _bench: None)
    bench.observer.blocked("store_busy", "slow down")
    assert (bench.state, bench.observer.is_blocked) == (State.BLOCKED, True)
    bench.observer.durable(0, 5_000, Counts(read=3, stored=3, flush_s=[0.1]), 0.5)
    assert (bench.state, bench.observer.totals.batches, bench.observer.totals.counts.read) == (
        State.RUNNING,
        1,
        3,
    )


def test_unresponsive_jvm_is_reported_until_it_answers():
    reasons = []

    def start(bench: Bench) -> None:
        bench.unresponsive_s = 60.0
        change = bench.health.change

        def changed(pipeline: str, state: State, reason: str = "") -> None:
            change(pipeline, state, reason)
            if state is State.BLOCKED:
                reasons.append(reason)
                bench.unresponsive_s = 0.0
            if state is State.RUNNING and reasons:
                assert not bench.observer.is_blocked
                bench.stop.request()

        bench.health.change = changed

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert reasons == ["jvm_unresponsive: Spark's Java process has not answered for 10 s"]
    assert (bench.state, bench.starts) == (State.STOPPED, 1)


def test_recovered_jvm_restores_the_previous_state():
    bench = Bench(lambda _bench: None)
    bench.observer.unresponsive("hung")
    bench.observer.unresponsive(None)
    assert bench.state is State.STARTING
    bench.observer.blocked("store_busy", "no")
    bench.observer.unresponsive("hung")
    assert bench.health.snapshot()[0].reason == "jvm_unresponsive: hung"
    bench.observer.unresponsive(None)
    assert bench.health.snapshot()[0].reason == "store_busy: no"


def test_pipeline_is_not_started_after_a_stop():
    """Spark may be shutting down too."""
    bench = Bench(lambda _bench: None)
    bench.stop.request()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.state, bench.stops) == (0, State.STOPPED, 1)


def test_hanging_start_does_not_delay_a_stop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor_module, "START_STOP_S", 0.01)
    hangs = threading.Event()

    def start(bench: Bench) -> None:
        bench.stop.request()
        hangs.wait(60)

    bench = Bench(start)
    assert bench.supervisor.run() == []
    assert (bench.state, bench.stops) == (State.STOPPED, 1)
    hangs.set()


class Hanging:
    """A start that hangs until `end` is set; then it raises `error`, if there is one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.began = threading.Event()
        self.end = threading.Event()
        self.error = error

    def __call__(self, _bench: Bench) -> None:
        self.began.set()
        assert self.end.wait(WAIT_S)
        if self.error is not None:
            raise self.error


def when(bench: Bench, state: State, action: Callable[[str], None]) -> None:
    """Call an action with the reason when the pipeline changes to a state."""
    change = bench.health.change

    def changed(pipeline: str, new: State, reason: str = "") -> None:
        change(pipeline, new, reason)
        if new is state:
            action(reason)

    bench.health.change = changed


def supervised(*benches: Bench) -> Supervisor:
    """A supervisor of several pipelines, with the stop of the first."""
    members = [bench.member for bench in benches]
    return Supervisor(
        members,
        benches[0].control,
        once=False,
        jobs=benches[0].jobs,
        stop=benches[0].stop,
        stop_timeout_s=0.05,
        is_alive=lambda: True,
    )


@pytest.fixture
def _instantly_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_module, "START_SLOW_S", 0.0)


@pytest.mark.usefixtures("_instantly_slow")
def test_hanging_start_blocks_only_its_own_pipeline():
    hanging = Hanging()
    first, other = Bench(hanging), Bench(lambda _bench: None)
    blocked, running = threading.Event(), threading.Event()
    reasons: list[str] = []
    when(first, State.BLOCKED, lambda reason: (reasons.append(reason), blocked.set()))
    when(other, State.RUNNING, lambda _reason: running.set())
    run = threading.Thread(target=supervised(first, other).run)
    run.start()
    assert blocked.wait(WAIT_S)
    assert running.wait(WAIT_S)
    assert (first.state, other.state, first.starts) == (State.BLOCKED, State.RUNNING, 1)
    assert reasons[0].startswith("start_slow: the start has run for over")

    resumed = threading.Event()
    when(first, State.RUNNING, lambda _reason: resumed.set())
    hanging.end.set()
    assert resumed.wait(WAIT_S)
    first.stop.request()
    run.join(WAIT_S)
    assert (first.state, other.state, first.starts) == (State.STOPPED, State.STOPPED, 1)


def test_pipeline_is_restarted_while_the_start_of_another_hangs():
    def start(bench: Bench) -> None:
        bench.query.has_ended = bench.starts < 3
        bench.query.error = RuntimeError("worker gone")
        if bench.starts == 3:
            hanging.end.set()
            first.stop.request()

    hanging = Hanging()
    first, other = Bench(hanging), Bench(start)
    assert supervised(first, other).run() == []
    assert (first.starts, other.starts) == (1, 3)


@pytest.mark.usefixtures("_instantly_slow")
@pytest.mark.parametrize(
    ("error", "starts"), [(ConfigError("no such topic"), 1), (SourceUnavailableError("no broker"), 2)]
)
def test_slow_start_that_fails_is_handled_as_any_failure(error: IngestError, starts: int):
    hanging = Hanging(error)

    def start(bench: Bench) -> None:
        if bench.starts == 1:
            hanging(bench)
        bench.query.has_ended = True

    bench = Bench(start)
    reasons: list[str] = []
    when(bench, State.BLOCKED, lambda reason: (reasons.append(reason), hanging.end.set()))
    assert bench.supervisor.run() == ([error] if starts == 1 else [])
    assert bench.starts == starts
    assert reasons[0].startswith("start_slow: ")
    assert (starts == 1) == all(reason.startswith("start_slow: ") for reason in reasons)


@pytest.mark.usefixtures("_instantly_slow")
def test_reason_of_a_slow_restart_replaces_that_of_the_failure():
    hanging = Hanging()

    def start(bench: Bench) -> None:
        bench.query.has_ended = True
        bench.query.error = RuntimeError("worker gone") if bench.starts == 1 else None
        if bench.starts == 2:
            hanging(bench)

    bench = Bench(start)
    reasons: list[str] = []

    def changed(reason: str) -> None:
        reasons.append(reason.partition(":")[0])
        if hanging.began.is_set() and reasons[-1] == "start_slow":
            hanging.end.set()

    when(bench, State.BACKING_OFF, changed)
    when(bench, State.BLOCKED, changed)
    assert bench.supervisor.run() == []
    assert "query_failed" in reasons
    assert "start_slow" in reasons[reasons.index("query_failed") :]


def test_exit_of_a_plugin_during_the_start_fails_the_pipeline():
    def start(bench: Bench) -> None:
        raise SystemExit("bye")

    bench = Bench(start)
    assert [str(error) for error in bench.supervisor.run()] == ["bye"]
    assert bench.state is State.FAILED


@pytest.mark.parametrize(
    ("wall_offset_s", "starts"), [(-2_600.0, 2), (998.0, 1), (4_600.0, 1)], ids=["back", "correction", "forward"]
)
def test_query_is_restarted_when_the_clock_was_set_back(wall_offset_s: float, starts: int):
    """Spark would wait until the clock reaches the old time."""

    def start(bench: Bench) -> None:
        bench.pipeline.every_s = 0.001
        if bench.starts == 2:
            bench.stop.request()

    bench = Bench(start)
    jump = threading.Timer(0.05, lambda: setattr(bench, "wall_offset_s", wall_offset_s))
    end = threading.Timer(3, bench.stop.request)
    jump.start()
    end.start()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.query.stops) == (starts, starts)
    jump.join()
    end.cancel()


def test_restart_is_retried_while_the_interrupted_query_still_runs():
    """Spark refuses a second query of the same name until the first has ended."""

    def start(bench: Bench) -> None:
        bench.pipeline.every_s = 0.001
        if bench.starts in {2, 3}:
            raise RuntimeError("a query with that name is already active")
        if bench.starts == 4:
            bench.stop.request()

    bench = Bench(start)
    jump = threading.Timer(0.05, lambda: setattr(bench, "wall_offset_s", -2_600.0))
    end = threading.Timer(3, bench.stop.request)
    jump.start()
    end.start()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.state) == (4, State.STOPPED)
    jump.join()
    end.cancel()


def test_interrupted_query_is_not_restarted_after_a_stop():
    bench = Bench(lambda bench: setattr(bench.pipeline, "every_s", 0.001))
    interrupted = threading.Event()

    def interrupt() -> None:
        interrupted.set()
        bench.stop.request()

    bench.query.stop = interrupt
    jump = threading.Timer(0.05, lambda: setattr(bench, "wall_offset_s", -2_600.0))
    end = threading.Timer(3, bench.stop.request)
    jump.start()
    end.start()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.state, interrupted.is_set()) == (1, State.STOPPED, True)
    jump.join()
    end.cancel()


@pytest.mark.parametrize(("batches", "starts"), [(1, 2), (2, 1)])
def test_batch_that_began_before_the_clock_was_set_back_is_not_counted(batches: int, starts: int):
    """It ends, but the pause after it may still be too long; only the next batch proves that it is not."""

    def start(bench: Bench) -> None:
        bench.pipeline.every_s = 0.001
        if bench.starts == 2:
            bench.stop.request()

    def jump() -> None:
        bench.wall_offset_s = -2_600.0
        while bench.member.stuck_at == math.inf:
            pass
        for number in range(batches):
            bench.observer.durable(number, 0, Counts(), 0.0)

    bench = Bench(start)
    jumps = threading.Timer(0.05, jump)
    end = threading.Timer(3, bench.stop.request)
    jumps.start()
    end.start()
    assert bench.supervisor.run() == []
    assert (bench.starts, bench.query.stops) == (starts, starts)
    jumps.join()
    end.cancel()
