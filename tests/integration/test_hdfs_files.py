"""State in a real HDFS keeps the promises of state on a disk."""

import os
import time

import pytest

from ingest.api import StoreUnavailableError
from ingest.durable import RemotePath, append_durably, make_folder, on_disk, write_durably
from ingest.spark.hadoop_files import hadoop_path
from ingest.spark.session import start_java
from tests.support.hdfs import Hdfs
from tests.support.names import unique
from tests.support.state_contract import StateContract

pytestmark = pytest.mark.slow
SETTINGS = {"dfs.replication": "1"}


@pytest.fixture
def root(hdfs: Hdfs) -> RemotePath:
    """A folder that does not exist."""
    start_java(
        "test",
        master="local[1]",
        driver_memory_bytes=None,
        conf={},
        secret_names=(),
        jars=[],
        java_properties={},
    )
    return hadoop_path(f"{hdfs.url}/{unique('contract')}/state", SETTINGS)


class TestHdfsState(StateContract):
    @pytest.fixture
    def root(self, root: RemotePath) -> RemotePath:
        return root


def test_files_are_private(hdfs: Hdfs, root: RemotePath):
    make_folder(root)
    write_durably(root / "x", b"")
    append_durably(root / "y", b"")
    permissions = {each["pathSuffix"]: each["permission"] for each in hdfs.statuses(str(root.path))}
    assert permissions == {"x": "600", "y": "600"}
    assert hdfs.statuses(str(root.parent.path))[0]["permission"] == "700"


def test_unknown_host_is_reported_when_the_state_is_opened(root: RemotePath):
    del root  # its JVM
    with pytest.raises(StoreUnavailableError, match=r'"hdfs://no-such-host\.invalid:1/state" cannot') as refused:
        hadoop_path("hdfs://no-such-host.invalid:1/state", SETTINGS)
    assert refused.value.code == "state_unavailable"


def test_namenode_that_is_away_is_reported_within_seconds(hdfs: Hdfs, root: RemotePath):
    make_folder(root)
    for stop, resume in ((hdfs.namenode.kill, hdfs.start), (hdfs.suspend, hdfs.resume)):
        stop()
        try:
            started = time.monotonic()
            with pytest.raises(StoreUnavailableError) as away, on_disk(root):
                write_durably(root / "x", b"")
            assert (away.value.code, time.monotonic() - started < 60) == ("state_unavailable", True)
        finally:
            resume()
        write_durably(root / "x", os.urandom(8))
