"""The start of a service whose state is on a cluster that does not answer."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.observe.health import Health, State
from ingest.service import state_wait as module
from ingest.service.control import Control
from ingest.service.lifecycle import Stop
from ingest.service.pauses import Pauses
from ingest.service.state_wait import StartStoppedError, StateWait
from tests.support.remote_files import MemoryFiles
from tests.support.waiting import reached


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    monkeypatch.setattr(module, "POLL_S", 0.01)


class Start:
    """The start of the pipelines p and q, whose pauses are on a cluster."""

    def __init__(self, *, once: bool = False) -> None:
        self.files = MemoryFiles()
        self.stop = Stop()
        self.health = Health(["p", "q"])
        self.wait = StateWait(self.files.root(), self.stop, self.health, once=once)

    def control(self) -> Control:
        """The control of the pipelines, which reads the markers of their pauses."""
        control = Control(Pauses(self.files.root()), ["p", "q"])
        self.wait.result(control.read_pauses, ["p", "q"])
        return control

    def states(self) -> list[tuple[State, str]]:
        return [(each.state, each.reason) for each in self.health.snapshot()]


def in_thread(action: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_pipelines_are_blocked_until_the_file_system_answers(capsys: pytest.CaptureFixture[str]):
    start = Start()
    Pauses(start.files.root()).set("p")
    start.files.is_away = True
    found: list[Control] = []
    thread = in_thread(lambda: found.append(start.control()))
    assert reached(lambda: {state for state, _ in start.states()} == {State.BLOCKED}, 5.0)
    assert start.states()[0][1].startswith("state_unavailable: ")
    time.sleep(0.1)  # several attempts
    start.files.is_away = False
    thread.join(5.0)
    assert [found[0].is_paused(name) for name in "pq"] == [True, False]
    assert start.states() == [(State.STARTING, "")] * 2
    log = "".join(capsys.readouterr())
    assert (log.count("the start waits for the state"), log.count("the start continues")) == (1, 1)


def test_stop_ends_the_wait_for_a_file_system_that_is_away():
    start = Start()
    start.files.is_away = True
    in_thread(lambda: reached(lambda: start.states()[0][0] is State.BLOCKED, 5.0) and start.stop.request())
    with pytest.raises(StartStoppedError):
        start.control()


def test_stop_does_not_wait_for_a_call_that_hangs():
    start, hangs = Start(), threading.Event()
    threading.Timer(0.1, start.stop.request).start()
    started = time.monotonic()
    with pytest.raises(StartStoppedError):
        start.wait.result(hangs.wait, ["p"])
    assert time.monotonic() - started < 5.0
    hangs.set()


def test_run_over_existing_records_fails_without_the_file_system():
    start = Start(once=True)
    start.files.is_away = True
    with pytest.raises(StoreUnavailableError) as caught:
        start.control()
    assert caught.value.code == "state_unavailable"


def test_other_errors_are_raised_at_once():
    start = Start()

    def fail() -> None:
        raise ConflictError("in use")

    with pytest.raises(ConflictError, match="in use"):
        start.wait.result(fail, ["p"])


def test_local_state_needs_no_thread(tmp_path: Path):
    wait = StateWait(tmp_path, Stop(), Health(["p"]), once=False)
    assert wait.result(threading.current_thread, ["p"]) is threading.current_thread()
