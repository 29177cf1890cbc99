"""A folder of a table, in files and in memory, and a partition of it."""

from pathlib import Path

import pytest

from sinks.archive.partition import Partition
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root
from tests.support.memory_root import MemoryRoot


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return LocalRoot(tmp_path / "customer") if request.param == "local" else MemoryRoot()


@pytest.fixture
def partition(root: Root) -> Partition:
    return Partition(root, "dt=20151210")
