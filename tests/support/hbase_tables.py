"""Tables of HBase with attributes that attr2hbase does not set."""

import io

import thriftpy2
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.rpc import client_context

from tests.support.names import unique
from tests.support.servers import HBase

DESCRIBED = """
exception TIOError { 1: optional string message }
struct TTableName { 1: optional binary ns, 2: required binary qualifier }
struct TColumnFamilyDescriptor { 1: required binary name }
struct TTableDescriptor {
  1: required TTableName tableName, 2: optional list<TColumnFamilyDescriptor> columns,
  3: optional map<binary, binary> attributes
}
service TableService {
  void createTable(1: required TTableDescriptor desc, 2: list<binary> splitKeys) throws (1: TIOError io)
}
"""


def table_with(hbase: HBase, **attributes: str) -> str:
    """A new table with the family cf; in the names of attributes, two underscores stand for a dot."""
    types = thriftpy2.load_fp(io.StringIO(DESCRIBED), "described_thrift")
    name = unique("errors")
    description = types.TTableDescriptor(
        tableName=types.TTableName(qualifier=name.encode()),
        columns=[types.TColumnFamilyDescriptor(name=b"cf")],
        attributes={key.replace("__", ".").encode(): value.encode() for key, value in attributes.items()},
    )
    with client_context(
        types.TableService,
        hbase.host,
        hbase.thrift2_port,
        socket_timeout=60_000,
        proto_factory=TBinaryProtocolFactory(),
    ) as client:
        client.createTable(description, [])
    return name
