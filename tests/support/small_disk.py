"""A folder on a small disk: a tmpfs, or if mounting is not allowed, writes that fail with ENOSPC."""

import contextlib
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.disk_faults import DiskFaults
from tests.support.ledger.run import LedgerRun

MIB = 1024 * 1024


class NoMountWarning(UserWarning):
    """A full disk is simulated."""


class SmallDisk:
    """
    A folder on its own disk.

    Args:
        folder: created if missing; must not be in use yet.
        size_bytes: size of the disk.
        faults: simulates the full disk if mounting is not allowed.
    """

    def __init__(self, folder: Path, size_bytes: int, faults: DiskFaults) -> None:
        self.folder = folder
        self._faults = faults
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=0755", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        self.is_mounted = mounted.returncode == 0
        if not self.is_mounted:
            # the summary of the test run shows that the fault is injected one layer higher
            warnings.warn(f"no tmpfs ({mounted.stderr.strip()}): writes are made to fail instead", NoMountWarning, 1)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment of the service that uses the folder."""
        return {} if self.is_mounted else self._faults.environment(fail_write=f"{self.folder}/*")

    def fill(self, *appended: Path) -> str:
        """
        Fill the disk; returns the proof.

        Args:
            appended: text files to which the service appends; their last page is filled, too.
        """
        if not self.is_mounted:
            self._faults.on()
            return f"writes below {self.folder.name} fail with ENOSPC"
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
        """Free the disk."""
        self._faults.off()
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount the disk, even if files on it are open."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True, timeout=30)
            self.is_mounted = False


MakeDisk = Callable[[Path, int], SmallDisk]
"""The fixture `small_disk`: a disk at a folder, of so many bytes."""


def fill_until_blocked(run: LedgerRun, disk: SmallDisk) -> None:
    """Fill the disk and check that the pipeline is blocked and acknowledges nothing."""
    checkpoint = run.service.checkpoint(run.pipeline)
    run.proven(disk.fill())
    run.produce(3_000)
    run.service.wait_for_state("blocked", run.pipeline)
    assert "No space left on device" in run.service.get("/pipelines")[1]
    assert run.service.get("/readyz")[0] == 503
    assert run.service.get("/livez")[0] == 200
    assert checkpoint.commits()
    assert sum(checkpoint.acknowledged(run.topic).values()) < run.producer.sent
