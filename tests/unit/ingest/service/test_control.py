"""The wanted state of pipelines."""

from pathlib import Path

import pytest

from ingest.api import NotFoundError
from ingest.service.control import Control, Pauses, Phase, ReloadStatus


def test_pause_and_resume_are_durable(tmp_path: Path):
    control = Control(Pauses(tmp_path), ["a", "b"])
    control.pause("a")
    again = Control(Pauses(tmp_path), ["a", "b"])
    assert (again.is_paused("a"), again.is_paused("b")) == (True, False)
    again.resume("a")
    assert not Control(Pauses(tmp_path), ["a", "b"]).is_paused("a")


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
    assert [control.takes_flush("a"), control.takes_flush("a"), control.takes_flush("b")] == [True, False, False]


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
