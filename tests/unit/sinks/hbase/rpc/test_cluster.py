"""Who has the meta table, and who is the active master."""

from collections.abc import Callable

import pytest

from ingest.api import LifecycleError, StoreError, StoreRefusedError, StoreUnavailableError
from sinks.hbase.protobuf import data, number
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.errors import CredentialsError, LoginError
from sinks.hbase.rpc.sasl import Logins
from sinks.hbase.rpc.stream import Address
from tests.support.gssapi_contexts import ServerLogin, TestLogins, XorContext
from tests.support.local import free_ports
from tests.support.rpc_server import Request, RpcServer, RpcServers


def registry(request: Request) -> bytes:
    assert request.service == "ClientMetaService"
    if request.method == "GetMetaRegionLocations":
        return request.answer(data(1, data(2, data(1, b"rs1") + number(2, 16020))))
    return request.answer(data(1, data(1, b"m1") + number(2, 16000)))


def cluster_of(*addresses: Address) -> Cluster:
    cluster = Cluster(addresses, may_leave_machine=False)
    cluster.open()
    return cluster


def closed() -> Address:
    return Address("127.0.0.1", free_ports(1)[0])


def soon(cluster: Cluster) -> float:
    return cluster._clock() + 10


def test_answers_are_kept(serve: RpcServers) -> None:
    server = serve(registry)
    cluster = cluster_of(closed(), server.address)
    for _ in range(2):
        assert cluster.meta(soon(cluster)) == Address("rs1", 16020)
        assert cluster.master(soon(cluster)) == Address("m1", 16000)
    assert [request.method for request in server.requests] == ["GetMetaRegionLocations", "GetActiveMaster"]
    cluster.forget_meta()
    cluster.meta(soon(cluster))
    assert len(server.requests) == 3
    cluster.close()


@pytest.mark.parametrize(
    ("answers", "is_starting"),
    [
        (lambda request: request.answer(), True),
        (lambda request: request.failure("org.apache.hadoop.hbase.ipc.ServerNotRunningYetException", "not yet"), True),
        (lambda request: request.failure("java.io.IOException", "broken"), False),
        (lambda _request: None, False),
    ],
)
def test_server_that_knows_no_master_yet_is_starting(
    serve: RpcServers, answers: Callable[[Request], bytes | None], is_starting: bool
) -> None:
    cluster = cluster_of(closed(), serve(answers).address)
    for call in (cluster.meta, cluster.master):
        with pytest.raises(StoreUnavailableError) as caught:
            call(soon(cluster))
        assert caught.value.is_starting is is_starting
    cluster.close()


def test_server_that_answered_is_called_first_the_next_time(serve: RpcServers) -> None:
    silent = serve(lambda request: request.answer())
    cluster = cluster_of(silent.address, serve(registry).address)
    for _ in range(3):
        cluster.meta(soon(cluster))
        cluster.forget_meta()
    assert len(silent.requests) == 1
    cluster.close()


def test_replicas_of_the_meta_table_are_not_used(serve: RpcServers) -> None:
    def location(replica: int) -> bytes:
        info = data(1, number(1, 1) + number(7, replica))
        return data(1, info + data(2, data(1, b"rs%d" % replica) + number(2, 16020)))

    cluster = cluster_of(serve(lambda request: request.answer(location(1) + location(0) + location(2))).address)
    assert cluster.meta(soon(cluster)) == Address("rs0", 16020)
    cluster.close()


def test_server_that_is_silent_leaves_time_for_the_others(serve: RpcServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinks.hbase.rpc.cluster._REGISTRY_S", 0.1)
    cluster = cluster_of(serve(lambda _request: b"").address, serve(registry).address)
    assert cluster.meta(soon(cluster)) == Address("rs1", 16020)
    cluster.close()


def test_silent_servers_share_the_time_that_is_left(serve: RpcServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinks.hbase.rpc.cluster._MIN_REGISTRY_S", 0.1)
    silent = [serve(lambda _request: b"").address for _ in range(2)]
    cluster = cluster_of(*silent, serve(registry).address)
    assert cluster.meta(cluster._clock() + 1.5) == Address("rs1", 16020)
    cluster.close()


def test_outage_is_no_question_of_versions() -> None:
    cluster = cluster_of(closed(), closed())
    with pytest.raises(StoreUnavailableError) as caught:
        cluster.meta(soon(cluster))
    assert caught.value.hint == "check that the servers run, their names and ports, and firewalls"
    cluster.close()


def test_no_server_answers(serve: RpcServers) -> None:
    old = serve(lambda _request: None)
    cluster = cluster_of(closed(), old.address)
    with pytest.raises(StoreUnavailableError, match="no server can be reached at") as caught:
        cluster.meta(soon(cluster))
    assert str(old.address) in caught.value.message
    assert "HBase 2.3 or newer" in str(caught.value.hint)
    cluster.close()


def test_server_on_another_machine_must_be_allowed() -> None:
    cluster = cluster_of(closed())
    with pytest.raises(StoreRefusedError, match=r"hbase1:16020 of the cluster is on another machine"):
        cluster.connection(Address("hbase1", 16020), "ClientService", soon(cluster))
    cluster.close()


def test_cluster_is_not_used_before_open_or_after_close(serve: RpcServers) -> None:
    server = serve(registry)
    cluster = Cluster([server.address], may_leave_machine=False)
    for _ in range(2):
        with pytest.raises(LifecycleError):
            cluster.meta(soon(cluster))
        cluster.open()
        cluster.meta(soon(cluster))
        cluster.close()
        cluster.close()


@pytest.fixture
def secured(serve: RpcServers) -> RpcServer:
    return serve(registry, log_in=ServerLogin())


def cluster_with(logins: Logins, *addresses: Address) -> Cluster:
    cluster = Cluster(addresses, may_leave_machine=False, logins=logins)
    cluster.open()
    return cluster


def failing(*failures: tuple[str, StoreError]) -> Callable[[str], XorContext]:
    """Contexts that fail for some principals."""
    return lambda principal: XorContext(failure=dict(failures).get(principal))


def test_second_principal_is_tried_after_a_refused_login(secured: RpcServer) -> None:
    refused = failing(("master", LoginError("another server")))
    cluster = cluster_with(TestLogins(new_context=refused, principals=["master", "region server"]), secured.address)
    assert cluster.meta(soon(cluster)) == Address("rs1", 16020)
    cluster.close()


def test_refused_logins_are_reported_with_their_hint(secured: RpcServer) -> None:
    refused = failing(("server", LoginError("wrong keys", hint="export the keytab")))
    cluster = cluster_with(TestLogins(new_context=refused, principals=["server"]), closed(), secured.address)
    with pytest.raises(LoginError, match=r"no server can be reached at .*; wrong keys") as caught:
        cluster.meta(soon(cluster))
    assert caught.value.hint == "export the keytab"
    cluster.close()


@pytest.mark.parametrize("failure", [CredentialsError("no keys"), StoreUnavailableError("no KDC")])
def test_failure_of_the_own_login_is_not_repeated_at_other_servers(secured: RpcServer, failure: StoreError) -> None:
    contexts: list[str] = []

    def new_context(principal: str) -> XorContext:
        contexts.append(principal)
        raise failure

    logins = TestLogins(new_context=new_context, principals=["server"])
    cluster = cluster_with(logins, secured.address, secured.address._replace(host="localhost"))
    with pytest.raises(type(failure)) as caught:
        cluster.meta(soon(cluster))
    assert (caught.value, contexts) == (failure, ["server"])
    cluster.close()
