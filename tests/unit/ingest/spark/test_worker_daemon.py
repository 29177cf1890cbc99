"""What Spark's Python workers inherit from the process that forks them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.spark.worker_daemon import PRELOADED, without_archives
from tests.support.environments import ROOT

PROGRAM = """\
import json, os, sys
from ingest.spark import worker_daemon
before = dict(os.environ)
worker_daemon.preload()
print(json.dumps([len(os.listdir("/proc/self/task")), dict(os.environ) == before, sorted(sys.modules)]))
"""


@pytest.mark.parametrize("set_by_user", [{}, {"OPENBLAS_NUM_THREADS": "2"}])
def test_modules_of_tasks_are_preloaded_without_a_thread(set_by_user: dict[str, str]):
    """A fork of a process with several threads is unsafe."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=set_by_user, cwd=ROOT, capture_output=True, text=True, check=True
    )
    threads, is_environment_kept, modules = json.loads(done.stdout)
    assert threads == 1
    assert is_environment_kept
    assert {"pyarrow", "numpy", *PRELOADED} <= set(modules)


def test_archives_with_modules_that_are_installed_leave_the_path(tmp_path: Path):
    installed = tmp_path / "site-packages" / "pyspark"
    (installed / "python" / "lib").mkdir(parents=True)
    (installed / "__init__.py").touch()
    other = "/opt/spark/python/lib/pyspark.zip"
    path = [
        "",
        str(installed / "python" / "lib" / "pyspark.zip"),
        other,
        "/opt/spark/jars/spark-core_2.13-4.2.0.jar",
        "/opt/jars/graphs.jar",
        "pyspark.zip",
        "/srv/code",
    ]
    assert without_archives(path) == ["", other, "/opt/jars/graphs.jar", "pyspark.zip", "/srv/code"]
