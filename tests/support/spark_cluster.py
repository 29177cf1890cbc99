"""A standalone Spark cluster of a master and two workers, from the jars of PySpark."""

import json
import os
import sys
import urllib.request
from pathlib import Path

import psutil
import pyspark

from tests.support.local import ServerProcess, free_ports
from tests.support.service import ROOT

READY_S = 60.0
WORKERS = 2

BARE = {"PYTHONPATH": "", "ATTR2HBASE_PYTHON": sys._base_executable}
"""Variables of a machine that has Python, but no packages."""

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class SparkCluster:
    """
    Master and workers, each in its own process, with files in a folder.

    A restarted master knows the workers and applications of the one before (recovery mode FILESYSTEM).

    Args:
        folder: for their files.
        has_product: whether this source tree and its environment are on the module path of the executors.
    """

    def __init__(self, folder: Path, *, has_product: bool = True) -> None:
        self.folder = folder
        self._has_product = has_product
        self._port, self._page = free_ports(2)
        self._master = ServerProcess("master", folder)
        self._workers = [ServerProcess(f"worker{number}", folder) for number in range(WORKERS)]

    @property
    def master(self) -> str:
        """URL for `--master`."""
        return f"spark://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start all processes that do not run; returns when the workers are registered."""
        if self._master.pid is None:
            self._start(self._master, "master.Master", "--port", str(self._port), "--webui-port", str(self._page))
            self._master.wait_until(lambda: self._alive() >= 0, timeout_s=READY_S)
        for worker in self._workers:
            if worker.pid is None:
                work = self.folder / worker.name
                self._start(
                    worker, "worker.Worker", "--cores", "1", "--memory", "700M", "--work-dir", str(work), self.master
                )
        self._workers[-1].wait_until(lambda: self._alive() == WORKERS, timeout_s=READY_S)

    def stop(self) -> None:
        """Stop all processes; workers stop their executors."""
        for process in (*self._workers, self._master):
            process.stop(grace_s=10.0)

    def kill_master(self) -> int:
        """Kill the master with SIGKILL; returns its pid."""
        return _kill(self._master)

    def kill_worker(self, number: int) -> int:
        """Kill a worker with SIGKILL, but not its executors; returns its pid."""
        return _kill(self._workers[number])

    def executors(self) -> list[int]:
        """Pids of the executors, found by their working directory."""
        folder = str(self.folder)
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            if _EXECUTOR in (process.info["cmdline"] or ()) and str(process.info["cwd"]).startswith(folder):
                found.append(process.pid)
        return found

    def _start(self, process: ServerProcess, main: str, *arguments: str) -> None:
        spark = Path(pyspark.__file__).parent
        command = [str(spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", "--host", "127.0.0.1"]
        recovery = {"spark.deploy.recoveryMode": "FILESYSTEM", "spark.deploy.recoveryDirectory": self.folder / "master"}
        env = {
            "SPARK_HOME": str(spark),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DIST_CLASSPATH": "",  # the jars of the connector come with the application
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(f"-D{name}={value}" for name, value in recovery.items()),
            **(_product() if self._has_product else BARE),
        }
        process.start([*command, *arguments], env=env)

    def _alive(self) -> int:
        """Number of registered workers; -1 without a response."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            # the HTML page is available before the JSON page
            return -1


def _product() -> dict[str, str]:
    """Variables for executors, which are children of workers."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}


def _kill(process: ServerProcess) -> int:
    pid = process.pid
    assert pid is not None, f"{process.name} does not run"
    process.kill()
    return pid
