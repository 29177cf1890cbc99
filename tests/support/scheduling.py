"""Which worker of pytest-xdist runs a test file."""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

HBASE = "HBase"
_USES_HBASE = re.compile(r'^from tests\.support\.servers import .*\bHBase\b|getfixturevalue\("hbase"\)', re.MULTILINE)


class FilesByServer(LoadFileScheduling):
    """
    As `--dist loadfile`, but one worker runs all files that use HBase.

    HBase is three JVMs: to start them takes as much CPU as three services with Spark, and they are never idle. Kafka
    is a quarter of that, and most files use it, so each worker has its own.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return HBASE if uses_hbase(self.config.rootpath / file) else file


@cache
def uses_hbase(file: Path) -> bool:
    """Whether a test file names HBase; the process that distributes the tests has not imported them."""
    return _USES_HBASE.search(file.read_text("utf-8")) is not None
