"""A Java program that is run from source, which needs a JDK, and that reads commands line by line."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class ProgramError(AssertionError):
    """The program reported an error; the message is the program's."""


class JavaProgram:
    """
    Use it in a `with` block, which starts the program, waits until it is ready, and kills it at the end.

    The program responds to each command with a line: `ok` and a result, or `error` and the reason. It writes such a
    line when it is ready, too.

    Args:
        command: starts the program.
        log: file for its stderr.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._java: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._java = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._log.parent,
            )
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._java is not None
        self._java.kill()
        with self._java:
            self._java.wait(10)

    def write(self, *words: str) -> None:
        """Write a command that has no response."""
        assert self._java is not None
        assert self._java.stdin is not None
        self._java.stdin.write(" ".join(words) + "\n")

    def ask(self, *words: str) -> str:
        """
        Write a command and wait for the response.

        Raises:
            ProgramError: the response is an error, or the program has ended.
        """
        self.write(*words)
        assert self._java is not None
        assert self._java.stdin is not None
        self._java.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._java is not None
        assert self._java.stdout is not None
        state, _, text = self._java.stdout.readline().strip().partition(" ")
        if state != "ok":
            raise ProgramError(text or f"the program ended; see {self._log}")
        return text
