"""The local servers of `make services-up`."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "deploy" / "local"))

from services import exports  # noqa: E402 (the path must be set first)

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
