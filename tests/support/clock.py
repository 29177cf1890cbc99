"""A clock that jumps while a service runs: `shim/clock.c` between its processes and libc, the Java process too."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parent / "shim" / "clock.c"


class JumpingClock:
    """
    The compiled shim, and by how much the time of day is wrong.

    Args:
        folder: for the library, the shift and what the shim notes; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "clock.so"
        self._shift = folder / "shift"
        self._told = folder / "told"
        self._told.mkdir(parents=True)
        self.jump(0)
        command = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", str(self._library)]
        # no compiler is an error and no skip: a fault that was not injected proves nothing
        subprocess.run([*command, str(SOURCE)], check=True, timeout=60)

    def environment(self) -> Mapping[str, str]:
        """Variables for the process whose clock jumps, and all that descend from it."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_SHIFT": str(self._shift), "CLOCK_LOG": str(self._told)}

    def jump(self, shift_s: int) -> None:
        """From now on the time of day is so many seconds ahead of what it is, or behind."""
        fresh = self._shift.with_suffix(".new")
        fresh.write_text(f"{shift_s}\n")
        fresh.replace(self._shift)

    def told(self, shift_s: int) -> set[int]:
        """Processes that were last told a time so wrong."""
        return {int(file.name) for file in self._told.iterdir() if file.read_text().strip() == str(shift_s)}
