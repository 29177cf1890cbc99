"""
A disk that fails, loses what was not synced, or stops a rename half way: `shim/faults.c` between a process and libc.

It is compiled when the first test asks for it, and reaches every process a service starts, the Java process too.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "shim" / "faults.c"


@dataclass(frozen=True)
class Act:
    """Something the shim did or saw: what, the path, and the other path or the bytes in hexadecimal."""

    what: str
    path: str
    more: str


class DiskFaults:
    """
    The compiled shim and its orders.

    Args:
        folder: for the library, its log and its switch.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "faults.so"
        self._log = folder / "acts"
        self._switch = folder / "on"
        command = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", str(self._library)]
        # no compiler is an error and no skip: a fault that was not injected proves nothing
        subprocess.run([*command, str(SOURCE), "-ldl"], check=True, timeout=60)

    def environment(self, **settings: str) -> Mapping[str, str]:
        """
        Variables for the process that is to suffer.

        Args:
            settings: as the head of faults.c lists them, without SHIM_ and in lower case.
        """
        named = {f"SHIM_{name.upper()}": value for name, value in settings.items()}
        return {"LD_PRELOAD": str(self._library), "SHIM_LOG": str(self._log), "SHIM_WHEN": str(self._switch), **named}

    def on(self) -> None:
        """From now on faults happen."""
        self._switch.touch()

    def off(self) -> None:
        """No more faults."""
        self._switch.unlink(missing_ok=True)

    def acts(self, what: str | None = None) -> list[Act]:
        """What the shim did and saw, in order; also while it runs."""
        if not self._log.exists():
            return []
        whole = self._log.read_text().rpartition("\n")[0]
        acts = [Act(*line.split("\t")) for line in whole.split("\n") if line]
        return [act for act in acts if what in (None, act.what)]
