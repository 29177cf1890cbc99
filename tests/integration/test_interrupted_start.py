"""Ctrl-C while Spark's JVM starts: no stack trace, and no JVM that stays."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.service import START_S, Service
from tests.support.waiting import reached

CONTENT = {
    "spark": {"conf": {"spark.sql.catalogImplementation": "hive"}},
    "pipelines": {
        "p": {
            "source": {"kafka": {"brokers": "localhost:1", "topics": ["t"]}},
            "sinks": [{"archive": {"root": "./archive", "table": "customer"}}],
        }
    },
}


def _starts(jvm: psutil.Process) -> bool:
    """Whether it is Spark's, not the one that tells the script of Spark the command line."""
    return "org.apache.spark.deploy.SparkSubmit" in jvm.cmdline()


def _creates_context(jvm: psutil.Process) -> bool:
    """Whether Spark's driver listens beside the port for Python."""
    return sum(each.status == psutil.CONN_LISTEN for each in jvm.net_connections()) > 1


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("moment", "is_terminal"),
    [
        (_starts, True),
        pytest.param(_starts, False, marks=pytest.mark.slow),
        pytest.param(_creates_context, True, marks=pytest.mark.slow),
        (_creates_context, False),
    ],
)
def test_interrupted_start_leaves_no_jvm(
    moment: Callable[[psutil.Process], bool], is_terminal: bool, tmp_path: Path
) -> None:
    """A terminal sends the signal to the whole process group, `kill` to the driver alone."""
    with Service(tmp_path, CONTENT) as service:

        def is_now() -> bool:
            with contextlib.suppress(psutil.Error):
                jvm = service.jvm()
                return jvm is not None and moment(jvm)
            return False

        service.start_command(
            [sys.executable, "-m", "ingest", "admin", "archive", "register", "-f", str(service.file), "customer"]
        )
        assert reached(is_now, START_S, 0.01)
        (os.killpg if is_terminal else os.kill)(service.pid, signal.SIGINT)
        assert service.wait_for_exit() == 130
        lines = [line for line in service.log.read_text().splitlines() if "incubator modules" not in line]
        assert lines == ["interrupted"]
        service.wait_until_gone()
