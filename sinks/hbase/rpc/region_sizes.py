"""
Sizes of the regions of a table.

Source: AdminService of Admin.proto, which every region server has; RegionLoad of ClusterStatus.proto.
"""

from ingest.api import StoredRegion
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.schema import table_name
from sinks.hbase.rpc.wire import Message, data

_MIB = 1 << 20


def stored_regions(calls: RepeatedCalls, table: str) -> tuple[StoredRegion, ...]:
    """
    The regions of a table by their start, with their servers and sizes.

    Raises:
        NotFoundError: there is no such table.
        StoreRefusedError: only administrators may see the sizes.
    """
    return calls.run(table, lambda deadline_s: _stored_regions(calls, table, deadline_s))


def _stored_regions(calls: RepeatedCalls, table: str, deadline_s: float) -> tuple[StoredRegion, ...]:
    regions = calls.regions.present(table, deadline_s).all
    loads: dict[bytes, Message] = {}
    for server in {region.server for region in regions if region.server is not None}:
        # GetRegionLoadRequest: table_name 1; GetRegionLoadResponse: region_loads 1
        answer = calls.cluster.call(server, "AdminService", "GetRegionLoad", data(1, table_name(table)), deadline_s)
        for load in Message(answer.message).messages(1):
            loads[load.message(1).data(2)] = load
    found = []
    for region in regions:
        server_name = "" if region.server is None else str(region.server)
        load = loads.get(region.name, Message(b""))
        # RegionLoad: storefile_size_MB 5, mem_store_size_MB 6; both are rounded down
        found.append(StoredRegion(region.start, server_name, load.number(5) * _MIB, load.number(6) * _MIB))
    return tuple(found)
