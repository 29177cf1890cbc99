"""The user of a process for servers of Hadoop without authentication, which believe each name."""

import getpass
import os
from collections.abc import Mapping


def hadoop_user(environment: Mapping[str, str] = os.environ) -> str:
    """The name that Hadoop's clients use: `HADOOP_USER_NAME`, else the user of the process, who may have no name."""
    try:
        return environment.get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for its user id
        return "attr2hbase"
