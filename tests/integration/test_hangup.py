"""SIGHUP during the start; `test_control.py` has that of a running service."""

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.service import Service

pytestmark = pytest.mark.usefixtures("hangs_up")

CONTENT: dict[str, Any] = {
    "state_dir": "data/state",
    "stores": {"local": {"rocksdb": {"path": "data/store"}}},
    "pipelines": {
        "lines": {
            "source": {"files": {"path": "in"}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "lines", "write_body": "f:body"}}],
        }
    },
}


@pytest.mark.slow
def test_sighup_while_spark_starts_reloads_the_file(tmp_path: Path):
    with Service(tmp_path, CONTENT) as service:
        (tmp_path / "in").mkdir()
        service.start()
        service.wait_for(lambda: service.states() == {"lines": "starting"}, "an endpoint")
        more = CONTENT["pipelines"]["lines"] | {"source": {"files": {"path": "more"}}}
        (tmp_path / "more").mkdir()
        service.write(CONTENT | {"pipelines": {**CONTENT["pipelines"], "more": more}})
        os.kill(service.pid, signal.SIGHUP)
        service.wait_for_state("running", "more")
        assert service.stop() == 0


@pytest.mark.slow
def test_sighup_to_the_process_group_while_java_starts_does_not_end_it(tmp_path: Path):
    with Service(tmp_path, CONTENT) as service:
        (tmp_path / "in").mkdir()
        service.start()
        driver = psutil.Process(service.pid)

        def is_java_started() -> bool:
            return any(child.cmdline() != driver.cmdline() for child in driver.children())

        service.wait_for(is_java_started, "a program that starts Java")
        os.killpg(service.pid, signal.SIGHUP)
        service.wait_for_state("running", "lines")
        assert service.stop() == 0
