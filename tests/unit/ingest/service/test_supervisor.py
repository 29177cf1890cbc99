"""Keeping pipelines going: restart, give up, drain."""

import json
import threading
import time
from collections.abc import Callable

import pytest

from ingest.api import ConfigError, IngestError, PositionLostError, SourceUnavailableError
from ingest.observe.health import Health, State
from ingest.observe.logs import set_up
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts
from ingest.service import supervisor as supervisor_module
from ingest.service.lifecycle import Stop
from ingest.service.observer import PipelineObserver
from ingest.service.supervisor import Member, Supervisor


class Query:
    """Stands for Spark's query: ends as it is reported."""

    def __init__(self) -> None:
        self.has_ended = False
        self.error: BaseException | None = None
        self.is_drained = True
        self.refuses = False
        self.finds_nothing = False
        self.at_work_s = 0.0
        self.stopped = False
        self.interrupted = False

    def ended(self) -> bool:
        return self.has_ended

    def failure(self) -> BaseException | None:
        return self.error

    def is_reading(self) -> bool:
        return not self.has_ended

    def is_waiting(self) -> bool:
        return self.finds_nothing

    def refuse_batches(self) -> None:
        self.refuses = True

    def drained(self) -> bool:
        return self.is_drained

    def wait_drained(self, timeout_s: float) -> bool:
        return self.is_drained

    def step_s(self) -> float:
        return self.at_work_s

    def is_idle(self) -> bool:
        return True

    def interrupt(self) -> None:
        self.interrupted = True

    def stop(self) -> None:
        self.stopped = True


class Pipeline:
    """Stands for a pipeline: its query is the one above."""

    name = "p"

    def __init__(self, house: "House") -> None:
        self.query = house.query
        self.observer = house.observer
        self.every_s = 0.0
        self.start: Callable[[], None] = house.start
        self._house = house

    def data_loss(self) -> IngestError | None:
        return self._house.data_loss

    def unavailable(self) -> str | None:
        return self._house.unavailable

    def stop(self) -> None:
        self.query.stop()
        self._house.stops += 1


class House:
    """A supervisor with one pipeline."""

    def __init__(self, start: Callable[["House"], None], *, once: bool = False, stop_timeout_s: float = 0.05) -> None:
        self.health = Health(["p"])
        self.query = Query()
        self.observer = PipelineObserver("p", self.health, Metrics(process=False), lambda _pipeline, _totals: None)
        self.stop = Stop()
        self.starts = 0
        self.stops = 0
        self._start = start
        self.data_loss: IngestError | None = None
        self.unavailable: str | None = None
        self.ahead_s = 1_000.0
        self.pipeline = Pipeline(self)
        self.member = Member(self.pipeline)
        self.supervisor = Supervisor(
            [self.member],
            once=once,
            stop=self.stop,
            stop_timeout_s=stop_timeout_s,
            is_alive=lambda: self.is_alive,
            silent_s=lambda: self.silent_s,
            wall_s=lambda: time.monotonic() + self.ahead_s,
        )
        self.is_alive = True
        self.silent_s = 0.0

    def start(self) -> None:
        self.starts += 1
        self._start(self)

    @property
    def state(self) -> State:
        return self.health.snapshot()[0].state


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "RESTART_S", (0.0,))
    monkeypatch.setattr(supervisor_module, "POLL_S", 0.001)
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.01)


def test_query_that_read_everything_ends_the_service():
    def start(house: House) -> None:
        house.query.has_ended = True

    house = House(start, once=True)
    assert house.supervisor.run() == []
    assert (house.state, house.stops) == (State.STOPPED, 1)


def test_query_that_fails_is_started_again():
    def start(house: House) -> None:
        house.query.has_ended = True
        house.query.error = RuntimeError("worker gone") if house.starts < 3 else None

    house = House(start)
    assert house.supervisor.run() == []
    assert house.starts == 3


def test_start_that_fails_for_a_reason_of_its_own_fails_the_pipeline_alone():
    def start(house: House) -> None:
        raise OSError("no room")

    house = House(start)
    assert [str(error) for error in house.supervisor.run()] == ["no room"]
    assert (house.starts, house.state, house.stops) == (1, State.FAILED, 1)


def test_second_start_that_fails_is_tried_again():
    def start(house: House) -> None:
        if house.starts == 2:
            raise OSError("no room")
        house.query.has_ended = True
        house.query.error = RuntimeError("worker gone") if house.starts < 3 else None

    house = House(start)
    assert house.supervisor.run() == []
    assert house.starts == 3


def test_query_that_finds_nothing_after_a_failure_is_blocked_no_more():
    def start(house: House) -> None:
        house.query.has_ended = house.starts == 1
        house.query.error = SourceUnavailableError("no broker")
        house.query.finds_nothing = house.starts == 2

    house = House(start)
    states = []

    def seen() -> None:
        while not states or states[-1] is not State.RUNNING:
            states.append(house.state)
        house.stop.ask()

    thread = threading.Thread(target=seen, daemon=True)
    thread.start()
    assert house.supervisor.run() == []
    assert not house.observer.is_blocked


def test_error_that_says_stop_fails_the_pipeline_at_once():
    def start(house: House) -> None:
        raise ConfigError("no such topic")

    house = House(start)
    errors = house.supervisor.run()
    assert [str(error) for error in errors] == ["no such topic"]
    assert (house.starts, house.state, house.stops) == (1, State.FAILED, 1)


def test_lost_position_is_reported_by_the_source():
    def start(house: House) -> None:
        if house.starts == 2:
            raise PositionLostError("offsets 0 to 9 are gone")
        house.query.has_ended = True
        house.query.error = PositionLostError("some data may have been lost")

    house = House(start)
    errors = house.supervisor.run()
    assert [str(error) for error in errors] == ["offsets 0 to 9 are gone"]
    assert house.starts == 2


def test_start_that_looks_at_a_lost_position_and_fails_is_tried_again():
    def start(house: House) -> None:
        if house.starts == 2:
            raise RuntimeError("a query with that name is already active")
        house.query.has_ended = True
        house.query.error = PositionLostError("some data may have been lost") if house.starts == 1 else None

    house = House(start)
    assert house.supervisor.run() == []
    assert house.starts == 3


@pytest.mark.parametrize("once", [True, False])
def test_lost_position_that_a_start_does_not_see_ends_the_pipeline(once: bool):
    """However long the query took to come there: a start looks once, and again only after progress."""

    def start(house: House) -> None:
        house.query.has_ended = True
        house.query.error = PositionLostError("ended before the end")
        if house.starts == 2:
            house.observer.acknowledged(0, 5_000, Counts(), 0.5)

    house = House(start, once=once)
    assert [str(error) for error in house.supervisor.run()] == ["ended before the end"]
    assert (house.starts, house.state) == (3, State.FAILED)


def test_unavailable_source_blocks_a_service_until_it_answers():
    def start(house: House) -> None:
        if house.starts < 5:
            raise SourceUnavailableError("no broker")
        house.query.has_ended = True

    house = House(start)
    assert house.supervisor.run() == []
    assert house.starts == 5


def test_unavailable_source_ends_a_run_that_somebody_waits_for():
    def start(house: House) -> None:
        raise SourceUnavailableError("no broker")

    house = House(start, once=True)
    (error,) = house.supervisor.run()
    assert isinstance(error, IngestError)
    assert (house.starts, error.exit_code) == (3, 3)


def test_source_that_is_lost_ends_a_query_that_does_not_notice():
    def start(house: House) -> None:
        house.data_loss = PositionLostError("recreated")

    house = House(start)
    assert [str(error) for error in house.supervisor.run()] == ["recreated"]
    assert (house.query.stopped, house.starts, house.state, house.stops) == (True, 1, State.FAILED, 1)


def test_source_that_does_not_answer_blocks_a_query_that_waits_for_it():
    house = House(lambda house: setattr(house, "unavailable", "Kafka is silent"))
    states = []

    def seen() -> None:
        while house.state is not State.BLOCKED:
            pass
        states.append(house.health.snapshot()[0].reason)
        house.unavailable = None
        while house.state is not State.RUNNING:
            pass
        house.stop.ask()

    watcher = threading.Thread(target=seen)
    watcher.start()
    assert house.supervisor.run() == []
    watcher.join()
    assert states == ["source_unavailable: Kafka is silent"]


def test_source_that_answers_again_does_not_unblock_a_batch_that_waits(capsys: pytest.CaptureFixture[str]):
    set_up()
    house = House(lambda _house: None)
    house.observer.blocked("store_unavailable", "no answer")
    house.observer.source("Kafka is silent")
    assert house.health.snapshot()[0].reason == "source_unavailable: Kafka is silent"
    house.observer.source(None)
    assert (house.state, house.health.snapshot()[0].reason) == (State.BLOCKED, "store_unavailable: no answer")
    house.observer.blocked("store_unavailable", "still no answer")
    house.observer.blocked("disabled", "the table is disabled")
    house.observer.running()
    assert house.state is State.RUNNING
    reported = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("code", line["event"]) for line in reported] == [
        "store_unavailable",
        "source_unavailable",
        "store_unavailable",
        "disabled",
        "pipeline resumes",
    ]


def test_batch_stage_that_hangs_is_reported_and_keeps_its_time_on_a_stop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.0)

    def start(house: House) -> None:
        house.query.at_work_s = 121.0
        house.query.is_drained = False
        change = house.health.change

        def changed(pipeline: str, state: State, reason: str = "") -> None:
            change(pipeline, state, reason)
            if reason and not reasons:
                reasons.append(reason)
                house.stop.ask()

        house.health.change = changed

    def wait_drained(timeout_s: float) -> bool:
        house.query.is_drained = len(waited) == 3
        waited.append(timeout_s)
        return False

    reasons: list[str] = []
    waited: list[float] = []
    house = House(start, stop_timeout_s=3600.0)
    house.query.wait_drained = wait_drained
    assert house.supervisor.run() == []
    assert reasons == ["batch_slow: a step of the micro-batch has been at work for over 120 s"]
    assert (len(waited), house.query.is_drained) == (4, True)


def test_what_a_last_batch_says_changes_an_end_no_more():
    house = House(lambda _house: None)
    for end in (State.STOPPING, State.STOPPED, State.FAILED):
        house.observer.ends(end, "recreated")
        house.observer.blocked("store_busy", "no")
        house.observer.acknowledged(0, 5_000, Counts(), 0.5)
        house.observer.reading()
        house.observer.silent("hung")
        assert (house.state, house.health.snapshot()[0].reason) == (end, "recreated")


def test_batch_that_blocks_while_its_query_is_looked_at_stays_blocked():
    """TimedCaller Spark takes a while; the batch may say in it that it waits."""

    def start(house: House) -> None:
        def is_reading() -> bool:
            house.observer.blocked("store_unavailable", "no answer")
            house.query.is_reading = lambda: True
            return True

        def is_waiting() -> bool:
            states.append(house.state)
            house.stop.ask()
            return False

        house.query.is_reading = is_reading
        house.query.is_waiting = is_waiting

    states: list[State] = []
    house = House(start)
    house.supervisor.run()
    assert states == [State.BLOCKED]


def test_stop_lets_the_running_batch_finish():
    house = House(lambda house: house.stop.ask())
    assert house.supervisor.run() == []
    assert (house.query.refuses, house.query.stopped) == (True, True)
    assert house.state is State.STOPPED


def test_stop_abandons_a_batch_that_takes_too_long():
    def start(house: House) -> None:
        house.query.is_drained = False
        house.stop.ask()

    house = House(start)
    assert house.supervisor.run() == []
    assert house.query.stopped


def test_stop_abandons_a_blocked_batch_soon():
    def start(house: House) -> None:
        house.query.is_drained = False
        house.observer.blocked("store_unavailable", "no answer")
        house.stop.ask()

    house = House(start, stop_timeout_s=3600.0)
    assert house.supervisor.run() == []


@pytest.mark.parametrize("is_first", [True, False])
def test_stop_waits_for_a_pipeline_beside_a_blocked_one(monkeypatch: pytest.MonkeyPatch, is_first: bool):
    monkeypatch.setattr(supervisor_module, "BLOCKED_STOP_S", 0.0)
    healthy, blocked = House(lambda house: None), House(lambda house: house.observer.blocked("store_busy", "no"))
    healthy.query.is_drained = blocked.query.is_drained = False

    def wait_drained(timeout_s: float) -> bool:
        healthy.query.is_drained = True
        return True

    healthy.query.wait_drained = wait_drained
    members = [healthy.member, blocked.member] if is_first else [blocked.member, healthy.member]
    start_last = members[-1].pipeline.start

    def start() -> None:
        start_last()
        blocked.stop.ask()

    members[-1].pipeline.start = start
    supervisor = Supervisor(members, once=False, stop=blocked.stop, stop_timeout_s=3600.0, is_alive=lambda: True)
    assert supervisor.run() == []
    assert (healthy.query.is_drained, blocked.query.is_drained) == (True, False)


def test_lost_java_process_fails_all_with_the_way_out():
    def start(house: House) -> None:
        house.is_alive = False

    house = House(start)
    (error,) = house.supervisor.run()
    assert isinstance(error, IngestError)
    assert error.code == "jvm_lost"


def test_watch_tells_health_and_totals():
    house = House(lambda _house: None)
    house.observer.blocked("store_busy", "slow down")
    assert (house.state, house.observer.is_blocked) == (State.BLOCKED, True)
    house.observer.acknowledged(0, 5_000, Counts(read=3, stored=3, flush_s=[0.1]), 0.5)
    assert (house.state, house.observer.totals.batches, house.observer.totals.counts.read) == (State.RUNNING, 1, 3)


def test_jvm_that_does_not_answer_is_reported_until_it_does():
    reasons = []

    def start(house: House) -> None:
        house.silent_s = 60.0
        change = house.health.change

        def changed(pipeline: str, state: State, reason: str = "") -> None:
            change(pipeline, state, reason)
            if state is State.BLOCKED:
                reasons.append(reason)
                house.silent_s = 0.0
            if state is State.RUNNING and reasons:
                assert not house.observer.is_blocked
                house.stop.ask()

        house.health.change = changed

    house = House(start)
    assert house.supervisor.run() == []
    assert reasons == ["jvm_unresponsive: Spark's Java process has not answered for 10 s"]
    assert (house.state, house.starts) == (State.STOPPED, 1)


def test_jvm_that_answers_again_leaves_the_state_of_waiting_and_new_batches():
    house = House(lambda _house: None)
    house.observer.silent("hung")
    house.observer.silent(None)
    assert house.state is State.STARTING
    house.observer.blocked("store_busy", "no")
    house.observer.silent("hung")
    assert house.health.snapshot()[0].reason == "jvm_unresponsive: hung"
    house.observer.silent(None)
    assert house.health.snapshot()[0].reason == "store_busy: no"


def test_pipeline_is_not_started_after_a_stop():
    """Spark may be ending as well by then."""
    house = House(lambda _house: None)
    house.stop.ask()
    assert house.supervisor.run() == []
    assert (house.starts, house.state, house.stops) == (0, State.STOPPED, 1)


def test_start_that_hangs_does_not_keep_a_stop_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor_module, "START_STOP_S", 0.01)
    hangs = threading.Event()

    def start(house: House) -> None:
        house.stop.ask()
        hangs.wait(60)

    house = House(start)
    assert house.supervisor.run() == []
    assert (house.state, house.stops) == (State.STOPPED, 1)
    hangs.set()


@pytest.mark.parametrize(("ahead_s", "starts"), [(-2_600.0, 2), (998.0, 1), (4_600.0, 1)], ids=["back", "little", "on"])
def test_clock_that_is_set_back_makes_no_pause_longer(ahead_s: float, starts: int):
    """Spark would wait until the clock is where it was."""

    def start(house: House) -> None:
        house.pipeline.every_s = 0.001
        if house.starts == 2:
            house.stop.ask()

    house = House(start)
    jump = threading.Timer(0.05, lambda: setattr(house, "ahead_s", ahead_s))
    end = threading.Timer(3, house.stop.ask)
    jump.start()
    end.start()
    assert house.supervisor.run() == []
    assert (house.starts, house.query.interrupted) == (starts, starts == 2)
    jump.join()
    end.cancel()


def test_query_that_is_not_gone_yet_after_the_clock_was_set_back_is_waited_for():
    """Spark refuses a second one of the name as long as the first has not come to its end."""

    def start(house: House) -> None:
        house.pipeline.every_s = 0.001
        if house.starts in {2, 3}:
            raise RuntimeError("a query with that name is already active")
        if house.starts == 4:
            house.stop.ask()

    house = House(start)
    jump = threading.Timer(0.05, lambda: setattr(house, "ahead_s", -2_600.0))
    end = threading.Timer(3, house.stop.ask)
    jump.start()
    end.start()
    assert house.supervisor.run() == []
    assert (house.starts, house.state) == (4, State.STOPPED)
    jump.join()
    end.cancel()


def test_query_that_a_stop_finds_interrupted_is_not_started_again():
    house = House(lambda house: setattr(house.pipeline, "every_s", 0.001))
    interrupted = threading.Event()

    def interrupt() -> None:
        interrupted.set()
        house.stop.ask()

    house.query.interrupt = interrupt
    jump = threading.Timer(0.05, lambda: setattr(house, "ahead_s", -2_600.0))
    end = threading.Timer(3, house.stop.ask)
    jump.start()
    end.start()
    assert house.supervisor.run() == []
    assert (house.starts, house.state, interrupted.is_set()) == (1, State.STOPPED, True)
    jump.join()
    end.cancel()


@pytest.mark.parametrize(("batches", "starts"), [(1, 2), (2, 1)])
def test_batch_that_began_before_the_clock_was_set_back_tells_nothing(batches: int, starts: int):
    """It ends yet, and the pause after it is for a time of before; the next one shows that there is no such pause."""

    def start(house: House) -> None:
        house.pipeline.every_s = 0.001
        if house.starts == 2:
            house.stop.ask()

    def jump() -> None:
        house.ahead_s = -2_600.0
        while house.member.stuck_at is None:
            pass
        for number in range(batches):
            house.observer.acknowledged(number, 0, Counts(), 0.0)

    house = House(start)
    jumps = threading.Timer(0.05, jump)
    end = threading.Timer(3, house.stop.ask)
    jumps.start()
    end.start()
    assert house.supervisor.run() == []
    assert (house.starts, house.query.interrupted) == (starts, starts == 2)
    jumps.join()
    end.cancel()
