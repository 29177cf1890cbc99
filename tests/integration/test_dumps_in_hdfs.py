"""Dumps and archives in a real HDFS, over WebHDFS."""

from pathlib import Path

import pytest

from ingest.api import StoreUnavailableError
from sinks.archive.cleanup import clean_up, plan_cleanup
from sinks.archive.copying import copy_parts
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from sinks.archive.sink import ArchiveSettings
from sinks.dumps.reader import DumpReader
from sinks.files.opening import open_root
from sinks.files.root import Root
from tests.support.archives import DAY_MS, START_S, Writer, event, visible
from tests.support.commands import Folder
from tests.support.dumps import DUMP, make_dump, rows_of
from tests.support.hdfs import Hdfs
from tests.support.names import unique
from tests.support.root_contract import RootContract

pytestmark = pytest.mark.slow


@pytest.fixture
def url(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL that state has, too; Hadoop's configuration has the address of WebHDFS."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.folder / "conf"))
    return f"{hdfs.url.replace('://', '://root@')}/{unique('dumps')}"


class TestHdfsRoot(RootContract):
    """The contract of a root."""

    @pytest.fixture
    def root(self, url: str) -> Root:
        return open_root(url)


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_archive_with_a_version_written_beside_the_pipeline(url: str, kind: str) -> None:
    root = open_root(url)
    writer = Writer(root, settings=ArchiveSettings.model_validate({"root": "r", "table": "t", "format": kind}))
    writer.run(DAY_MS, [event(1), event(2)], [event(3)])
    partition = Partition(root, "dt=20151210")
    with Rewrite(partition, "join") as rerun:
        parts = partition.parts(START_S).items()
        *_, copied = copy_parts(partition, START_S, rerun.version_id, parts, lambda origin: origin.offset != 2)
        assert copied.rows == 2
        writer.run(DAY_MS + 1, [event(4)])
        rerun.finish()
    assert visible(root) == {"20151210": [1, 3, 4]}
    plan = plan_cleanup([partition], 1 << 60, 0)
    assert [entry.id for entry in clean_up(plan, 1 << 60)] == [START_S]
    assert partition.version_ids() == [rerun.version_id]


def test_hdfs_that_is_stopped(hdfs: Hdfs, url: str) -> None:
    root = open_root(url)
    make_dump(root, {"t": [rows_of(b"a")]})
    assert hdfs.names(root.url.rpartition("/")[2].join("//").rstrip("/")) == [DUMP, "_LATEST", "_LOCK"]
    hdfs.close()
    with pytest.raises(StoreUnavailableError) as away:
        DumpReader(root).latest()
    assert away.value.code == "state_unavailable"
    hdfs.start()
    assert DumpReader(root).latest().name == DUMP


def test_commands_reach_the_url_of_state_without_java(
    hdfs: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is the one that Hadoop has, and the address of WebHDFS is that of Hadoop's configuration."""
    ingest = Folder(tmp_path, HADOOP_CONF_DIR=str(hdfs.folder / "conf"), HADOOP_USER_NAME="root")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.folder / "conf"))
    root = f"{hdfs.url}/{unique('dumps')}"
    make_dump(open_root(root), {"t": [rows_of(b"a", b"b")]})
    assert DUMP in ingest("dump", "ls", root).stdout
    assert len(ingest("dump", "cat", root, "t").stdout.splitlines()) == 2
    ingest("dump", "verify", root)
    away = ingest("dump", "ls", root.replace("127.0.0.1", "127.0.0.2"), code=StoreUnavailableError.exit_code)
    assert "HADOOP_CONF_DIR" in away.stderr
