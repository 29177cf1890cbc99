"""Failpoints: parsing, and their actions."""

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


def test_no_failpoint_is_enabled_and_no_function_wrapped_by_default() -> None:
    items = [1, 2]
    assert failpoint.check() == []
    assert failpoint.after("mid_decorate", len) is len
    assert failpoint.at_first("after_poll", items) is items
    assert failpoint.sends()() is None
    assert {failpoint.point(name)() for name in POINTS} == {None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aftr_poll:1:kill", '"aftr_poll" is not a failpoint; failpoints are after_exchange, after_last_send,'),
        ("drain", "name:hit:action"),
        ("drain:0:kill", "hits count from 1"),
        ("drain:1:explode", "actions are kill, die, hold"),
        ("drain:1:kill,nowhere:1:kill", "nowhere"),
    ],
)
def test_invalid_variable_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed({"INGEST_FAILPOINT": text})


def test_command_with_an_invalid_failpoint_fails_at_startup(tmp_path: Path) -> None:
    failed = run("from ingest import failpoint; failpoint.check()", tmp_path, "nowhere:1:kill")
    assert 'INGEST_FAILPOINT: "nowhere" is not a failpoint' in failed.stderr


def test_guide_documents_every_failpoint_and_action() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "failpoints.md").read_text()
    documented = {line.split("`")[1] for line in guide.splitlines() if line.startswith("| `")}
    assert documented == POINTS.keys() | {action.value for action in Action}


def test_several_failpoints_are_enabled(tmp_path: Path) -> None:
    armed = parsed({"INGEST_FAILPOINT": "drain:1:hold, recovery:2:kill", "INGEST_FAILPOINT_FOLDER": str(tmp_path)})
    assert sorted(armed) == ["drain", "recovery"]


def test_failpoint_kills_at_its_hit_and_not_again_after_a_restart(tmp_path: Path) -> None:
    killed = run(ONE, tmp_path, "drain:2:kill")
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "one\n")
    assert "failpoint drain: kill" in killed.stderr
    pid, action = (tmp_path / "drain").read_text().split()
    assert pid.isdecimal()
    assert action == "kill"
    assert run(ONE, tmp_path, "drain:2:kill").stdout == "one\ntwo\n"


@pytest.mark.parametrize(("action", "code"), [("kill", -signal.SIGKILL), ("die", 0)])
def test_child_process_kills_the_driver_or_itself(tmp_path: Path, action: str, code: int) -> None:
    assert run(FAMILY, tmp_path, f"drain:1:{action}").returncode == code


def test_hold_ends_when_the_file_is_removed(tmp_path: Path) -> None:
    armed = Armed("drain", 1, Action.HOLD, tmp_path)
    thread = threading.Thread(target=armed)
    thread.start()
    assert reached((tmp_path / "drain").exists, 10)
    assert thread.is_alive()
    (tmp_path / "drain").unlink()
    thread.join(10)
    assert not thread.is_alive()


def test_wrapped_functions_and_iterators_reach_their_failpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(failpoint, "_armed", {name: lambda name=name: calls.append(name) for name in POINTS})
    assert failpoint.after("mid_decorate", len)([1]) == 1
    items = failpoint.at_first("after_poll", [1, 2])
    assert calls == ["mid_decorate"]
    assert list(items) == [1, 2]
    assert calls == ["mid_decorate", "after_poll"]
    before_each = failpoint.sends()
    for _ in range(3):
        before_each()
    assert calls[2:] == ["before_send", "between_sends", "between_sends"]
