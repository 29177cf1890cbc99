"""The root of a path or URL."""

import re
from pathlib import Path

from ingest.api import ConfigError, NotFoundError
from ingest.durable import file_errors
from sinks.files.local_root import LocalRoot
from sinks.files.name_nodes import name_nodes
from sinks.files.root import Root

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def open_root(url: str) -> Root:
    """
    The files below a root.

    Args:
        url: a path of this machine; or `hdfs://NAMENODE:PORT/path`, `s3://bucket/path`, or another URL for which fsspec
            has a file system, with the options of fsspec's configuration.

    Raises:
        ConfigError: fsspec has no such file system, or the package that it needs is not installed; or Hadoop's
            configuration is damaged.
    """
    found = _SCHEME.match(url)
    if found is None or found[1].lower() == "file":
        folder = url if found is None else url[found.end() :]
        if not folder:
            raise ConfigError("the root is empty", hint="write a folder or a URL")
        return LocalRoot(Path(folder))
    from sinks.files.remote_root import RemoteRoot  # which imports fsspec

    return RemoteRoot(url, {}, name_nodes(url) if found[1].lower() == "hdfs" else None)


def existing_root(url: str) -> Root:
    """
    The files below a root that exists.

    Raises:
        NotFoundError: there is no such folder.
        ConfigError: as in `open_root`.
        StoreUnavailableError: the file system does not answer.
    """
    root = open_root(url)
    with file_errors(root):
        if not root.exists(""):
            raise NotFoundError(f'there is no folder "{root}"', hint="correct it; the first dump creates it")
    return root
