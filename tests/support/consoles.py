"""Runs the consoles of a guide, and compares their output with the one that is shown."""

import contextlib
import os
import re
import shlex
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.support.commands import ANY_PORT, INGEST
from tests.support.in_process import run_here
from tests.support.service import environment
from tests.support.waiting import reached

_BLOCK = re.compile(r"(?<=^```)(console|yaml)\n(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
# what differs from run to run: times, names of dumps, dead letters, iterators, ids of feeds
_VALUE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\d{4}(?:-\d\d){5}(?:-[0-9a-f]{6})?|\d{15}-\d{10}:\d+"
    r"|\b1[5-9]\d{11}\b|\b[0-9a-f]{16,48}\b"
)
_SECONDS = re.compile(r"\(\d+\.\d s\)")
# these commands change nothing: they run again until a service has done what the output shows
_READS = re.compile(r"attr2hbase (status|get|scan|history|(admin )?feed|dump ls|dead-letters list)\b|curl ")
_ALONE = re.compile(r"attr2hbase (?!run\b)[^|<>&;$()\\]*")
_LIMIT_S = 90.0


class Consoles:
    """
    A shell in a folder, for the blocks of a guide in their order.

    A block of `yaml` whose first line is a comment with the name of a file is written to this file. The command
    `attr2hbase` runs in this process, except for `attr2hbase run` and parts of pipes.

    Times and names of the output differ from those that are shown: both are paired in the order of the output. A `…`
    that is shown stands for any text.

    Args:
        folder: where the shell starts.
        variables: of its environment, besides those of a service.
        addition: to each file of a pipeline.

    Use it in a `with` block, which kills the processes of the shell at the end.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str], *, addition: str = ANY_PORT) -> None:
        self._addition = addition
        self._variables = variables
        self._actual: dict[str, str] = {}  # value that is shown -> value of this run
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment() | variables | {"PATH": f"{INGEST.parent}:{os.environ['PATH']}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shell = psutil.Process(self._shell.pid)
        for process in (*shell.children(recursive=True), shell):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._shell.communicate()

    def repeated(self, text: str) -> str:
        """The text with the output of this run, with the values that are shown."""
        return _BLOCK.sub(lambda found: f"{found[1]}\n{self._block(found[1], found[2])}", text)

    def folder(self) -> Path:
        """The working directory of the shell."""
        return Path(self._in_shell("pwd")[1].rstrip("\n"))

    def _block(self, kind: str, content: str) -> str:
        if kind == "console":
            return _COMMAND.sub(lambda each: self._command(each[1], each[2]), content)
        if (name := re.match(r"# (\S+\.yaml)\n", content)) is not None:
            (self.folder() / name[1]).write_text(content + self._addition)
        return content

    def _command(self, command: str, shown: str) -> str:
        run = _VALUE.sub(lambda found: self._actual.get(found[0], found[0]), command)
        output = ""

        def is_as_shown() -> bool:
            nonlocal output
            code, output = self._in_process(run) if _ALONE.fullmatch(run) else self._in_shell(run)
            return code == 0 and self._is_alike(shown, output)

        alike = reached(is_as_shown, _LIMIT_S if _READS.match(run) else 0.0, 0.2)
        return f"$ {command}\n{shown if alike else output}"

    def _is_alike(self, shown: str, output: str) -> bool:
        """Whether an output is as shown; its values are known from then on."""
        found = re.fullmatch(_pattern(shown), output, re.DOTALL)
        pairs = () if found is None else zip(_VALUE.findall(shown), found.groups(), strict=True)
        return found is not None and all(self._actual.setdefault(before, now) == now for before, now in pairs)

    def _in_process(self, command: str) -> tuple[int, str]:
        done = run_here(shlex.split(command)[1:], self.folder(), self._variables, is_joined=True)
        return done.returncode, done.stdout

    def _in_shell(self, command: str) -> tuple[int, str]:
        assert self._shell.stdin is not None
        end = uuid.uuid4().hex
        self._shell.stdin.write(f'{command}\nprintf "%s %s\\n" {end} $?\n')
        self._shell.stdin.flush()
        *lines, last = self._lines(end)
        return int(last.rpartition(" ")[2]), "".join(lines) + last.partition(end)[0]

    def _lines(self, end: str) -> Iterator[str]:
        assert self._shell.stdout is not None
        for line in self._shell.stdout:
            yield line
            if end in line:
                return
        raise AssertionError("the shell has ended")


def _pattern(shown: str) -> str:
    """An expression for outputs that differ only in values, seconds and what is left out; its groups are the values."""
    parts = re.split(f"({_VALUE.pattern}|{_SECONDS.pattern}|…| +|─+)", shown)
    return "".join(_variable(part) if number % 2 else re.escape(part) for number, part in enumerate(parts))


def _variable(part: str) -> str:
    kinds = {"…": ".*", " ": " +", "─": "─+", "(": _SECONDS.pattern}
    return kinds.get(part[0], f"({_VALUE.pattern})")
