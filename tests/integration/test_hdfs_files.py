"""State in a real HDFS keeps the promises of state on a disk."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ingest.api import StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.doctor.pipelines.state import state
from ingest.durable import RemotePath, append_durably, file_errors, make_folder, write_durably
from ingest.spark.hadoop_files import HadoopFiles, hadoop_path
from ingest.spark.session import start_java
from tests.support.hdfs import Hdfs
from tests.support.names import unique
from tests.support.state_contract import StateContract
from tests.support.waiting import reached

pytestmark = pytest.mark.slow
SETTINGS = {"dfs.replication": "1"}
FILE = """\
version: 1
state_dir: {state}
spark: {{conf: {{spark.hadoop.dfs.replication: "1"}}}}
stores: {{logs: memory}}
pipelines:
  lines:
    source: {{files: {{path: ./in}}}}
    sinks: [{{attr2hbase: {{table: t}}}}]
"""


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


def test_file_that_a_killed_process_had_open_is_recovered(hdfs: Hdfs, root: RemotePath):
    make_folder(root)
    path = root / "log"
    append_durably(path, b"one\n")
    killed: Any = HadoopFiles(hdfs.url, SETTINGS)
    stream = killed._fs.append(killed._path(str(path.path)))  # never closed
    stream.write(b"two\n")
    stream.hsync()
    assert path.read_bytes() == b"one\ntwo\n"

    def appended() -> bool:
        try:
            append_durably(path, b"three\n")
        except OSError as error:
            assert error.errno == errno.EHOSTUNREACH  # noqa: PT017 - retried by the caller
            return False
        return True

    assert reached(appended, 60.0, 0.5)
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_doctor_checks_that_the_folder_can_be_written(tmp_path: Path, root: RemotePath):
    file = tmp_path / "pipeline.yaml"
    file.write_text(FILE.format(state=root))
    configuration = load(file, env={}, lookup=Catalog())
    assert state(configuration).text == "answers; the folder does not exist yet"
    make_folder(root)
    assert state(configuration).text == "can be written"
    assert list(root.iterdir()) == []


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
            with pytest.raises(StoreUnavailableError) as away, file_errors(root):
                write_durably(root / "x", b"")
            assert (away.value.code, time.monotonic() - started < 60) == ("state_unavailable", True)
        finally:
            resume()
        write_durably(root / "x", os.urandom(8))
