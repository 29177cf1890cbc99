"""TLS of connections to masters and region servers."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from ingest.api import Secret, StoreError, StoreUnavailableError
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import ConnectionLostError
from sinks.hbase.rpc.sasl import Login
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.rpc.tls import tls_context
from sinks.hbase.security import HBaseTls, Qop
from sinks.hbase.settings import HBaseSettings
from tests.support.authority import Authority
from tests.support.gssapi_contexts import PRINCIPAL, ServerLogin, XorContext
from tests.support.rpc_server import RpcServer, RpcServers, soon


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture
def server(authority: Authority, serve: RpcServers) -> RpcServer:
    """Requires a certificate of the client, as HBase does by default."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("hbase"))
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    return serve(tls=context)


def tls_of(authority: Authority, **options: str) -> HBaseTls:
    return HBaseTls(ca_file=str(authority.certificate), **options)


def test_calls_over_tls(authority: Authority, server: RpcServer) -> None:
    context = tls_context(tls_of(authority, key_file=str(authority.issue("client"))))
    connection = Connection(server.address, "ClientService", tls=context)
    connection.open(soon())
    for _ in range(3):
        sent = connection.send("Multi", b"parameter", b"x" * 3_000_000, soon())
        answer = connection.receive(sent, soon())
        assert (answer.message, len(answer.cells)) == (b"parameter", 3_000_000)
        assert connection.is_usable
    connection.close()


def test_login_over_tls(authority: Authority) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("secured"))
    server = RpcServer(lambda request: request.answer(request.parameter), context, ServerLogin())
    login = Login(PRINCIPAL, Qop.AUTH_INT, XorContext)
    connection = Connection(server.address, "ClientService", tls=tls_context(tls_of(authority)), login=login)
    connection.open(soon())
    assert connection.call("A", b"parameter", soon()).message == b"parameter"
    connection.close()
    server.close()


def test_server_of_another_authority_is_not_trusted(tmp_path: Path, authority: Authority, server: RpcServer) -> None:
    other = Authority(tmp_path / "other")
    context = tls_context(tls_of(other, key_file=str(authority.issue("client"))))
    with pytest.raises(ConnectionLostError, match=r"no TLS connection .*CERTIFICATE_VERIFY_FAILED"):
        Connection(server.address, "ClientService", tls=context).open(soon())


def test_client_without_tls_or_certificate_cannot_connect(authority: Authority, server: RpcServer) -> None:
    address = str(server.address)
    for security in ({}, {"tls": {"ca_file": str(authority.certificate)}}):
        store = RpcStore(HBaseSettings.model_validate({"bootstrap_servers": address, "security": security}))
        with pytest.raises(StoreUnavailableError, match=f"{address}") as caught:
            store.open()
        assert "Do they require TLS or Kerberos?" in str(caught.value.hint)
        store.close()


def test_server_without_tls(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            accepted, _ = listening.accept()
            with accepted:
                accepted.recv(1000)
                accepted.sendall(b"no TLS record")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        options = {"bootstrap_servers": address, "security": {"tls": {"ca_file": str(authority.certificate)}}}
        store = RpcStore(HBaseSettings.model_validate(options))
        with pytest.raises(StoreUnavailableError, match="no TLS connection") as caught:
            store.open()
        assert str(caught.value.hint).startswith("the server answers without TLS")
        store.close()
        thread.join(10)


def test_unusable_files_are_named(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(StoreError, match=r"absent\.pem\" cannot be used: No such file or directory;"):
        tls_context(HBaseTls(ca_file=str(tmp_path / "absent.pem")))
    key = authority.issue("encrypted", encrypted_with="secret")
    with pytest.raises(StoreError, match="cannot be used"):
        tls_context(tls_of(authority, key_file=str(key)))
    tls_context(HBaseTls(key_file=str(key), key_password=Secret("secret")))
