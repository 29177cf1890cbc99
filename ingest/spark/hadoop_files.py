"""
State in HDFS, through Hadoop's FileSystem in Spark's JVM.

Spark brings Hadoop's client, so no jar is added. Errors of Hadoop become OSErrors, by the names of their classes.
"""

import errno
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from ingest.durable import unusable
from ingest.durable.remote import RemoteFiles, RemotePath

T = TypeVar("T")

SETTINGS = {
    # readable only by the owner, as local state
    "fs.permissions.umask-mode": "077",
    # a call to a NameNode that is away fails after seconds, and the caller retries; Hadoop would wait for minutes
    "ipc.client.connect.max.retries": "2",
    "ipc.client.connect.max.retries.on.timeouts": "2",
    "ipc.client.connect.timeout": "5000",
    "ipc.client.rpc-timeout.ms": "10000",
    "dfs.client.socket-timeout": "10000",
    # the same with several NameNodes, where Hadoop repeats calls by settings of its own
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.max.millis": "2000",
    "dfs.client.retry.max.attempts": "2",
    # with as many DataNodes as replicas, an append does not fail while one is away
    "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
}
"""Hadoop settings of the connection for state; `spark.hadoop.*` settings of the configuration override them."""
OBSERVER_SYNC = "dfs.client.failover.observer.auto-msync-period"
"""With the name of a nameservice: how often its observer NameNodes catch up before a read; 0 is always."""

_ERRNO = (
    ("FileNotFoundException", errno.ENOENT),
    ("PathIsNotEmptyDirectoryException", errno.ENOTEMPTY),
    ("FileAlreadyExistsException", errno.EEXIST),
    ("ParentNotDirectoryException", errno.ENOTDIR),
    ("AccessControlException", errno.EACCES),
    ("QuotaExceededException", errno.EDQUOT),
)
_opening = threading.Lock()
_opened: dict[str, "HadoopFiles"] = {}


def settings_for(url: str) -> dict[str, str]:
    """`SETTINGS`, and that of a nameservice: an observer NameNode must not show another driver's lease too late."""
    host = urlsplit(url).netloc.partition(":")[0]  # not `hostname`: nameservices are case-sensitive
    return {**SETTINGS, f"{OBSERVER_SYNC}.{host}": "0"}


def hadoop_path(url: str, settings: Mapping[str, str]) -> RemotePath:
    """
    A path in HDFS; Spark's JVM must have started.

    Args:
        url: `hdfs://NAMENODE:PORT/PATH`, or with the name of a nameservice that Hadoop's configuration has.
        settings: Hadoop's, by their names.

    Raises:
        StoreUnavailableError: the host is unknown.
    """
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    with _opening:
        files = _opened.get(root)
        if files is None or not files.is_usable:
            try:
                files = _opened[root] = HadoopFiles(root, settings)
            except OSError as error:
                raise unusable(f'"{url}" cannot be used', error.errno or 0, error.strerror or str(error)) from error
    return RemotePath(files, PurePosixPath(parts.path))


class HadoopFiles(RemoteFiles):
    """
    An HDFS, with a connection of its own: Spark may close the one that it shares.

    Args:
        url: `hdfs://NAMENODE:PORT`.
        settings: Hadoop's, besides those in the class path of the JVM.
    """

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self.url = url
        self._process = os.urandom(6).hex()  # in the names of temporary files
        self._gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way to its JVM before a session
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        hadoop = jvm.org.apache.hadoop.fs
        self._path = hadoop.Path
        # with spark.hadoop.* settings of spark-submit
        configuration = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(
            jvm.org.apache.spark.SparkConf()
        )
        for name, value in {**settings_for(url), **settings}.items():
            configuration.set(name, value)
        self._fs = _translated(url, lambda: hadoop.FileSystem.newInstance(jvm.java.net.URI(url), configuration))
        assert self._gateway is not None  # noqa: S101 - for mypy: the JVM has started
        rename = getattr(hadoop, "Options$Rename")
        self._overwrite = self._gateway.new_array(rename, 1)
        self._overwrite[0] = rename.OVERWRITE

    @property
    def is_usable(self) -> bool:
        """Whether the JVM of this connection is still that of this process."""
        return self._gateway is SparkContext._gateway  # noqa: SLF001 - as above

    def read(self, path: str) -> bytes:
        """The content of a file."""

        def read() -> bytes:
            stream = self._fs.open(self._path(path))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

        return _translated(path, read)

    def write(self, path: str, content: bytes) -> None:
        """Write a temporary file beside the path, and rename it over the path, which the NameNode does in one act."""
        temporary = self._temporary(path, content)
        _translated(path, lambda: self._fs.rename(temporary, self._path(path), self._overwrite))

    def create(self, path: str, content: bytes) -> None:
        """As `write`, but the NameNode refuses to rename to an existing name."""
        temporary = self._temporary(path, content)
        if not _translated(path, lambda: self._fs.rename(temporary, self._path(path))):
            _translated(path, lambda: self._fs.delete(temporary, False))
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def append(self, path: str, content: bytes) -> None:
        """Append, sync to the DataNodes' disks and close."""
        target = self._path(path)

        def append() -> None:
            if not self._fs.exists(target):
                self._fs.create(target, False).close()
            try:
                stream = self._fs.append(target)
            except Py4JJavaError as error:
                if "AlreadyBeingCreatedException" not in str(error) and "RecoveryInProgress" not in str(error):
                    raise
                # a killed process had it open: HDFS takes the file from it, which needs seconds
                self._fs.recoverLease(target)
                raise
            self._written(stream, content)

        _translated(path, append)

    def kind(self, path: str) -> Literal["file", "folder"] | None:
        """What is at a path; None if there is nothing."""
        try:
            status = _translated(path, lambda: self._fs.getFileStatus(self._path(path)))
        except FileNotFoundError:
            return None
        return "folder" if status.isDirectory() else "file"

    def names(self, folder: str) -> list[str]:
        """The names in a folder; temporary files are left out."""
        found = _translated(folder, lambda: self._fs.listStatus(self._path(folder)))
        return [name for name in (each.getPath().getName() for each in found) if not name.startswith(".")]

    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents."""
        _translated(path, lambda: self._fs.mkdirs(self._path(path)))

    def remove(self, path: str) -> None:
        """Remove a file."""
        if not _translated(path, lambda: self._fs.delete(self._path(path), False)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def _temporary(self, path: str, content: bytes) -> Any:
        target = PurePosixPath(path)
        # one for each thread: a call that fails leaves at most one file
        name = f".{target.name}.{self._process}-{threading.get_native_id()}.tmp"
        temporary = self._path(str(target.with_name(name)))
        _translated(path, lambda: self._written(self._fs.create(temporary, True), content))
        return temporary

    @staticmethod
    def _written(stream: Any, content: bytes) -> None:
        try:
            stream.write(content)
            stream.hsync()
        finally:
            stream.close()


def _translated(path: str, call: Callable[[], T]) -> T:
    """The result of a call; its errors as OSErrors."""
    try:
        return call()
    except Py4JJavaError as error:
        exception = error.java_exception
        name, message = str(exception.getClass().getName()), str(exception.getMessage() or "")
        reason = (message.splitlines() or [name])[0][:300]
        for part, number in _ERRNO:
            if name.endswith(part):
                raise OSError(number, reason, path) from None
        # a NameNode that is away, starts, or is in its safe mode; DataNodes that are away
        raise OSError(errno.EHOSTUNREACH, f"{name.rpartition('.')[2]}: {reason}", path) from None
    except (Py4JError, ConnectionError) as error:
        raise OSError(errno.EHOSTUNREACH, f"Spark's Java process does not answer: {error}", path) from None
