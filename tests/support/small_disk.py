"""A folder that can be full: a small tmpfs of its own, or, where mounting is not allowed, writes that say ENOSPC."""

import contextlib
import shutil
import subprocess
import warnings
from collections.abc import Mapping
from pathlib import Path

from tests.support.disk_faults import DiskFaults

MIB = 1024 * 1024


class NoMountWarning(UserWarning):
    """The disk of a test is not a real one."""


class SmallDisk:
    """
    One folder on a disk of its own.

    Args:
        folder: made if it is missing; what is in it must not be used yet.
        size_bytes: of the disk.
        faults: takes its place where mounting is not allowed.
    """

    def __init__(self, folder: Path, size_bytes: int, faults: DiskFaults) -> None:
        self.folder = folder
        self._faults = faults
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=0755", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        self.is_mounted = mounted.returncode == 0
        if not self.is_mounted:
            # seen in the summary of a run: the fault is injected all the same, one layer higher
            warnings.warn(f"no tmpfs ({mounted.stderr.strip()}): writes are made to fail instead", NoMountWarning, 1)

    @property
    def environment(self) -> Mapping[str, str]:
        """For the service that uses the folder."""
        return {} if self.is_mounted else self._faults.environment(fail_write=f"{self.folder}/*")

    def fill(self, *appended: Path) -> str:
        """
        From now on no new page fits; how that is known.

        Args:
            appended: text files that others append to, and whose last page is to be full as well.
        """
        if not self.is_mounted:
            self._faults.on()
            return f"writes below {self.folder.name} say ENOSPC"
        with contextlib.suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(MIB)):
                pass
        for path in appended:
            with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
                while file.write(b"\n"):
                    pass
        usage = shutil.disk_usage(self.folder)
        assert usage.free == 0
        return f"tmpfs at {self.folder.name}: 0 of {usage.total // MIB} MiB free"

    def free(self) -> None:
        """There is room again."""
        self._faults.off()
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of it; also while somebody still has files open there."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True, timeout=30)
            self.is_mounted = False
