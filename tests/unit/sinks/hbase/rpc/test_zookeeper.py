"""Where servers are, as ZooKeeper says."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import StoreUnavailableError
from sinks.hbase.protobuf import WireError, data, number
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.zookeeper import ZooKeeper, message_of
from tests.support.zookeeper import serving_zookeeper, znode


def server(host: str, port: int) -> bytes:
    """A message whose field 1 is a ServerName."""
    return data(1, data(1, host.encode()) + number(2, port) + number(3, 1_700_000_000_000))


def test_servers_of_a_cluster():
    znodes = {"/prod/master": znode(server("m1", 16000)), "/prod/meta-region-server": znode(server("rs1", 16020))}
    with serving_zookeeper(znodes) as address:
        zookeeper = ZooKeeper([Address(*address)], "/prod")
        assert zookeeper.master(5) == Address("m1", 16000)
        assert zookeeper.meta(5) == Address("rs1", 16020)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, 'there is no znode "/hbase/master"'),
        (b"m1,16000,1", 'znode "/hbase/master" cannot be read: it does not begin with HBase\'s header'),
        (znode(server("", 16000)), "is not the address of a server"),
        (znode(b"\xff"), "cannot be read"),
    ],
)
def test_znode_that_says_nothing(content, message):
    with serving_zookeeper({} if content is None else {"/hbase/master": content}) as address:
        zookeeper = ZooKeeper([Address(*address)], "/hbase")
        with pytest.raises(StoreUnavailableError, match=message):
            zookeeper.master(5)


def test_zookeeper_that_does_not_answer():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        zookeeper = ZooKeeper([Address("127.0.0.1", unused.getsockname()[1])], "/hbase")
        with pytest.raises(StoreUnavailableError, match="does not say where the meta table is: KazooTimeoutError"):
            zookeeper.meta(0.2)


@given(st.binary())
def test_header_is_taken_off(message):
    assert message_of(znode(message)) == message


@given(st.binary(max_size=20))
def test_any_content_has_a_message_or_is_refused(content):
    try:
        message_of(content)
    except WireError:
        return
    assert b"PBUF" in content
