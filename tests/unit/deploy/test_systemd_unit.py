"""The systemd unit: what it allows, and that systemd accepts it."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from ingest.config.options import ServiceOptions
from tests.support.programs import needs
from tests.support.promql import duration_s

FILE = Path(__file__).resolve().parents[3] / "deploy/systemd/attr2hbase.service"
HIGHEST_EXPOSURE = 20  # in tenths, as systemd-analyze rates it: 0 to 100

HARDENED = {
    "CapabilityBoundingSet": "",
    "AmbientCapabilities": "",
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictSUIDSGID": "yes",
    "UMask": "0077",
    "StateDirectoryMode": "0700",
    "User": "attr2hbase",
}


@pytest.fixture(scope="module")
def options() -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in FILE.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return found


def test_service_is_hardened(options):
    assert {name: options[name] for name in HARDENED} == {name: [value] for name, value in HARDENED.items()}


def test_service_notifies_systemd_and_has_a_watchdog(options):
    assert options["Type"] == ["notify"]
    assert duration_s(options["WatchdogSec"][0].replace("min", "m")) >= 60


def test_stop_of_the_unit_takes_longer_than_that_of_the_service(options):
    stop_s = ServiceOptions().stop_timeout
    assert duration_s(options["TimeoutStopSec"][0]) >= stop_s + 30
    assert options["KillMode"] == ["mixed"]


def test_errors_that_a_restart_repeats_do_not_restart(options):
    assert options["RestartPreventExitStatus"] == ["2 5"]


def test_what_java_and_rocksdb_need_is_allowed(options):
    assert "MemoryDenyWriteExecute" not in options
    assert "ProcSubset" not in options
    assert not any("@resources" in each for each in options["SystemCallFilter"])


@needs("systemd-analyze")
@pytest.mark.parametrize("command", [["verify"], ["security", "--offline=true", f"--threshold={HIGHEST_EXPOSURE}"]])
def test_systemd_accepts_the_unit(command, tmp_path):
    # the command of the unit is not installed here
    unit = re.sub(r"^(Exec\w+)=\S+", r"\1=/bin/true", FILE.read_text(), flags=re.MULTILINE)
    (tmp_path / FILE.name).write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", *command, str(tmp_path / FILE.name)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Unknown" not in done.stderr
