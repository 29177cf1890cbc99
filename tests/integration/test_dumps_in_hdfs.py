"""Dumps in a real HDFS, over WebHDFS."""

import pytest

from ingest.api import StoreUnavailableError
from sinks.dumps.reader import StashReader
from sinks.dumps.root import Root, open_root
from tests.support.dumps import DUMP, make_dump, rows_of
from tests.support.hdfs import Hdfs
from tests.support.names import unique
from tests.support.root_contract import RootContract

pytestmark = pytest.mark.slow


@pytest.fixture
def url(hdfs: Hdfs) -> str:
    return f"webhdfs://root@{hdfs.http_url.removeprefix('http://')}/{unique('dumps')}"


class TestHdfsRoot(RootContract):
    """The contract of a root."""

    @pytest.fixture
    def root(self, url: str) -> Root:
        return open_root(url)


def test_hdfs_that_is_stopped(hdfs: Hdfs, url: str) -> None:
    root = open_root(url)
    make_dump(root, {"t": [rows_of(b"a")]})
    assert hdfs.names(root.url.rpartition("/")[2].join("//").rstrip("/")) == [DUMP, "_LATEST"]
    hdfs.kill()
    with pytest.raises(StoreUnavailableError) as away:
        StashReader(root).latest()
    assert away.value.code == "state_unavailable"
    hdfs.start()
    assert StashReader(root).latest().name == DUMP
