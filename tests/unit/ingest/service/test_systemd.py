"""Messages to systemd's socket."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ingest.service.systemd import ServiceManager


@contextmanager
def listening(address: str | bytes) -> Iterator[socket.socket]:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(address)
        receiver.settimeout(5)
        yield receiver


def received(receiver: socket.socket) -> list[str]:
    receiver.setblocking(False)
    found = []
    try:
        while True:
            found.append(receiver.recv(1024).decode())
    except BlockingIOError:
        return found


def test_states_are_sent_to_the_socket_of_the_environment(tmp_path: Path):
    with listening(str(tmp_path / "s")) as receiver:
        manager = ServiceManager.of_environment({"NOTIFY_SOCKET": str(tmp_path / "s")})
        manager.ready()
        manager.alive()
        manager.stopping()
        assert received(receiver) == ["READY=1", "STOPPING=1"]


def test_abstract_socket():
    name = f"attr2hbase-test-{os.getpid()}"
    with listening(f"\0{name}".encode()) as receiver:
        ServiceManager(f"@{name}").ready()
        assert received(receiver) == ["READY=1"]


def test_watchdog_gets_three_messages_in_its_interval(tmp_path: Path):
    now = [0.0]
    with listening(str(tmp_path / "s")) as receiver:
        manager = ServiceManager(str(tmp_path / "s"), 30.0, clock=lambda: now[0])
        for _ in range(300):
            manager.alive()
            now[0] += 0.1
        assert received(receiver) == ["WATCHDOG=1"] * 3


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 1),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "17"}, 1),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "18"}, 0),
        ({"WATCHDOG_USEC": "0"}, 0),
        ({"WATCHDOG_USEC": "soon"}, 0),
        ({}, 0),
    ],
)
def test_watchdog_of_the_environment(environment: dict[str, str], count: int, tmp_path: Path):
    with listening(str(tmp_path / "s")) as receiver:
        ServiceManager.of_environment({"NOTIFY_SOCKET": str(tmp_path / "s"), **environment}, pid=17).alive()
        assert len(received(receiver)) == count


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/no/such/socket"}])
def test_nothing_happens_without_a_socket(environment: dict[str, str]):
    manager = ServiceManager.of_environment(environment)
    manager.ready()
    manager.alive()
    manager.stopping()


def test_full_socket_does_not_hold_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.systemd.SEND_S", 0.01)
    with listening(str(tmp_path / "s")) as receiver:
        manager = ServiceManager(str(tmp_path / "s"))
        limit = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
        for _ in range(limit + 5):
            manager.ready()
        assert len(received(receiver)) <= limit + 1
