"""Shared code of the demos: run commands of attr2hbase, show progress, check results."""

import json
import re
import shlex
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

INGEST = Path(sys.executable).with_name("attr2hbase")
_POLL_S = 0.25
_MAX_CHARS = 40  # of a value in a table
_FILE_WIDTH = 130  # columns if the output is not a terminal
_LOG_LINES = 25  # shown of a failed run
_READ = re.compile(r"^attr2hbase_events_read_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class DemoError(Exception):
    """The demo failed; the message is for the user."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Stage:
    """
    Runs commands in a work folder and shows them on a console.

    Args:
        folder: working directory of the commands, with the pipeline file.
        port: of the HTTP endpoint of a run, read for the progress bar.
        variables: environment of the commands.
    """

    def __init__(self, console: Console, folder: Path, port: int, variables: Mapping[str, str]) -> None:
        self.console = console
        self.folder = folder
        self._port = port
        self._environment = variables

    def ingest(self, *arguments: str, quiet: bool = False) -> str:
        """Run a command; returns its stdout."""
        if not quiet:
            self.announce(*arguments)
        done = subprocess.run(
            [INGEST, *arguments],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DemoError(f"attr2hbase {shlex.join(arguments)} ended with {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    def rows(self, *arguments: str, quiet: bool = False) -> list[dict[str, Any]]:
        """Run a command that writes JSON lines; returns them parsed, for the demo to show the main parts."""
        if not quiet:
            self.announce(*arguments, is_shortened=True)
        return [json.loads(line) for line in self.ingest(*arguments, "--output", "json", quiet=True).splitlines()]

    def run_once(self, file: str, total: int, what: str) -> dict[str, Any]:
        """
        Run `attr2hbase run --once` with a progress bar; returns its totals by pipeline.

        Args:
            file: the pipeline file.
            total: number of events to read.
            what: label of the progress bar.
        """
        self.announce("run", "--once", file)
        log = self.folder / "run.log"
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with log.open("w") as noise, Progress(*columns, TimeElapsedColumn(), console=self.console) as progress:
            bar = progress.add_task("starting Spark", total=total)
            process = subprocess.Popen(
                [INGEST, "run", "--once", file, "--output", "json"],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=noise,
                text=True,
            )
            try:
                output = self._wait(process, progress, bar, what)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
            if process.returncode == 0:
                totals: dict[str, Any] = json.loads(output)
                progress.update(bar, description=what, completed=sum(one["read"] for one in totals.values()))
                return totals
        ending = "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
        raise DemoError(f"the run ended with {process.returncode}; the end of {log}:\n{ending}")

    def _wait(self, process: "subprocess.Popen[str]", progress: Progress, bar: Any, what: str) -> str:
        while True:
            try:
                return process.communicate(timeout=_POLL_S)[0]
            except subprocess.TimeoutExpired:
                read = self._events_read()
                if read is not None:
                    progress.update(bar, description=what, completed=read)

    def _events_read(self) -> int | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=1) as answer:
                found = _READ.findall(answer.read().decode())
        except (OSError, urllib.error.URLError):
            return None  # not started yet, or ended
        return int(sum(map(float, found))) if found else None

    def announce(self, *arguments: str, is_shortened: bool = False) -> None:
        """Print a command before it runs; `is_shortened`: what is shown is not its full output."""
        about = "   (shortened)" if is_shortened else ""
        self.console.print(
            f"\n$ attr2hbase {shlex.join(arguments)}{about}", style="bold", markup=False, highlight=False
        )

    def expect(self, name: str, expected: object, actual: object) -> None:
        """
        Compare a result with its expected value.

        Raises:
            DemoError: they differ.
        """
        if expected != actual:
            raise DemoError(f"{name}: expected {expected!r}, found {actual!r}; the work folder is {self.folder}")


def as_text(content: Any) -> str:
    """Bytes as attr2hbase writes them in JSON, as text: other bytes are escaped."""
    if isinstance(content, dict):
        import base64

        return base64.b64decode(content["b64"]).decode("utf-8", "backslashreplace")
    return str(content)


def cells_of(row: dict[str, Any]) -> dict[str, str]:
    """Column -> value of a row that `scan` or `get` wrote."""
    return {f"{as_text(family)}:{as_text(name)}": as_text(value) for family, name, _time, value in row["cells"]}


def short(text: str, most: int = _MAX_CHARS) -> str:
    """Text on one line without control characters, cut to the width of a table cell."""
    line = "".join(character if character.isprintable() else "·" for character in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def screen() -> Console:
    """A console; in a file or a pipe its lines are wide enough for the tables."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_WIDTH)
