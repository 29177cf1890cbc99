"""Locks, markers and registers on a full disk: existing state stays, and calls succeed after there is room again."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.disk_faults import DiskFaults
from tests.support.service import START_S, environment_without_spark

HEAD = """
import sys
from pathlib import Path
from ingest.api import StoreUnavailableError
from ingest.durable.register import StateRegister
from ingest.durable.lock import FolderLock
from ingest.durable.marker import Marker
folder, switch = Path(sys.argv[1]), Path(sys.argv[2])
def refused(call):
    try:
        call()
    except StoreUnavailableError as error:
        assert error.code == "disk_full", error.code
    else:
        raise AssertionError("it was not refused")
"""
CALLS = {
    "lock": """
switch.touch()
lock = FolderLock(folder, kind="", hint="")
refused(lock.acquire)
switch.unlink()
with FolderLock(folder, kind="", hint=""):
    pass
""",
    "marker": """
switch.touch()
refused(lambda: Marker(folder / "done").write(b"all"))
assert Marker(folder / "done").read() is None
switch.unlink()
Marker(folder / "done").write(b"all")
""",
    "register": """
register = StateRegister(folder / "register")
switch.touch()
refused(lambda: register.replace(None, "1"))
assert register.read() is None
switch.unlink()
assert register.replace(None, "1")
switch.touch()
refused(lambda: register.replace("1", "2"))
assert register.read() == "1"
switch.unlink()
assert register.replace("1", "2")
""",
}


@pytest.mark.parametrize("what", CALLS)
def test_full_disk_changes_nothing(tmp_path: Path, disk_faults: DiskFaults, what: str) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    env = {**environment_without_spark(), **disk_faults.environment(fail_write=f"{folder}/*")}
    command = [sys.executable, "-c", HEAD + CALLS[what], str(folder), env["SHIM_WHEN"]]
    subprocess.run(command, env=env, check=True, timeout=START_S)
    assert disk_faults.acts("fail_write")
    assert not list(folder.rglob("*.tmp"))
