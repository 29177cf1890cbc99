"""Tracebacks of Python processes that Spark has given up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.spark.late_processes import WithoutLateProcesses

OTHER = b"""before
Traceback (most recent call last):
  File "/x.py", line 1, in <module>
    1 / 0
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x.py", line 3, in <module>
    raise ValueError
ValueError
after
"""


GIVEN_UP = b"""Traceback (most recent call last):
  File "/lib/pyspark.zip/pyspark/daemon.py", line 262, in manager
  File "/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What Spark's own process prints."""
    gone = tmp_path_factory.mktemp("gone") / "x.sock"
    environment = {"PYTHON_UNIX_DOMAIN_ENABLED": "True", "PYTHON_WORKER_FACTORY_SOCK_PATH": str(gone)}
    command = [sys.executable, "-m", "pyspark.sql.streaming.python_streaming_source_runner"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, check=False, cwd=Path.cwd())
    assert b"[CANNOT_OPEN_SOCKET]" in done.stderr
    return done.stderr


@pytest.mark.parametrize("length", [1, 3, 1_000])
def test_only_processes_that_could_not_connect_leave_no_traceback(late: bytes, length: int):
    """However many lines the JVM copies at a time."""
    lines = (OTHER + late + late + OTHER + GIVEN_UP + OTHER).splitlines(keepends=True)
    without = WithoutLateProcesses()
    found = [without(b"".join(lines[at : at + length])) for at in range(0, len(lines), length)]
    assert b"".join(found) + without.rest() == OTHER * 3


def test_traceback_without_an_end_is_not_lost(late: bytes):
    without = WithoutLateProcesses()
    cut = OTHER.splitlines(keepends=True)[:3]
    assert without(b"".join(cut)) == cut[0]
    assert without(late) + without.rest() == b"".join(cut[1:])
