"""The local servers of `make services-up`."""

import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "deploy" / "local"))

from local_servers.errors import ServerError  # noqa: E402 (the path must be set first)
from local_servers.processes import ServerProcess  # noqa: E402 (the same)
from services import exports  # noqa: E402 (the same)

KAFKA = SimpleNamespace(name="kafka", is_running=True, endpoints={"brokers": "127.0.0.1:1"})
ENDPOINTS = {"thrift": "127.0.0.1:2", "thrift2": "127.0.0.1:3", "bootstrap_servers": "localhost:4,localhost:5"}
HBASE = SimpleNamespace(name="hbase", is_running=True, endpoints=ENDPOINTS)


def test_exports_set_the_variables_of_the_templates():
    commands = exports([KAFKA, HBASE])
    assert commands == [
        "export KAFKA=127.0.0.1:1",
        "export HBASE=127.0.0.1 HBASE_PORT=2",
        "export HBASE_SERVERS=localhost:4,localhost:5",
    ]
    template = (ROOT / "ingest" / "cli" / "templates" / "hbase" / "pipeline.yaml").read_text("utf-8")
    assert set(re.findall(r"\$\{(\w+):", template)) == set(re.findall(r"(\w+)=", " ".join(commands)))


def test_stopped_server_is_not_exported():
    assert exports([SimpleNamespace(name="kafka", is_running=False)]) == []


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess("hbase", tmp_path)
    process.start(["sleep", "600"])
    yield process
    process.kill()


def test_server_that_makes_progress_is_awaited_with_a_word(process: ServerProcess, capsys: pytest.CaptureFixture[str]):
    """HBase recovers for minutes after a crash."""
    checks = iter([False, False, False, False, True])

    def ready() -> bool:
        with process.log.open("a") as log:
            log.write("WARN master is waiting for hbase:meta\n")
        return next(checks)

    process.wait_until(ready, timeout_s=0, progress=process.log_size, most_s=600)
    assert "its log goes on: WARN master is waiting for hbase:meta" in capsys.readouterr().err


@pytest.mark.parametrize("most_s", [0, 600], ids=["too-long", "no-progress"])
def test_server_is_not_awaited_without_end(process: ServerProcess, most_s: float):
    numbers = count()
    progress = (lambda: 1) if most_s else (lambda: next(numbers))
    with pytest.raises(ServerError, match="hbase was not ready within 0 s: its log is empty"):
        process.wait_until(lambda: False, timeout_s=0, progress=progress, most_s=most_s)
