"""Disks that a test fills."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.disk_faults import DiskFaults
    from tests.support.ledger.fixture import LedgerRuns
    from tests.support.small_disk import MakeDisk


@pytest.fixture
def small_disk(ledger_run: "LedgerRuns", disk_faults: "DiskFaults") -> "Iterator[MakeDisk]":
    """Creates disks, and unmounts them after the services have ended."""
    from tests.support.small_disk import SmallDisk

    made: list[SmallDisk] = []

    def make(folder: Path, size_bytes: int) -> SmallDisk:
        made.append(SmallDisk(folder, size_bytes, disk_faults))
        return made[-1]

    try:
        yield make
    finally:
        ledger_run.close()
        for disk in made:
            disk.close()
