"""Clocks that a test controls: one to pass to code, one for the processes of a service."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

SOURCE = Path(__file__).parent / "shim" / "clock.c"


T = TypeVar("T", int, float)


class Clock(Generic[T]):
    """A clock that does not advance; the test sets `now`, in the unit that the code under test expects."""

    def __init__(self, now: T) -> None:
        self.now = now

    def __call__(self) -> T:
        return self.now


class JumpingClock:
    """
    The time of day of a service and its JVM: `shim/clock.c` is loaded between its processes and libc.

    Args:
        folder: for the library, the shift and the log of the shim; created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "clock.so"
        self._shift = folder / "shift"
        self._shifted = folder / "shifted"
        self._shifted.mkdir(parents=True)
        self.jump(0)
        command = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", str(self._library)]
        # a missing compiler is an error, not a skip: without the fault the test proves nothing
        subprocess.run([*command, str(SOURCE)], check=True, timeout=60)

    def environment(self) -> Mapping[str, str]:
        """Environment of the process whose clock is shifted, and of its descendants."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_SHIFT": str(self._shift), "CLOCK_LOG": str(self._shifted)}

    def jump(self, shift_s: int) -> None:
        """Shift the time of day by seconds, forward or back."""
        fresh = self._shift.with_suffix(".new")
        fresh.write_text(f"{shift_s}\n")
        fresh.replace(self._shift)

    def shifted(self, shift_s: int) -> set[int]:
        """Pids of processes that last read a time with this shift."""
        return {int(file.name) for file in self._shifted.iterdir() if file.read_text().strip() == str(shift_s)}
