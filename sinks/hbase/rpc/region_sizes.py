"""
Sizes of the regions of a table.

Source: AdminService of Admin.proto, which every region server has; RegionLoad of ClusterStatus.proto.
"""

from collections.abc import Iterable

from ingest.api import StoredRegion
from sinks.hbase.protobuf import Message, data
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.schema import table_name
from sinks.hbase.rpc.stream import Address

_MIB = 1 << 20


def stored_regions(calls: RepeatedCalls, table: str) -> tuple[StoredRegion, ...]:
    """
    The regions of a table by their start, with their servers and sizes.

    Raises:
        NotFoundError: there is no such table.
        StoreRefusedError: only administrators may see the sizes.
    """
    return calls.run(table, lambda deadline_s: _stored_regions(calls, table, deadline_s))


def files_of_regions(
    calls: RepeatedCalls, table: str, servers: Iterable[Address], deadline_s: float
) -> dict[bytes, float]:
    """
    How many files each region of a table on some servers has: name of the region -> mean of its families.

    Raises:
        RemoteError, ConnectionLostError, WireError, IngestError: a server does not say, as to a user without the right.
    """
    # RegionLoad: stores 2, storefiles 3
    loads = _loads(calls, table, servers, deadline_s)
    return {name: load.number(3) / max(1, load.number(2)) for name, load in loads.items()}


def _loads(calls: RepeatedCalls, table: str, servers: Iterable[Address], deadline_s: float) -> dict[bytes, Message]:
    """Name of a region -> its RegionLoad."""
    loads: dict[bytes, Message] = {}
    for server in servers:
        # GetRegionLoadRequest: table_name 1; GetRegionLoadResponse: region_loads 1
        answer = calls.cluster.call(server, "AdminService", "GetRegionLoad", data(1, table_name(table)), deadline_s)
        for load in Message(answer.message).messages(1):
            loads[load.message(1).data(2)] = load
    return loads


def _stored_regions(calls: RepeatedCalls, table: str, deadline_s: float) -> tuple[StoredRegion, ...]:
    regions = calls.regions.present(table, deadline_s).all
    loads = _loads(calls, table, {region.server for region in regions if region.server is not None}, deadline_s)
    found = []
    for region in regions:
        server_name = "" if region.server is None else str(region.server)
        load = loads.get(region.name, Message(b""))
        # RegionLoad: storefile_size_MB 5, mem_store_size_MB 6; both are rounded down
        found.append(StoredRegion(region.start, server_name, load.number(5) * _MIB, load.number(6) * _MIB))
    return tuple(found)
