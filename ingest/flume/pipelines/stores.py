"""The HBase clusters of an import, as stores."""

from ingest.config import Place
from ingest.flume.pipelines.document import Component, Verbatim

FIRST_STORE = "hbase"
"""The store of a file that has one."""

OF_TABLES = "that has the tables"
"""Which cluster a store stands for where the original says no more."""

NOTHING_NEEDED = "nothing of the old client's settings is needed"
"""What is said of the settings of Flume's HBase client where none of them matters here."""

_PORT = 9090
_CLEAR = "it is reached in the clear: on another machine it needs `security: {insecure: true}`"


def hbase_store(
    name: str = FIRST_STORE, cluster: str = OF_TABLES, place: Place | None = None, settings: str = NOTHING_NEEDED
) -> Component:
    """
    A store, with a variable of its own for the host.

    Args:
        name: of the store, in small letters, digits and dashes; the variable is the same in capitals.
        cluster: which one it stands for, in words.
        place: what it was made of.
        settings: what is to be known of those of Flume's HBase client.
    """
    host = Verbatim(f"${{{name.upper().replace('-', '_')}:localhost}}")
    said = f"the Thrift server of the cluster {cluster}; {settings}"
    return Component("hbase", {"host": host, "port": _PORT}, [said, _CLEAR], place)
