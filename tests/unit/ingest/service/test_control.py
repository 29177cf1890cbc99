"""The wanted state of pipelines."""

import threading
from pathlib import Path

import pytest

from ingest.api import ConfigError, ConflictError, NotFoundError, StoreUnavailableError
from ingest.service.control import KEPT_RELOADS, Control, Phase, ReloadRequest, ReloadStatus
from ingest.service.pauses import Pauses
from tests.support.remote_files import MemoryFiles


def test_pause_and_resume_are_durable(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a", "b"])
    control.pause("a")
    again = Control(Pauses(tmp_path), ["a", "b"])
    again.read_pauses()
    assert (again.is_paused("a"), again.is_paused("b")) == (True, False)
    again.resume("a")
    again = Control(Pauses(tmp_path), ["a", "b"])
    again.read_pauses()
    assert not again.is_paused("a")


def test_both_may_be_repeated(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a"])
    control.resume("a")
    control.pause("a")
    control.pause("a")
    assert control.is_paused("a")
    control.resume("a")
    control.resume("a")
    assert not control.is_paused("a")


def test_a_flush_is_taken_once(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a", "b"])
    control.flush("a")
    assert [control.pop_flush("a"), control.pop_flush("a"), control.pop_flush("b")] == [True, False, False]


@pytest.mark.parametrize("command", ["pause", "resume", "flush"])
def test_unknown_pipeline_is_refused_and_leaves_nothing(tmp_path: Path, command: str):
    control = Control(Pauses(tmp_path), ["a"])
    with pytest.raises(NotFoundError, match=r'no pipeline "\.\./a"') as caught:
        getattr(control, command)("../a")
    assert '"a"' in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_reloads_are_numbered_so_that_each_request_knows_its_end(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["p"])
    assert control.reload_status.id == 0
    assert control.reload() == control.reload() == control.reload_status.id == 1
    # the active reload may have read the file before the next request
    control.reload_status = ReloadStatus(Phase.BUILDING, id=1)
    assert control.reload() == control.reload() == 2
    assert control.reload_status.id == 1
    control.reload_status = ReloadStatus(Phase.DONE, id=1)
    assert control.reload() == control.reload_status.id == 2


def test_reload_is_checked_only_if_each_request_of_it_wants_a_check(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["p"])
    assert control.reload(5) == control.reload(7) == control.reload(6)
    assert control.reload_status.check == 7
    control.reload()
    assert control.reload_status.check == 0
    control.reload(5)
    assert control.reload_status.check == 0
    assert control.pop_reload()
    control.reload_status = ReloadStatus(Phase.BUILDING, id=1)
    later = control.reload(9)
    assert control.reload_of(later).check == 9
    control.reload_status = ReloadStatus(Phase.DONE, id=1)
    assert control.pop_reload()
    assert control.reload_status.check == 9
    control.reload_status = ReloadStatus(Phase.DONE, id=later)
    control.reload()
    assert control.reload_status.check == 0


def test_differences_are_those_of_the_newest_check(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["p"])
    with pytest.raises(NotFoundError, match="no comparison of reload 1"):
        control.differences_of(1)
    control.compared = 1, [{"pipeline": "p"}]
    assert control.differences_of(1) == [{"pipeline": "p"}]


def test_request_of_a_reload():
    assert [ReloadRequest.of(content).check for content in (b"", b"{}", b'{"check": 3}')] == [0, 0, 3]
    for wrong in (b'{"check": 10001}', b'{"chek": 1}', b"x"):
        with pytest.raises(ConfigError):
            ReloadRequest.of(wrong)


def test_flush_of_a_removed_pipeline_is_forgotten(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a"])
    control.flush("a")
    control.remove("a")
    control.add("a")
    assert not control.pop_flush("a")


def test_status_of_a_reload_is_kept_while_later_ones_run(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["p"])
    first = control.reload()
    assert control.pop_reload()
    control.reload_status = ReloadStatus(Phase.BUILDING, id=first)
    second = control.reload()
    assert (second, control.reload_of(second).phase) == (first + 1, Phase.REQUESTED)
    control.reload_status = ReloadStatus(Phase.DONE, id=first)
    assert control.pop_reload()
    assert control.reload_of(second).phase is Phase.REQUESTED
    control.reload_status = ReloadStatus(Phase.REFUSED, reason="wrong", id=second)
    assert [control.reload_of(each).phase for each in (first, second)] == [Phase.DONE, Phase.REFUSED]
    for number in range(second + 1, second + KEPT_RELOADS):
        control.reload_status = ReloadStatus(Phase.DONE, id=number)
    assert control.reload_of(second).phase is Phase.REFUSED
    for unknown in (first, number + 1):
        with pytest.raises(NotFoundError, match=f"no reload {unknown}"):
            control.reload_of(unknown)


def test_run_over_existing_records_refuses_a_reload(tmp_path: Path):
    with pytest.raises(ConflictError, match="does not read its file again"):
        Control(Pauses(tmp_path), ["p"], can_reload=False).reload()


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_state_that_is_away_is_reported_as_unavailable(command: str):
    files = MemoryFiles()
    control = Control(Pauses(files.root()), ["p"])
    files.is_away = True
    with pytest.raises(StoreUnavailableError) as caught:
        getattr(control, command)("p")
    assert caught.value.code == "state_unavailable"


class SlowPauses(Pauses):
    """Markers on a file system that does not answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers = threading.Event()
        self.asked = threading.Event()

    def set(self, pipeline: str) -> None:
        self.asked.set()
        assert self.answers.wait(60)
        super().set(pipeline)


def test_state_is_known_while_a_pause_is_recorded(tmp_path: Path):
    pauses = SlowPauses(tmp_path)
    control = Control(pauses, ["p"])
    pausing = threading.Thread(target=control.pause, args=["p"])
    pausing.start()
    assert pauses.asked.wait(60)
    assert not control.is_paused("p")
    with pytest.raises(StoreUnavailableError, match="an earlier command still waits"):
        control.resume("p")
    pauses.answers.set()
    pausing.join(60)
    assert control.is_paused("p")


def test_reload_reads_only_the_pauses_of_new_pipelines(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a"])
    Pauses(tmp_path).set("a")
    Pauses(tmp_path).set("b")
    control.add("a")
    control.add("b")
    assert (control.is_paused("a"), control.is_paused("b")) == (False, True)
    control.remove("b")
    with pytest.raises(NotFoundError):
        control.check("b")


def test_paused_pipeline_refuses_a_flush(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a"])
    control.pause("a")
    with pytest.raises(ConflictError, match='pipeline "a" is paused and starts no micro-batch'):
        control.flush("a")
    control.resume("a")
    assert not control.pop_flush("a")
    control.flush("a")
    assert control.pop_flush("a")
