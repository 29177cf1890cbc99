"""HBase in one process (master, region server, ZooKeeper), and its two Thrift servers."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from local_servers import jars, versions
from local_servers.errors import ServerError
from local_servers.probes import hbase_is_ready, thrift_is_ready
from local_servers.processes import ServerProcess, free_ports

_READY_TIMEOUT_S = 180.0
"""Without a new line in HBase's log: after a crash it recovers for minutes, and a stop in between begins that anew."""
_MOST_S = 1_800.0
_PORTS = ("thrift", "thrift2", "zookeeper", "master", "region_server")
_OPENED = [
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.reflect",
            "java.nio",
            "java.util",
            "jdk.internal.misc",
            "sun.nio.ch",
        )
    ),
    *(
        f"--add-exports=java.base/{package}=ALL-UNNAMED"
        for package in ("jdk.internal.misc", "sun.nio.ch", "sun.security.pkcs")
    ),
]
_LOGGING = """log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p %c{2}: %m%n
"""


class HBaseServer:
    """
    HBase with its data in a folder; a restart keeps data and ports.

    The three processes are `hbase`, `thrift` and `thrift2`. A Thrift server waits for HBase, and reconnects after a
    restart of HBase.

    Args:
        has_thrift: also start the Thrift servers.
        java_options: additional options of its JVMs.
        version: of HBase; None for the chosen one.

    Attributes:
        version: of HBase, to start next.
        properties: of HBase and its Thrift servers; override the defaults, from the next start on.
    """

    name = "hbase"

    def __init__(
        self,
        folder: Path,
        *,
        heap: str = "1g",
        thrift_heap: str = "512m",
        properties: dict[str, str] | None = None,
        java_options: Sequence[str] = (),
        version: str | None = None,
        has_thrift: bool = True,
    ) -> None:
        self.folder = folder
        self._has_thrift = has_thrift
        self.hbase = ServerProcess("hbase", folder)
        self.thrift = ServerProcess("thrift", folder)
        self.thrift2 = ServerProcess("thrift2", folder)
        self._heap = heap
        self._java_options = tuple(java_options)
        self._thrift_heap = thrift_heap
        self.properties = dict(properties or {})
        self.version = versions.chosen(self.name, version)

    @property
    def processes(self) -> tuple[ServerProcess, ...]:
        """All processes, in start order."""
        return (self.hbase, self.thrift, self.thrift2) if self._has_thrift else (self.hbase,)

    @property
    def port(self) -> int:
        """Port of the Thrift server (the old interface, which happybase speaks)."""
        return self._ports()["thrift"]

    @property
    def thrift2_port(self) -> int:
        """Port of the Thrift2 server."""
        return self._ports()["thrift2"]

    @property
    def master_port(self) -> int:
        """Port of the master, which HBase's own clients and `bootstrap_servers` need."""
        return self._ports()["master"]

    @property
    def region_server_port(self) -> int:
        """Port of the region server."""
        return self._ports()["region_server"]

    @property
    def bootstrap_servers(self) -> str:
        """The master and the region server, for HBase's native RPC."""
        return f"localhost:{self.master_port},localhost:{self.region_server_port}"

    @property
    def endpoints(self) -> dict[str, str]:
        """Addresses for clients."""
        return {
            "thrift": f"127.0.0.1:{self.port}",
            "thrift2": f"127.0.0.1:{self.thrift2_port}",
            "bootstrap_servers": self.bootstrap_servers,
            "zookeeper": f"127.0.0.1:{self._ports()['zookeeper']}",
        }

    @property
    def is_running(self) -> bool:
        """Whether all its processes run."""
        return all(process.pid is not None for process in self.processes)

    def start(self) -> None:
        """
        Start the processes that do not run; call `wait` next.

        Raises:
            ServerError: Java, Maven or the jars are missing, or the data are of a newer version.
        """
        is_running = any(process.pid is not None for process in self.processes)
        versions.remember(self.folder, self.version, is_running=is_running)
        for process in self.processes:
            self.start_one(process)

    def start_one(self, process: ServerProcess) -> None:
        """Start one of the processes, if it does not run."""
        if process.pid is not None:
            return
        heap = self._heap if process is self.hbase else self._thrift_heap
        process.start(self.command(*self._main(process), heap=heap))

    def command(self, *main: str, heap: str) -> list[str]:
        """The command that runs a Java class of HBase against this server."""
        # the serial collector needs no threads of its own, for machines with few cores
        java = [
            jars.java(),
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            *_OPENED,
            *self._java_options,
        ]
        class_path = f"{self._write_settings()}:{jars.class_path('hbase', version=self.version)}"
        return [*java, f"-Dhbase.log.dir={self.folder}", "-cp", class_path, *main]

    def wait(self) -> None:
        """
        Wait until both Thrift servers respond, and with them HBase; without them, until the master responds.

        Raises:
            ServerError: a process ended or took too long.
        """
        if not self._has_thrift:
            self._wait_for(self.hbase, lambda: hbase_is_ready(self.master_port))
            return
        try:
            self._wait_for(self.thrift, lambda: self._answers(self.port, "getColumnDescriptors"))
            self._wait_for(self.thrift2, lambda: self._answers(self.thrift2_port, "getThriftServerType"))
        except ServerError as error:  # mostly for a reason that only HBase's log has
            raise ServerError(f"{error}; HBase: {self.hbase.last_error()}; see {self.hbase.log}") from None

    def stop(self) -> bool:
        """Stop all processes, the Thrift servers first; returns False if none was running."""
        stopped = [process.stop() for process in reversed(self.processes)]
        return any(stopped)

    def _wait_for(self, process: ServerProcess, ready: Callable[[], bool]) -> None:
        process.wait_until(ready, timeout_s=_READY_TIMEOUT_S, progress=self.hbase.log_size, most_s=_MOST_S)

    def _answers(self, port: int, call: str) -> bool:
        if self.hbase.pid is None:
            raise ServerError("hbase ended while it was starting")
        # the master returns a table's families only after its start is complete
        return thrift_is_ready(port, call, b"hbase:meta")

    def _main(self, process: ServerProcess) -> list[str]:
        if process is self.hbase:
            return ["org.apache.hadoop.hbase.master.HMaster", "start"]
        package = "thrift" if process is self.thrift else "thrift2"
        port = str(self.port if process is self.thrift else self.thrift2_port)
        return [f"org.apache.hadoop.hbase.{package}.ThriftServer", "-p", port, "-b", "127.0.0.1", "start"]

    def _ports(self) -> dict[str, int]:
        file = self.folder / "ports.json"
        ports: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
        missing = [name for name in _PORTS if name not in ports]
        if missing:
            self.folder.mkdir(parents=True, exist_ok=True)
            ports |= zip(missing, free_ports(len(missing)), strict=True)
            file.write_text(json.dumps(ports))
        return ports

    def _write_settings(self) -> Path:
        properties = {
            "hbase.rootdir": (self.folder / "data").as_uri(),
            "hbase.tmp.dir": str(self.folder / "tmp"),
            "hbase.zookeeper.quorum": "127.0.0.1",
            "hbase.zookeeper.property.dataDir": str(self.folder / "zookeeper"),
            "hbase.zookeeper.property.clientPort": str(self._ports()["zookeeper"]),
            "hbase.zookeeper.property.clientPortAddress": "127.0.0.1",
            "hbase.cluster.distributed": "false",
            # instead of 16000 and 16020, so that several can run on one machine
            "hbase.master.port": str(self.master_port),
            "hbase.regionserver.port": str(self.region_server_port),
            "hbase.unsafe.stream.capability.enforce": "false",
            "hbase.master.hostname": "localhost",
            "hbase.regionserver.hostname": "localhost",
            "hbase.wal.provider": "filesystem",
            "hbase.master.info.port": "-1",
            "hbase.regionserver.info.port": "-1",
            "hbase.thrift.info.port": "-1",
            "hbase.master.wait.on.regionservers.interval": "100",
            "hbase.master.wait.on.regionservers.timeout": "500",
            "hbase.regionserver.handler.count": "10",
            # by default each family of each region with a row takes 2 MiB of the heap, which memstores do not count
            "hbase.hregion.memstore.mslab.enabled": "false",
            "hfile.block.cache.size": "0.2",
            # ms that the master waits for more work before it calls a region server; by default 150 each, so that to
            # create a table takes 0.7 s instead of 0.36 s
            "hbase.assignment.dispatch.wait.msec": "5",
            "hbase.procedure.remote.dispatcher.delay.msec": "5",
            # a Thrift server reports an error after 4 s instead of two minutes
            "hbase.client.retries.number": "6",
            # ms until a killed process is considered dead
            "zookeeper.session.timeout": "6000",
            # ZooKeeper, in the same process, stops first: by default HBase would retry it for 20 s at a stop
            "zookeeper.recovery.retry": "1",
            "zookeeper.recovery.retry.intervalmill": "200",
            **self.properties,
        }
        folder = self.folder / "conf"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
            for name, value in properties.items()
        ]
        _replace(folder / "hbase-site.xml", "\n".join(["<configuration>", *lines, "</configuration>", ""]))
        _replace(folder / "log4j.properties", _LOGGING)
        return folder


def _replace(path: Path, text: str) -> None:
    # the start of each process writes the settings, while an earlier one may be reading them
    whole = path.with_name(f"{path.name}.new")
    whole.write_text(text)
    whole.replace(path)
