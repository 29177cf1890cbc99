"""
Disk faults by `shim/faults.c`, loaded between a process and libc: failing syncs and writes, held renames, traced calls.

The library is compiled for each test, and is loaded into every process of a service, including the JVM.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "shim" / "faults.c"


@dataclass(frozen=True)
class Act:
    """An injected fault or a traced call: its name, the path, and a second path or the bytes in hexadecimal."""

    what: str
    path: str
    more: str


class DiskFaults:
    """
    The compiled shim and its settings.

    Args:
        folder: for the library, its log and its switch.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "faults.so"
        self._log = folder / "acts"
        self._switch = folder / "on"
        command = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", str(self._library)]
        # a missing compiler is an error, not a skip: without the fault the test proves nothing
        subprocess.run([*command, str(SOURCE), "-ldl"], check=True, timeout=60)

    def environment(self, **settings: str) -> Mapping[str, str]:
        """
        Environment of the affected process.

        Args:
            settings: variables of faults.c in lower case, without SHIM_.
        """
        named = {f"SHIM_{name.upper()}": value for name, value in settings.items()}
        return {"LD_PRELOAD": str(self._library), "SHIM_LOG": str(self._log), "SHIM_WHEN": str(self._switch), **named}

    def on(self) -> None:
        """Enable faults."""
        self._switch.touch()

    def off(self) -> None:
        """Disable faults."""
        self._switch.unlink(missing_ok=True)

    def acts(self, what: str | None = None) -> list[Act]:
        """Injected faults and traced calls so far, in order."""
        if not self._log.exists():
            return []
        whole = self._log.read_text().rpartition("\n")[0]
        acts = [Act(*line.split("\t")) for line in whole.split("\n") if line]
        return [act for act in acts if what in (None, act.what)]
