"""Which worker of pytest-xdist runs a test file, and when."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling

HBASE = "HBase"
_USES_HBASE = re.compile(r'^from tests\.support\.servers import .*\bHBase\b|getfixturevalue\("hbase"\)', re.MULTILINE)


class FilesByServer(LoadFileScheduling):
    """
    As `--dist loadfile`, but one worker runs all files that use HBase, and one begins with the last files.

    HBase is three JVMs: to start them takes as much CPU as three services with Spark, and they are never idle. Kafka
    is a quarter of that, and most files use it, so each worker has its own.

    The files that need no servers are the last ones (`tests/conftest.py`). They keep the cores busy while tests of
    servers wait.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return HBASE if uses_hbase(self.config.rootpath / file) else file

    def _assign_work_unit(self, node: Any) -> None:
        nodes = self.nodes
        if len(nodes) > 1 and node is nodes[-1]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@cache
def uses_hbase(file: Path) -> bool:
    """Whether a test file names HBase; the process that distributes the tests has not imported them."""
    return _USES_HBASE.search(file.read_text("utf-8")) is not None
