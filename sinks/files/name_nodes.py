"""
Where a process without Spark's JVM reaches the HDFS of a URL: over WebHDFS, at the HTTP address of its NameNode.

The address follows from Hadoop's configuration in `HADOOP_CONF_DIR`, as in Hadoop: `dfs.namenode.http-address`, or the
addresses of the NameNodes of a nameservice; with `dfs.http.policy: HTTPS_ONLY` their HTTPS addresses. Without a
configuration it is the host of the URL with Hadoop's default port. What fsspec is configured to do, as by the variable
`FSSPEC_WEBHDFS_PORT`, counts more.
"""

import getpass
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ingest.api import ConfigError
from ingest.formats.hadoop_site import read_site

_FILES = ("core-site.xml", "hdfs-site.xml")
_PORTS = {"http": 9870, "https": 9871}
"""Hadoop's default ports of a NameNode."""
_NOT_CONNECTED = {"NewConnectionError", "ConnectTimeoutError", "NameResolutionError"}
"""Errors of requests before a NameNode had the request, which another one may get."""
_STANDBY = b"StandbyException"


class NameNodes(NamedTuple):
    """
    The NameNodes of an HDFS; one of them is active.

    Attributes:
        addresses: `HOST:PORT` of their WebHDFS.
        is_https: whether it has TLS.
        user: whose files are written; None if Kerberos says it.
    """

    addresses: tuple[str, ...]
    is_https: bool
    user: str | None

    def options(self) -> dict[str, object]:
        """Of fsspec's WebHDFS, for the first NameNode."""
        host, _, port = self.addresses[0].rpartition(":")
        login = {"kerberos": True} if self.user is None else {"user": self.user}
        return {"host": host, "port": port, "use_https": self.is_https, **login}


def name_nodes(url: str, environment: Mapping[str, str] = os.environ) -> NameNodes:
    """
    The NameNodes of a URL.

    Args:
        url: `hdfs://[USER@]NAMENODE[:PORT]/PATH`, as for state, or with the name of a nameservice.
        environment: has `HADOOP_CONF_DIR`, if there is a configuration, and `HADOOP_USER_NAME`, if the user of the URL
            and of the process do not count.

    Raises:
        ConfigError: the URL has no host, or the configuration is damaged.
        NotFoundError: a file of the configuration cannot be read.
    """
    user, _, server = urlsplit(url).netloc.rpartition("@")
    host = server if server.endswith("]") else server.rpartition(":")[0] or server  # nameservices are case-sensitive
    if not host:
        raise ConfigError(f'"{url}" names no NameNode', hint="write hdfs://NAMENODE:8020/FOLDER, or a nameservice")
    site = _site(environment.get("HADOOP_CONF_DIR", ""))
    scheme = "https" if site.get("dfs.http.policy") == "HTTPS_ONLY" else "http"
    name = f"dfs.namenode.{scheme}-address"
    nodes = [each.strip() for each in site.get(f"dfs.ha.namenodes.{host}", "").split(",") if each.strip()]
    if nodes:
        rpc = "dfs.namenode.rpc-address"
        places = [(site.get(f"{name}.{host}.{node}"), site.get(f"{rpc}.{host}.{node}", "")) for node in nodes]
        addresses = [http or _at_port(rpc_address, "", scheme) for http, rpc_address in places]
    else:
        # the host of the URL: the configuration may be of another cluster, or listen on 0.0.0.0
        addresses = [_at_port(host, site.get(name, ""), scheme)]
    is_secure = site.get("hadoop.security.authentication") == "kerberos"
    owner = None if is_secure else user or environment.get("HADOOP_USER_NAME") or getpass.getuser()
    return NameNodes(tuple(addresses), scheme == "https", owner)


def with_failover(request: Callable[..., Any], addresses: tuple[str, ...]) -> Callable[..., Any]:
    """
    A `request` of requests that goes to the active one of several NameNodes.

    A request is repeated at another one only if it has not been executed: it is on standby, or was not connected.
    """
    active = 0

    def sent(method: str, url: str, **options: Any) -> Any:
        nonlocal active
        parts = urlsplit(url)
        if parts.netloc not in addresses:
            return request(method=method, url=url, **options)  # of a DataNode
        order = [(active + turn) % len(addresses) for turn in range(len(addresses))]
        for node in order:
            try:
                answer = request(method=method, url=parts._replace(netloc=addresses[node]).geturl(), **options)
            except OSError as error:
                reason = getattr(error.args[0] if error.args else None, "reason", None)
                if node == order[-1] or type(reason).__name__ not in _NOT_CONNECTED:
                    raise
            else:
                if answer.status_code != 403 or _STANDBY not in answer.content:  # noqa: PLR2004 - HTTP's
                    active = node
                    return answer
        return answer

    return sent


def _site(folder: str) -> dict[str, str]:
    paths = [Path(folder) / name for name in _FILES] if folder else []
    return {name: each.value for path in paths if path.exists() for name, each in read_site(str(path)).items()}


def _at_port(server: str, like: str, scheme: str) -> str:
    """The host of a server, with the port of another address, or Hadoop's default."""
    host = server.rpartition(":")[0] or server
    return f"{host}:{like.rpartition(':')[2] or _PORTS[scheme]}"
