"""Variants of HBase: as a cluster of processes that can be killed separately, and with access control."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from tests.support.local import HBaseServer, ServerProcess, thrift_is_ready
from tests.support.servers import HBase

_MAINS = {
    "zookeeper": "org.apache.hadoop.hbase.zookeeper.HQuorumPeer",
    "hbase": "org.apache.hadoop.hbase.master.HMaster",
}
_REGION_SERVER = "org.apache.hadoop.hbase.regionserver.HRegionServer"
_READY_TIMEOUT_S = 180.0


class HBaseCluster(HBaseServer):
    """
    ZooKeeper, a master (`hbase`), region servers and a Thrift server, each in its own process.

    All use the local file system in place of HDFS.

    Args:
        region_servers: their number.
        thrift2: also start a Thrift2 server.
        heap: of ZooKeeper, the master and each region server.
        properties: of HBase and its Thrift servers.
    """

    def __init__(
        self,
        folder: Path,
        *,
        region_servers: int = 2,
        thrift2: bool = False,
        heap: str = "384m",
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        properties = {
            "hbase.cluster.distributed": "true",
            "hbase.zookeeper.quorum": "localhost",
            "hbase.regionserver.port": "0",
            # ms; by default compacted files stay for two minutes, during which their region cannot be split
            "hbase.hfile.compaction.discharger.interval": "1000",
            **properties,
        }
        super().__init__(folder, heap=heap, thrift_heap="256m", properties=properties)
        self.zookeeper = ServerProcess("zookeeper", folder)
        names = [f"rs{number}" for number in range(1, region_servers + 1)]
        self.region_servers = {name: ServerProcess(name, folder) for name in names}
        self._thrift_servers = (self.thrift, self.thrift2) if thrift2 else (self.thrift,)

    @property
    def processes(self) -> tuple[ServerProcess, ...]:
        """All processes, in start order."""
        return self.zookeeper, self.hbase, *self.region_servers.values(), *self._thrift_servers

    @property
    def bootstrap_servers(self) -> str:
        """The master; the region servers have any ports."""
        return f"localhost:{self.master_port}"

    def wait(self) -> None:
        """Wait until HBase responds through the Thrift server."""
        self.thrift.wait_until(lambda: self._answers(self.port, "getColumnDescriptors"), timeout_s=_READY_TIMEOUT_S)
        if self.thrift2 in self._thrift_servers:
            self.thrift2.wait_until(
                lambda: self._answers(self.thrift2_port, "getThriftServerType"), timeout_s=_READY_TIMEOUT_S
            )

    def serving(self, address: str) -> ServerProcess:
        """The process of the region server with an address ("host,port,start"), found by its port."""
        port = int(address.split(",")[1])
        return next(each for each in self.region_servers.values() if port in _listening(each))

    def _main(self, process: ServerProcess) -> list[str]:
        main = _REGION_SERVER if process.name in self.region_servers else _MAINS.get(process.name)
        return super()._main(process) if main is None else [main, "start"]


class GuardedHBase(HBaseServer):
    """HBase with access control: the user of the tests has all rights, the Thrift server those granted to its user."""

    user = "thrift"

    def __init__(self, folder: Path) -> None:
        controller = "org.apache.hadoop.hbase.security.access.AccessController"
        properties = {
            "hbase.security.authorization": "true",
            "hbase.coprocessor.master.classes": controller,
            "hbase.coprocessor.region.classes": controller,
            "hbase.coprocessor.regionserver.classes": controller,
        }
        super().__init__(folder, heap="512m", thrift_heap="256m", properties=properties)

    def wait(self) -> None:
        """Wait until the Thrift server responds; checking HBase would need rights."""
        self.thrift.wait_until(
            lambda: thrift_is_ready(self.port, "getThriftServerType", b""), timeout_s=_READY_TIMEOUT_S
        )

    def _main(self, process: ServerProcess) -> list[str]:
        main = super()._main(process)
        return main if process is self.hbase else [f"-DHADOOP_USER_NAME={self.user}", *main]


def _listening(process: ServerProcess) -> set[int]:
    if process.pid is None:
        return set()
    connections = psutil.Process(process.pid).net_connections(kind="tcp")
    return {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}


@contextmanager
def running_cluster(folder: Path, **options: Any) -> Iterator[HBase]:
    """A cluster in a folder, started; options as those of `HBaseCluster`."""
    hbase = HBase(folder, HBaseCluster(folder, **options))
    try:
        hbase.start()
        yield hbase
    finally:
        hbase.close()
