"""Which worker of pytest-xdist runs a test file."""

import re
from functools import cache, cached_property
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

HBASE = "HBase"
_USES_HBASE = re.compile(r'^from tests\.support\.servers import .*\bHBase\b|getfixturevalue\("hbase"\)', re.MULTILINE)


class FilesByServer(LoadFileScheduling):
    """
    As `--dist loadfile`, but one worker runs all files that use HBase.

    HBase is three JVMs: to start them takes as much CPU as three services with Spark, and they are never idle. Kafka
    is a quarter of that, and most files use it, so each worker has its own.

    For each test xdist would look for its name in the list of all, and count all that its worker has had so far: that
    is half a millisecond of CPU with 21,000 tests.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._numbers[nodeid] for nodeid, is_complete in unit.items() if not is_complete])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        pending: int = super()._pending_of(workload)
        return pending

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Name of a test -> its place in the list of all, which is the same in each worker."""
        assert self.collection is not None
        return {nodeid: number for number, nodeid in enumerate(self.collection)}

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return HBASE if uses_hbase(self.config.rootpath / file) else file


@cache
def uses_hbase(file: Path) -> bool:
    """Whether a test file names HBase; the process that distributes the tests has not imported them."""
    return _USES_HBASE.search(file.read_text("utf-8")) is not None
