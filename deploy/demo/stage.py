"""What both demos stand on: running our commands, a bar for a run, and failing loudly."""

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

INGEST = Path(sys.executable).with_name("ingest")
_POLL_S = 0.25
_MAX_CHARS = 40  # of a value in a table
_FILE_WIDTH = 130  # columns where the output is no terminal
_LOG_LINES = 25  # of a failed run, shown
_READ = re.compile(r"^ingest_events_read_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class DemoError(Exception):
    """The demo did not show what it should; exit code and a line for the user."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Stage:
    """
    A work folder in which commands run, and the screen they are shown on.

    Args:
        folder: where commands run; holds the pipeline file.
        port: of the HTTP endpoint of a run, which gives the progress of the bar.
        variables: environment of the commands, beside our own.
    """

    def __init__(self, console: Console, folder: Path, port: int, variables: Mapping[str, str]) -> None:
        self.console = console
        self.folder = folder
        self._port = port
        self._environment = variables

    def ingest(self, *arguments: str, quiet: bool = False) -> str:
        """Run one command and give what it wrote to stdout."""
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
            raise DemoError(f"ingest {shlex.join(arguments)} ended with {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    def rows(self, *arguments: str, quiet: bool = False) -> list[dict[str, Any]]:
        """Run one command that writes a line of JSON for each thing it found."""
        if not quiet:
            self.announce(*arguments)
        return [json.loads(line) for line in self.ingest(*arguments, "--output", "json", quiet=True).splitlines()]

    def run_once(self, file: str, total: int, what: str) -> dict[str, Any]:
        """
        `ingest run --once` with a bar; its totals by pipeline.

        Args:
            file: the pipeline file.
            total: how many events there are to read.
            what: their name on the bar.
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
            return None  # not up yet, or gone again
        return int(sum(map(float, found))) if found else None

    def announce(self, *arguments: str) -> None:
        """Show a command before it runs."""
        self.console.print(f"\n$ ingest {shlex.join(arguments)}", style="bold", markup=False, highlight=False)

    def expect(self, name: str, expected: object, actual: object) -> None:
        """
        Hold what was found against what must be.

        Raises:
            DemoError: they differ.
        """
        if expected != actual:
            raise DemoError(f"{name}: expected {expected!r}, found {actual!r}; the work folder is {self.folder}")


def as_text(content: Any) -> str:
    """Bytes as our commands write them in JSON, readable: text as it is, others with escapes."""
    if isinstance(content, dict):
        import base64

        return base64.b64decode(content["b64"]).decode("utf-8", "backslashreplace")
    return str(content)


def cells_of(row: dict[str, Any]) -> dict[str, str]:
    """Column -> value of a row as `scan` and `get` write it."""
    return {f"{as_text(family)}:{as_text(name)}": as_text(value) for family, name, _time, value in row["cells"]}


def short(text: str, most: int = _MAX_CHARS) -> str:
    """Text on one line, cut where it is too long for a table; no control characters."""
    line = "".join(character if character.isprintable() else "·" for character in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def screen() -> Console:
    """The terminal; in a file or a pipe lines are long enough for the tables."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_WIDTH)
