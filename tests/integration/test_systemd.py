"""`attr2hbase run` as a unit of `Type=notify`: readiness, keep-alive pings and the stop arrive at systemd's socket."""

import json
import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.audit import rocksdb_table
from tests.support.service import START_S, Service
from tests.support.waiting import reached

CONTENT = {
    "stores": {"embedded": {"rocksdb": {"path": "./store"}}},
    "pipelines": {
        "lines": {
            "source": {"files": {"path": "./lines"}},
            "decorators": [
                {"value": {"attribute": "2hb_", "value": "%{body}"}},
                {"value": {"attribute": "2hb_f:q", "value": "x"}},
            ],
            "sinks": [{"attr2hbase": {"table": "t"}}],
        }
    },
}


def test_systemd_receives_readiness_pings_and_stop(tmp_path: Path) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "1.txt").write_text("a\nb\n")
    address = str(tmp_path / "notify")
    with (
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd,
        Service(tmp_path, CONTENT) as service,
    ):
        systemd.bind(address)
        systemd.settimeout(2 * START_S)  # Spark's start, and that of the pipeline
        service.start(env={"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1500000"})
        assert systemd.recv(1024) == b"READY=1", service.last_lines()
        # the endpoint serves, and the pipeline has been started
        assert service.get("/livez")[0] == 200
        assert service.states().keys() == {"lines"}
        assert systemd.recv(1024) == b"WATCHDOG=1"
        assert systemd.recv(1024) == b"WATCHDOG=1"
        service.wait_for_batches(1, "lines")
        service.terminate()
        assert reached(lambda: systemd.recv(1024) == b"STOPPING=1", 30)
        assert service.wait_for_exit() == 0, service.last_lines()
    assert rocksdb_table(tmp_path / "store", "t").keys() == {b"a", b"b"}


def test_start_that_fails_is_not_reported_as_ready(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with (
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd,
        Service(tmp_path, CONTENT) as service,
    ):
        systemd.bind(address)
        systemd.setblocking(False)
        service.file.write_text(json.dumps({"version": 1}))
        service.start(env={"NOTIFY_SOCKET": address})
        assert service.wait_for_exit() == 2
        with pytest.raises(BlockingIOError):
            systemd.recv(1024)
