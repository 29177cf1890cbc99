"""A real HDFS with one NameNode and one DataNode, each in its own process."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from tests.support.local import ServerError, ServerProcess, free_ports, jars

_READY_TIMEOUT_S = 120.0
_PORTS = ("namenode", "namenode_http", "datanode", "datanode_http", "datanode_ipc")
_LOGGING = """log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p %c{2}: %m%n
"""


class Hdfs:
    """HDFS with its data in a folder; a restart keeps data and ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namenode = ServerProcess("namenode", folder)
        self.datanode = ServerProcess("datanode", folder)

    @property
    def processes(self) -> tuple[ServerProcess, ServerProcess]:
        """Both processes, in start order."""
        return self.namenode, self.datanode

    @property
    def url(self) -> str:
        """`hdfs://HOST:PORT`."""
        return f"hdfs://127.0.0.1:{self._ports()['namenode']}"

    @property
    def http_url(self) -> str:
        """URL of the NameNode's pages, among them WebHDFS."""
        return f"http://127.0.0.1:{self._ports()['namenode_http']}"

    def start(self) -> None:
        """
        Start the processes that do not run; returns when the NameNode has left its safe mode and knows the DataNode.

        Raises:
            ServerError: a process ended or took too long, or the NameNode cannot be formatted.
        """
        if not (self.folder / "name" / "current").exists():
            command = self._command("namenode.NameNode", "-format", "-force", "-nonInteractive")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ServerError(f"the NameNode cannot be formatted: {done.stderr[-300:]}")
        for process in self.processes:
            if process.pid is None:
                main = "namenode.NameNode" if process is self.namenode else "datanode.DataNode"
                process.start(self._command(main))
        self.datanode.wait_until(self._is_ready, timeout_s=_READY_TIMEOUT_S)

    def suspend(self) -> None:
        """Freeze the NameNode: connections stay open without responses."""
        assert self.namenode.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a frozen NameNode."""
        self.namenode.signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill both processes with SIGKILL."""
        for process in self.processes:
            process.signal(signal.SIGCONT)
            process.kill()

    def names(self, folder: str) -> list[str]:
        """The names in a folder, without temporary ones; none if there is no folder."""
        return [each["pathSuffix"] for each in self.statuses(folder) if not each["pathSuffix"].startswith(".")]

    def statuses(self, folder: str) -> list[dict[str, Any]]:
        """What WebHDFS reports about each entry of a folder; nothing if there is no folder."""
        try:
            found: list[dict[str, Any]] = json.loads(self._get(folder, "LISTSTATUS"))["FileStatuses"]["FileStatus"]
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    raise
            return []
        return found

    def read(self, path: str) -> bytes:
        """The content of a file."""
        return self._get(path, "OPEN")

    def _get(self, path: str, operation: str) -> bytes:
        url = f"{self.http_url}/webhdfs/v1{quote(path)}?op={operation}&user.name=root"
        with urllib.request.urlopen(url, timeout=10.0) as answer:  # noqa: S310 - of this machine
            content: bytes = answer.read()
        return content

    def _is_ready(self) -> bool:
        query = f"{self.http_url}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        try:
            with urllib.request.urlopen(query, timeout=5.0) as answer:  # noqa: S310 - of this machine
                (state,) = json.loads(answer.read())["beans"]
        except (OSError, ValueError):
            return False
        return bool(state["FSState"] == "Operational" and state["NumLiveDataNodes"] == 1)

    def _command(self, main: str, *arguments: str) -> list[str]:
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"]
        class_path = f"{self._write_settings()}:{jars.class_path('hdfs', Path(__file__).parent)}"
        return [
            jars.java(),
            *memory,
            *jars.SHORT_LIVED,
            "--add-opens=java.base/java.lang=ALL-UNNAMED",  # for WebHDFS on Java 17
            "-cp",
            class_path,
            f"org.apache.hadoop.hdfs.server.{main}",
            *arguments,
        ]

    def _ports(self) -> dict[str, int]:
        file = self.folder / "ports.json"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))))
        return dict(json.loads(file.read_text()))

    def _write_settings(self) -> Path:
        address = {name: f"127.0.0.1:{port}" for name, port in self._ports().items()}
        properties = {
            "fs.defaultFS": f"hdfs://{address['namenode']}",
            "hadoop.tmp.dir": str(self.folder / "tmp"),
            "dfs.namenode.name.dir": (self.folder / "name").as_uri(),
            "dfs.namenode.rpc-address": address["namenode"],
            "dfs.namenode.http-address": address["namenode_http"],
            "dfs.datanode.data.dir": (self.folder / "data").as_uri(),
            "dfs.datanode.address": address["datanode"],
            "dfs.datanode.http.address": address["datanode_http"],
            "dfs.datanode.ipc.address": address["datanode_ipc"],
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.replication": "1",
            # a restarted NameNode waits for its DataNode, and not for 30 s more
            "dfs.namenode.safemode.extension": "0",
            "dfs.heartbeat.interval": "1",
            # it reserves nothing of a disk that may be small
            "dfs.namenode.resource.du.reserved": "1048576",
        }
        folder = self.folder / "conf"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
            for name, value in properties.items()
        ]
        content = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        for file in ("core-site.xml", "hdfs-site.xml"):
            (folder / file).write_text(content)
        (folder / "log4j.properties").write_text(_LOGGING)
        for pages in ("hdfs", "datanode"):  # the jars have no folders of their web pages, and no server starts without
            (folder / "webapps" / pages).mkdir(parents=True, exist_ok=True)
        return folder


class HdfsPath:
    """A path in HDFS with the methods of `pathlib.Path` that `CheckpointReader` uses; over WebHDFS, for reading."""

    def __init__(self, hdfs: Hdfs, path: str) -> None:
        self._hdfs = hdfs
        self.path = path

    def __truediv__(self, name: str) -> "HdfsPath":
        return HdfsPath(self._hdfs, f"{self.path}/{name}")

    def __str__(self) -> str:
        return f"{self._hdfs.url}{self.path}"

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.rpartition("/")[2]

    def exists(self) -> bool:
        """Whether there is a folder that is not empty."""
        return bool(self._hdfs.names(self.path))

    def iterdir(self) -> Iterator["HdfsPath"]:
        """The entries of a folder."""
        return map(self.__truediv__, self._hdfs.names(self.path))

    def read_text(self) -> str:
        """The content of a file."""
        return self._hdfs.read(self.path).decode()
