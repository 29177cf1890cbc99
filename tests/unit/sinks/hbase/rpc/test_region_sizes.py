"""Sizes of the regions of a table."""

import pytest

from ingest.api import NotFoundError, StoredRegion
from sinks.hbase.protobuf import Message, data, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.region_sizes import stored_regions
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import region_specifier
from tests.support.rows_server import meta_answer, no_table_answer, registry_answer
from tests.support.rpc_server import Request, RpcServers

MIB = 1 << 20


def test_regions_have_their_sizes(serve: RpcServers) -> None:
    def answer(request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, server.address)
        message = Message(request.parameter)
        if request.method == "Scan":
            is_known = message.message(2).data(3) == b"t"
            return meta_answer(request, [b"", b"m", b"t", b""], servers) if is_known else no_table_answer(request)
        assert (request.service, request.method) == ("AdminService", "GetRegionLoad")
        assert message.message(1).data(2) == b"t"
        loads = ((b"t,,1.", 3, 1), (b"t,m,1.", 20, 0))
        load = (data(1, region_specifier(name)) + number(5, files) + number(6, memory) for name, files, memory in loads)
        return request.answer(b"".join(data(1, each) for each in load))

    server = serve(answer)
    servers = [server.address, server.address, None]
    cluster = Cluster([server.address], may_leave_machine=False)
    cluster.open()
    calls = RepeatedCalls(cluster, RegionCache(cluster), lambda: Attempts(5.0))
    assert stored_regions(calls, "t") == (
        StoredRegion(b"", str(server.address), 3 * MIB, MIB),
        StoredRegion(b"m", str(server.address), 20 * MIB, 0),
        StoredRegion(b"t", "", 0, 0),
    )
    with pytest.raises(NotFoundError):
        stored_regions(calls, "nosuch")
    cluster.close()
