"""What only HBase's own Java client can do to it: move, split and merge regions, flush, grant and revoke."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.local import HBaseServer

SOURCE = Path(__file__).with_name("HBaseAdmin.java")
"""Run from its source, which needs a JDK and not only a JRE."""


class AdminError(AssertionError):
    """HBase's client refused; the message is its own."""


class Admin:
    """
    A Java process that takes commands; use it in a `with` block.

    Args:
        server: the cluster, up and running.
    """

    def __init__(self, server: HBaseServer) -> None:
        self._server = server
        self._java: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        with (self._server.folder / "admin.log").open("ab") as log:
            self._java = subprocess.Popen(
                self._server.command(str(SOURCE), heap="256m"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._server.folder,
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

    def ask(self, *words: str) -> str:
        """
        Run a command of HBaseAdmin.java and wait until HBase has carried it out.

        Raises:
            AdminError: HBase did not want to.
        """
        assert self._java is not None
        assert self._java.stdin is not None
        self._java.stdin.write(" ".join(words) + "\n")
        self._java.stdin.flush()
        return self._answer()

    def regions(self, table: str) -> dict[str, str]:
        """Region -> the server it is on."""
        return dict(each.split("@", 1) for each in self.ask("regions", table).split())

    def _answer(self) -> str:
        assert self._java is not None
        assert self._java.stdout is not None
        line = self._java.stdout.readline()
        state, _, text = line.strip().partition(" ")
        if state != "ok":
            raise AdminError(text or f"HBase's client ended; see {self._server.folder / 'admin.log'}")
        return text
