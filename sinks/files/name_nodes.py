"""
Where a process without Spark's JVM reaches the HDFS of a URL: over WebHDFS, at the HTTP address of its NameNode.

The address follows from Hadoop's configuration in `HADOOP_CONF_DIR`, as in Hadoop: `dfs.namenode.http-address`, or the
addresses of the NameNodes of a nameservice; with `dfs.http.policy: HTTPS_ONLY` their HTTPS addresses. Without a
configuration it is the host of the URL with Hadoop's default port. What fsspec is configured to do, as by the variable
`FSSPEC_WEBHDFS_PORT`, counts more.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ingest.api import ConfigError
from ingest.formats.hadoop_site import expanded, read_site
from ingest.hadoop_user import hadoop_user

_FILES = ("core-site.xml", "hdfs-site.xml")
_HINT = "HADOOP_CONF_DIR names a folder with core-site.xml and hdfs-site.xml; webhdfs://HOST:PORT/FOLDER needs neither"
_RPC = "dfs.namenode.rpc-address"
_ANY_HOST = {"0.0.0.0", "[::]"}  # noqa: S104 - of a configuration
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
        ConfigError: the URL has no host, or a query; the configuration is damaged, or a NameNode has no address in it.
        NotFoundError: a file of the configuration cannot be read.
    """
    if "?" in url or "#" in url:
        raise ConfigError(f'"{url}" has a "?" or a "#"', hint="choose a folder without them")
    user, _, server = url.partition("://")[2].partition("/")[0].rpartition("@")
    host = _host(server)  # as written: the names of nameservices are case-sensitive
    if not host:
        raise ConfigError(f'"{url}" names no NameNode', hint="write hdfs://NAMENODE:8020/FOLDER, or a nameservice")
    site = _site(environment.get("HADOOP_CONF_DIR", ""))
    scheme = "https" if site.get("dfs.http.policy") == "HTTPS_ONLY" else "http"
    is_secure = site.get("hadoop.security.authentication") == "kerberos"
    owner = None if is_secure else user or hadoop_user(environment)
    return NameNodes(_addresses(host, site, scheme), scheme == "https", owner)


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
    files = [read_site(str(path), hint=_HINT) for path in paths if path.exists()]
    return expanded({name: each.value for file in files for name, each in file.items()})


def _addresses(host: str, site: Mapping[str, str], scheme: str) -> tuple[str, ...]:
    """The HTTP addresses of the NameNodes of a nameservice, or of the NameNode of this name."""
    nodes = [each.strip() for each in site.get(f"dfs.ha.namenodes.{host}", "").split(",") if each.strip()]
    http = f"dfs.namenode.{scheme}-address"
    names = [f".{host}.{node}" for node in nodes] or [
        name for name in (f".{host}",) if f"{http}{name}" in site or f"{_RPC}{name}" in site
    ]
    if names:
        return tuple(_of_nameservice(name, site, scheme) for name in names)
    # the host of the URL: the configuration may be of another cluster, or listen on 0.0.0.0
    own = [key.removeprefix(_RPC) for key, value in site.items() if key.startswith(_RPC) and _host(value) == host]
    address = next((site[http + name] for name in own if http + name in site), site.get(http, ""))
    return (_at_port(host, address, scheme),)


def _of_nameservice(name: str, site: Mapping[str, str], scheme: str) -> str:
    """The HTTP address of a NameNode by the end of its properties' names; its host is that of its calls on 0.0.0.0."""
    http = f"dfs.namenode.{scheme}-address{name}"
    address, server = site.get(http, ""), site.get(_RPC + name, "")
    host = server if not address or _host(address) in _ANY_HOST else address
    if not host or "${" in host or "${" in address:
        raise ConfigError(
            f'the NameNode "{name[1:]}" has no address in Hadoop\'s configuration',
            hint=f"set {http} to HOST:PORT in hdfs-site.xml; {_HINT}",
        )
    return _at_port(host, address, scheme)


def _host(server: str) -> str:
    """The host of `HOST[:PORT]`; an IPv6 address has brackets."""
    return server if server.endswith("]") else server.rpartition(":")[0] or server


def _at_port(server: str, like: str, scheme: str) -> str:
    """The host of a server, with the port of another address, or Hadoop's default."""
    port = like.rpartition(":")[2]
    return f"{_host(server)}:{port if port.isdigit() else _PORTS[scheme]}"
