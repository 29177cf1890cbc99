"""The stores of an import."""

from ingest.config import Place
from ingest.flume.pipelines.document import Component, Verbatim

FIRST_STORE = "hbase"
"""The name of the first store."""

OF_TABLES = "that has the tables"
"""Describes the cluster of a store if the original does not name it."""

NOTHING_NEEDED = "the settings of Flume's HBase client are not needed"
"""The remark about the settings of Flume's HBase client if none is needed."""

_PORT = 9090
_CLEAR = "the connection is not encrypted: for another machine it needs `security: {insecure: true}`"


def hbase_store(
    name: str = FIRST_STORE, cluster: str = OF_TABLES, place: Place | None = None, settings: str = NOTHING_NEEDED
) -> Component:
    """
    A store with a variable for the host.

    Args:
        name: name of the store, in lower-case letters, digits and dashes; the variable is the same in upper case.
        cluster: description of the cluster, for the comment.
        place: place in the original.
        settings: remark about the settings of Flume's HBase client.
    """
    host = Verbatim(f"${{{name.upper().replace('-', '_')}:localhost}}")
    comment = f"the Thrift server of the cluster {cluster}; {settings}"
    return Component("hbase", {"host": host, "port": _PORT}, [comment, _CLEAR], place)
