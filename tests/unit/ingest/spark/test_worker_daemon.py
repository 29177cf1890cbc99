"""What Spark's Python workers inherit from the process that forks them."""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

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


DAEMON = """\
import os, socket, sys
from pyspark import daemon
from ingest.spark import worker_daemon

def worker(sock, authenticated):
    raise {error}

daemon.worker = worker
sys.argv = ["daemon", "none"]
worker_daemon.main()
"""


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A folder with a short name: the path of a socket has at most 107 bytes."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize(("error", "is_shown"), [("BrokenPipeError(32, 'x')", False), ("ValueError('x')", True)])
def test_a_connection_that_the_jvm_closes_leaves_no_traceback(error: str, is_shown: bool, sockets: Path):
    """The JVM copies what the daemon writes to the log, and may have ended after the first line."""
    program = DAEMON.replace("{error}", error)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHON_UNIX_DOMAIN_ENABLED": "true"}
    environment |= {"PYTHON_WORKER_FACTORY_SOCK_DIR": str(sockets), "PYTHON_WORKER_FACTORY_SECRET": "s"}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # the daemon writes the length of its address, and the address
        (size,) = struct.unpack(">i", process.stdout.read(4))
        with socket.socket(socket.AF_UNIX) as jvm:
            jvm.connect(process.stdout.read(size).decode())
            assert len(jvm.recv(4)) == 4  # the process id of the worker
            jvm.shutdown(socket.SHUT_WR)
            assert jvm.recv(1) == b""  # it has ended
        process.stdin.close()  # as the JVM does when it ends
        assert process.stderr is not None
        assert ("Traceback" in process.stderr.read().decode()) is is_shown


def with_spark(folder: Path) -> Path:
    """The same folder, in which pip has installed Spark."""
    package = folder / "pyspark"
    (package / "python" / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    with ZipFile(archive_of(folder), "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    return folder


def archive_of(folder: Path) -> str:
    return str(folder / "pyspark" / "python" / "lib" / "pyspark.zip")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    return with_spark(tmp_path / "site-packages")


def test_archives_with_modules_that_are_installed_leave_the_path(installed: Path):
    other = "/opt/spark/python/lib/pyspark.zip"
    kept = [other, "/opt/jars/graphs.jar", "pyspark.zip", "/srv/code", str(installed)]
    archives = [archive_of(installed), "/opt/spark/jars/spark-core_2.13-4.2.0.jar"]
    assert without_archives([*archives, *kept]) == kept


def test_archive_of_a_spark_of_another_python_stays(installed: Path):
    """As on an executor with a packed environment, whose Spark is that of the machine."""
    path = [archive_of(installed), "/srv/environment/lib"]
    assert without_archives(path) == path


def test_archive_stays_if_another_spark_comes_before_its_package(installed: Path, tmp_path: Path):
    other = with_spark(tmp_path / "other")
    for before in (str(other), archive_of(other)):
        path = [archive_of(installed), before, str(installed)]
        assert without_archives(path) == path


def test_package_and_archive_may_be_reached_by_links(installed: Path, tmp_path: Path):
    (tmp_path / "spark").symlink_to(installed / "pyspark")
    assert without_archives([str(tmp_path / "spark/python/lib/pyspark.zip"), str(installed)]) == [str(installed)]
