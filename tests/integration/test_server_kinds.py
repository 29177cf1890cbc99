"""Real servers of each kind are recognised where an address of another kind is expected."""

import pytest

from ingest.server_kinds import HBASE, KAFKA, THRIFT, ZOOKEEPER, server_instead
from tests.support.servers import HBase, Kafka


@pytest.mark.one_protocol("the servers of both protocols are asked")
def test_each_server_is_recognised(kafka: Kafka, hbase: HBase) -> None:
    host, port = kafka.brokers.split(",")[0].split(":")
    zookeeper = hbase.server.endpoints["zookeeper"]
    native, thrift = hbase.store_options("rpc"), hbase.store_options("thrift")
    master, region_server = str(native["bootstrap_servers"]).split(",")
    addresses = {
        KAFKA: [(host, int(port))],
        THRIFT: [(str(thrift["host"]), int(thrift["port"]))],
        HBASE: [(each.split(":")[0], int(each.split(":")[1])) for each in (master, region_server)],
        ZOOKEEPER: [(zookeeper.split(":")[0], int(zookeeper.split(":")[1]))],
    }
    words = {KAFKA: "a Kafka broker", THRIFT: "a Thrift server", HBASE: "a master or region", ZOOKEEPER: "a ZooKeeper"}
    for kind, own in addresses.items():
        for address in own:
            found = server_instead("another", [address])
            assert found is not None, (kind, address)
            assert found.startswith(f"{address[0]}:{address[1]} is {words[kind]}")
