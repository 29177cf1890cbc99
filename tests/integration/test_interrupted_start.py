"""Ctrl-C while Spark's JVM starts: no stack trace, and no JVM that stays."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.service import Service

CONTENT = {
    "spark": {"conf": {"spark.sql.catalogImplementation": "hive"}},
    "pipelines": {
        "p": {
            "source": {"kafka": {"brokers": "localhost:1", "topics": ["t"]}},
            "sinks": [{"archive": {"root": "./archive", "table": "customer"}}],
        }
    },
}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_interrupted_start_leaves_no_jvm(is_terminal: bool, tmp_path: Path) -> None:
    """A terminal sends the signal to the whole process group, `kill` to the driver alone."""
    with Service(tmp_path, CONTENT) as service:
        service.start_command([sys.executable, "-m", "ingest", "archive", "register", str(service.file), "customer"])
        service.wait_for(lambda: _starts(service.jvm()), "the JVM starts")
        (os.killpg if is_terminal else os.kill)(service.pid, signal.SIGINT)
        assert service.wait_for_exit() == 130
        lines = [line for line in service.log.read_text().splitlines() if "incubator modules" not in line]
        assert lines == ["interrupted"]
        service.wait_until_gone()


def _starts(jvm: psutil.Process | None) -> bool:
    """Whether it is Spark's, not the one that tells the script of Spark the command line."""
    with contextlib.suppress(psutil.Error):
        return jvm is not None and "org.apache.spark.deploy.SparkSubmit" in jvm.cmdline()
    return False
