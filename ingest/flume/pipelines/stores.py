"""The HBase clusters of an import, as stores."""

from ingest.config import Place
from ingest.flume.pipelines.document import Component, Verbatim

FIRST_STORE = "hbase"
"""The store of a file that has one."""

OF_TABLES = "that has the tables"
"""Which cluster a store stands for where the original says no more."""

_PORT = 9090


def hbase_store(name: str = FIRST_STORE, cluster: str = OF_TABLES, place: Place | None = None) -> Component:
    """
    A store, with a variable of its own for the host.

    Args:
        name: of the store, in small letters, digits and dashes; the variable is the same in capitals.
        cluster: which one it stands for, in words.
        place: what it was made of.
    """
    host = Verbatim(f"${{{name.upper().replace('-', '_')}:localhost}}")
    said = f"the Thrift server of the cluster {cluster}; nothing of the old client's settings is needed"
    return Component("hbase", {"host": host, "port": _PORT}, [said], place)
