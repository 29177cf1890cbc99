"""Points where a test ends or holds a process."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ingest import failpoint
from ingest.api import ConfigError
from ingest.failpoint import POINTS, Action, Armed, parsed
from tests.support.waiting import reached

ONE = """
from ingest import failpoint
reach = failpoint.point("drain")
for line in ("one", "two"):
    reach()
    print(line, flush=True)
"""
FAMILY = (
    "import subprocess, sys; from ingest import failpoint; "
    "subprocess.run([sys.executable, '-c', 'from ingest import failpoint; failpoint.point(\"drain\")()'])"
)


def run(script: str, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "INGEST_FAILPOINT": text, "INGEST_FAILPOINT_FOLDER": str(folder)}
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)


def test_nothing_is_armed_and_nothing_wrapped_by_default() -> None:
    items = [1, 2]
    assert failpoint.check() == []
    assert failpoint.after("mid_decorate", len) is len
    assert failpoint.at_first("after_poll", items) is items
    assert failpoint.sends()() is None
    assert {failpoint.point(name)() for name in POINTS} == {None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aftr_poll:1:kill", 'names "aftr_poll", which is not a failpoint; there are after_last_send, after_poll,'),
        ("drain", "name:hit:action"),
        ("drain:0:kill", "hits count from 1"),
        ("drain:1:explode", "actions are kill, die, hold"),
        ("drain:1:kill,nowhere:1:kill", "nowhere"),
    ],
)
def test_unknown_failpoint_is_refused_with_the_names_of_all(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed({"INGEST_FAILPOINT": text})


def test_a_command_with_a_wrong_failpoint_ends_at_once(tmp_path: Path) -> None:
    wrong = run("from ingest import failpoint; failpoint.check()", tmp_path, "nowhere:1:kill")
    assert 'INGEST_FAILPOINT names "nowhere", which is not a failpoint' in wrong.stderr


def test_the_guide_has_every_point() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "failpoints.md").read_text()
    named = {line.split("`")[1] for line in guide.splitlines() if line.startswith("| `")}
    assert named == POINTS.keys() | {action.value for action in Action}


def test_several_points_are_armed(tmp_path: Path) -> None:
    armed = parsed({"INGEST_FAILPOINT": "drain:1:hold, recovery:2:kill", "INGEST_FAILPOINT_FOLDER": str(tmp_path)})
    assert sorted(armed) == ["drain", "recovery"]


def test_the_requested_hit_kills_the_process_and_a_restart_does_not_act_again(tmp_path: Path) -> None:
    killed = run(ONE, tmp_path, "drain:2:kill")
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "one\n")
    assert "failpoint drain: kill" in killed.stderr
    pid, action = (tmp_path / "drain").read_text().split()
    assert pid.isdecimal()
    assert action == "kill"
    assert run(ONE, tmp_path, "drain:2:kill").stdout == "one\ntwo\n"


@pytest.mark.parametrize(("action", "code"), [("kill", -signal.SIGKILL), ("die", 0)])
def test_a_child_ends_the_driver_or_itself(tmp_path: Path, action: str, code: int) -> None:
    assert run(FAMILY, tmp_path, f"drain:1:{action}").returncode == code


def test_a_held_point_continues_when_its_file_is_removed(tmp_path: Path) -> None:
    armed = Armed("drain", 1, Action.HOLD, tmp_path)
    thread = threading.Thread(target=armed)
    thread.start()
    assert reached((tmp_path / "drain").exists, 10)
    assert thread.is_alive()
    (tmp_path / "drain").unlink()
    thread.join(10)
    assert not thread.is_alive()


def test_wrapped_functions_and_walks_reach_their_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(failpoint, "_armed", {name: lambda name=name: calls.append(name) for name in POINTS})
    assert failpoint.after("mid_decorate", len)([1]) == 1
    walk = failpoint.at_first("after_poll", [1, 2])
    assert calls == ["mid_decorate"]
    assert list(walk) == [1, 2]
    assert calls == ["mid_decorate", "after_poll"]
    before_each = failpoint.sends()
    for _ in range(3):
        before_each()
    assert calls[2:] == ["before_send", "between_sends", "between_sends"]
