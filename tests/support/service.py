"""`attr2hbase run` as a child process, observed through its HTTP endpoint, checkpoint and processes."""

import contextlib
import copy
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.support import sessions
from tests.support.checkpoint import CheckpointReader
from tests.support.in_process import run_here
from tests.support.local import free_ports
from tests.support.short_lived import INSTALLED_SPARK, java_options
from tests.support.waiting import reached

ROOT = Path(__file__).resolve().parents[2]
START_S = 180.0  # 10 s on two free cores, a minute on a busy machine
LAST_LINES = 40
_SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Metrics = dict[tuple[str, frozenset[tuple[str, str]]], float]


class ServiceError(AssertionError):
    """A condition of a test was not reached; the message ends with the last log lines."""


class Service:
    """
    A pipeline file and the processes that run it.

    Args:
        folder: folder of pipeline file, state and logs, and working directory.
        content: the pipeline file as plain data; a free HTTP port and `local[2,4]` are added.

    Attributes:
        state: root of the state; a path of HDFS, if it is there.

    Use it in a `with` block, which kills all its processes at the end.
    """

    def __init__(self, folder: Path, content: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_ports(1)[0]
        self.file = folder / "pipeline.yaml"
        self.write(content)
        self.log = folder / "service.log"
        self.out = folder / "service.out"
        self.state: Any = folder / "data" / "state"
        self._child: subprocess.Popen[bytes] | None = None
        self._sessions: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, content: Mapping[str, Any]) -> None:
        """Write the pipeline file."""
        plain = {"version": 1, **content}
        plain["service"] = {"http": {"listen": f"127.0.0.1:{self.port}"}, **plain.get("service", {})}
        plain["spark"] = {"master": "local[2,4]", **plain.get("spark", {})}
        self.file.write_text(json.dumps(plain, indent=1, ensure_ascii=False))

    def move(self, folder: Path) -> None:
        """Use another machine from now on: another folder with a copy of the pipeline file, and another port."""
        self.port = free_ports(1)[0]
        content = json.loads(self.file.read_text())
        content["service"]["http"]["listen"] = f"127.0.0.1:{self.port}"
        folder.mkdir()
        self.folder, self.file = folder, folder / "pipeline.yaml"
        self.log, self.out = folder / "service.log", folder / "service.out"
        self.file.write_text(json.dumps(content))

    def leave(self, folder: Path) -> "Service":
        """Move, and leave the running processes behind, which another object watches."""
        left = copy.copy(self)
        self._child, self._sessions = None, set()
        self.move(folder)
        return left

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> Self:
        """Start `attr2hbase run` without waiting."""
        return self.start_command([sys.executable, "-m", "ingest", "run", str(self.file), *arguments], env=env)

    def start_command(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> Self:
        """Start another command as the service."""
        assert not self.is_running, "the service runs already"
        with self.log.open("ab") as log, self.out.open("ab") as out:
            self._child = subprocess.Popen(
                list(command),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env={**environment(), **(env or {})},
                # its own session, by which its descendants are found even if their parent has ended
                start_new_session=True,
            )
        self._sessions.add(self._child.pid)
        sessions.watch(self._child.pid)
        return self

    def run_once(self, *arguments: str, timeout_s: float = 300.0) -> int:
        """Run `attr2hbase run --once`; returns the exit code."""
        self.start("--once", *arguments)
        return self.wait_for_exit(timeout_s)

    def ingest(
        self, command: str, *arguments: str, timeout_s: float = 120.0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run another command on the pipeline file: `service.ingest("table apply")`."""
        return subprocess.run(
            [sys.executable, "-m", "ingest", *command.split(), "-f", str(self.file), *arguments],
            cwd=self.folder,
            env={**environment(), **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def command(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As `ingest`, in this process; for commands that start no JVM."""
        return run_here([*command.split(), "-f", str(self.file), *arguments], self.folder)

    @property
    def pid(self) -> int:
        """Pid of the driver."""
        assert self._child is not None, "never started"
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """Whether the driver runs."""
        return self._child is not None and self._child.poll() is None

    def processes(self) -> list[psutil.Process]:
        """All running processes of this service."""
        return sessions.processes_of(self._sessions)

    def jvm(self) -> psutil.Process | None:
        """Spark's JVM."""
        return next((process for process in self.processes() if _name(process) == "java"), None)

    def workers(self) -> list[psutil.Process]:
        """Python worker processes: children of Spark's daemon, which is a child of the JVM."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                parent = process.parent()
                grandparent = None if parent is None else parent.parent()
                if grandparent is not None and _name(grandparent) == "java":
                    found.append(process)
        return found

    def kill(self, process: psutil.Process | int) -> None:
        """
        Kill a process of this service with SIGKILL, and wait until it has ended.

        Raises:
            ProcessLookupError: it has ended already.
        """
        pid = process if isinstance(process, int) else process.pid
        assert os.getsid(pid) in self._sessions, f"{pid} is not a process of this service"
        os.kill(pid, signal.SIGKILL)
        if self._child is not None and pid == self._child.pid:
            self._child.wait(10)
        elif not reached(lambda: not _is_there(pid), 10):
            raise ServiceError(f"process {pid} does not end after SIGKILL")

    def kill_all(self) -> None:
        """Kill all processes with SIGKILL, as in a crash of the machine, and wait until they have ended."""

        def gone() -> bool:
            left = self.processes()
            for process in left:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            return not left

        if not reached(gone, 20, 0.05):
            raise ServiceError("processes do not end after SIGKILL")
        if self._child is not None:
            self._child.wait(10)

    def terminate(self) -> None:
        """Send SIGTERM to the driver."""
        os.kill(self.pid, signal.SIGTERM)

    def stop(self, timeout_s: float = 60.0) -> int:
        """Send SIGTERM; returns the exit code."""
        self.terminate()
        return self.wait_for_exit(timeout_s)

    def wait_for_exit(self, timeout_s: float = 60.0) -> int:
        """Wait for the end of the driver; returns its exit code."""
        assert self._child is not None, "never started"
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"did not end within {timeout_s:.0f} s\n{self.last_lines()}") from None

    def wait_for(self, condition: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
        """Wait for a condition while the service runs."""
        if not reached(lambda: condition() or not self.is_running, timeout_s):
            raise ServiceError(f"{what}: not within {timeout_s:.0f} s\n{self.last_lines()}")
        if not self.is_running and not condition():
            raise ServiceError(f"{what}: ended with {self._child and self._child.returncode}\n{self.last_lines()}")

    def wait_until_gone(self, timeout_s: float = 30.0) -> None:
        """Wait until no process of the service runs."""
        if not reached(lambda: not self.processes(), timeout_s, 0.1):
            raise ServiceError(f"still running: {[process.cmdline()[:3] for process in self.processes()]}")

    def wait_for_batches(self, count: int, pipeline: str, timeout_s: float = START_S) -> None:
        """Wait until the checkpoint of a pipeline has `count` more acknowledged batches."""
        checkpoint = self.checkpoint(pipeline)
        before = len(checkpoint.commits())
        self.wait_for(lambda: len(checkpoint.commits()) >= before + count, f"{count} batches", timeout_s)

    def wait_for_state(self, state: str, pipeline: str, timeout_s: float = START_S) -> None:
        """Wait until a pipeline is in a state."""
        self.wait_for(lambda: self.states().get(pipeline) == state, f"{pipeline} {state}", timeout_s)

    def wait_for_offsets(self, ends: Mapping[int, int], pipeline: str, topic: str, timeout_s: float = 600.0) -> None:
        """Wait until everything below offsets (partition -> offset) is acknowledged."""
        checkpoint = self.checkpoint(pipeline)

        def is_there() -> bool:
            reached_ = checkpoint.acknowledged(topic)
            return all(reached_.get(partition, 0) >= end for partition, end in ends.items())

        self.wait_for(is_there, f"{pipeline} at {dict(ends)}", timeout_s)

    def checkpoint(self, pipeline: str) -> CheckpointReader:
        """The checkpoint of a pipeline."""
        return CheckpointReader(self.state / "checkpoints" / pipeline)

    def get(self, path: str, timeout_s: float = 5.0) -> tuple[int, str]:
        """Status and text of a page; (0, "") without a response."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=timeout_s) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):  # it may be killed during a response
            return 0, ""

    def post(self, path: str, content: bytes | None = None) -> tuple[int, str]:
        """Status and text of a command, sent with the token of the service."""
        token = (self.folder / "data" / "state" / "control" / "token").read_text()
        headers = {"Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, content, method="POST", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5.0) as answer:  # noqa: S310 - of this machine
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def reload_phase(self) -> str:
        """How far the newest reload has come."""
        phase: str = json.loads(self.get("/reload")[1])["phase"]
        return phase

    def pipelines(self) -> dict[str, dict[str, Any]]:
        """Pipeline -> its status; empty without a response."""
        status, text = self.get("/pipelines")
        return {each["name"]: each for each in json.loads(text)["pipelines"]} if status == 200 else {}

    def states(self) -> dict[str, str]:
        """Pipeline -> state; empty without a response."""
        return {name: each["state"] for name, each in self.pipelines().items()}

    def metrics(self) -> Metrics:
        """(name, labels) -> value."""
        found: Metrics = {}
        for line in self.get("/metrics")[1].splitlines():
            match = None if line.startswith("#") else _SAMPLE.fullmatch(line)
            if match is not None:
                labels = frozenset(_LABEL.findall(match["labels"] or ""))
                found[match["name"], labels] = float(match["value"])
        return found

    def metric(self, name: str, **labels: str) -> float:
        """Sum of the series with these labels."""
        wanted = set(labels.items())
        return sum(value for (found, having), value in self.metrics().items() if found == name and wanted <= having)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The JSON log lines of all runs."""
        for line in self.log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                content = json.loads(line)
                if isinstance(content, dict):
                    yield content

    def last_lines(self) -> str:
        """The last log lines, for messages."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-LAST_LINES:])

    def close(self) -> None:
        """Kill all processes."""
        if self._sessions:
            self.kill_all()
        for session in self._sessions:
            sessions.forget(session)


def environment() -> dict[str, str]:
    """The environment of a service: this source tree first on the module path, and Spark for a short run."""
    given = os.environ.get("SPARK_SUBMIT_OPTS")
    options = java_options() if given is None else given
    return {**os.environ, "SPARK_SUBMIT_OPTS": options, "PYTHONPATH": f"{ROOT}:{INSTALLED_SPARK}"}


def environment_without_spark() -> dict[str, str]:
    """The environment of a process that starts no JVM: nothing is prepared for one, which may take a minute."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return process.name()
    return ""


def _is_there(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
