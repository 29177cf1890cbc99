"""The way to servers."""

import contextlib
import socket
import ssl
import threading
from pathlib import Path

import pytest

from ingest.doctor.pipelines import network
from ingest.kafka.settings import TlsSettings
from ingest.kafka.tls import tls_context

CERTIFICATE = Path(__file__).resolve().parents[4] / "support" / "certificates" / "localhost.pem"


def found(result):
    return [(finding.severity.value, finding.message) for finding in result.findings]


@contextlib.contextmanager
def listening(context=None):
    """A server that accepts connections, with TLS if there is a context; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    if context is not None:
                        context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def closed_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


@pytest.fixture
def secured():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with listening(context) as port:
        yield port


@pytest.fixture
def trusting():
    return tls_context(TlsSettings(ca_file=str(CERTIFICATE)))


@pytest.fixture
def unknown_host(monkeypatch):
    """A host name that does not resolve, without a query to a server."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        if host == "nowhere.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return "nowhere.invalid"


class TestNames:
    def test_addresses_of_hosts_are_shown_once(self):
        result = network.names([("localhost", 1), ("localhost", 2)], subject="kafka")
        assert (result.text.startswith("localhost is "), result.findings) == (True, ())

    def test_unknown_name_is_an_error(self, unknown_host):
        (finding,) = network.names([(unknown_host, 1)], subject="kafka").findings
        assert (finding.check, finding.severity.value, finding.subject) == ("names", "error", "kafka")
        assert finding.message == "nowhere.invalid does not resolve: Name or service not known"

    def test_one_unknown_name_of_several_is_a_warning(self, unknown_host):
        result = network.names([("localhost", 1), (unknown_host, 1)], subject="kafka")
        assert [finding.severity.value for finding in result.findings] == ["warning"]

    def test_text_that_is_no_name_is_an_error(self):
        assert len(network.names([("x..y", 1)], subject="kafka").findings) == 1


class TestPorts:
    def test_open_port(self):
        with listening() as port:
            assert network.ports([("127.0.0.1", port)], subject="x").text == f"127.0.0.1:{port} is open"

    def test_closed_port_is_an_error(self, closed_port):
        address = ("127.0.0.1", closed_port)
        message = f"127.0.0.1:{closed_port} does not accept connections: Connection refused"
        assert found(network.ports([address], subject="x")) == [("error", message)]
        with listening() as port:
            assert found(network.ports([("127.0.0.1", port), address], subject="x")) == [("warning", message)]

    def test_many_servers_are_counted(self):
        with listening() as one, listening() as two, listening() as three, listening() as four:
            addresses = [("127.0.0.1", port) for port in (one, two, three, four)]
            assert network.ports(addresses, subject="x").text == "4 servers"


class TestTls:
    def test_trusted_certificate(self, secured, trusting):
        result = network.tls([("localhost", secured)], trusting, subject="x")
        assert (result.text, result.findings) == (f"localhost:{secured} speaks TLSv1.3", ())

    def test_other_certificate_is_an_error(self, secured):
        ((severity, message),) = found(network.tls([("localhost", secured)], ssl.create_default_context(), subject="x"))
        assert severity == "error"
        assert "does not complete the TLS handshake: self" in message

    def test_other_host_name_is_an_error(self, secured, trusting):
        ((severity, message),) = found(network.tls([("127.0.0.1", secured)], trusting, subject="x"))
        assert (severity, "IP address mismatch" in message) == ("error", True)

    def test_server_without_tls_is_an_error(self, trusting):
        with listening() as port:
            ((severity, _),) = found(network.tls([("localhost", port)], trusting, subject="x"))
        assert severity == "error"

    def test_certificate_that_ends_soon_is_a_warning(self, secured, trusting, monkeypatch):
        monkeypatch.setattr(network, "EXPIRES_SOON_S", 200 * 366 * 86_400.0)
        ((severity, message),) = found(network.tls([("localhost", secured)], trusting, subject="x"))
        assert (severity, message.startswith(f"the certificate of localhost:{secured} ends on ")) == ("warning", True)


def test_addresses_of_ipv6_are_in_brackets():
    assert (network.shown(("::1", 9092)), network.shown(("h", 9092))) == ("[::1]:9092", "h:9092")
