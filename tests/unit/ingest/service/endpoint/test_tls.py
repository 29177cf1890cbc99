"""The HTTP endpoint with TLS: who is refused, and what a client cannot delay."""

import http.client
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

import ingest.service.endpoint.http as module
from ingest.api import ConfigError
from ingest.config.http_tls import HttpTlsOptions
from ingest.config.options import HttpOptions
from ingest.observe.health import Health
from ingest.service.endpoint.http import MAX_CONNECTIONS, HttpEndpoint
from ingest.service.endpoint.tls import server_context
from tests.support.authority import Authority
from tests.support.endpoint import pages
from tests.support.waiting import reached

REFUSED = (ssl.SSLError, ConnectionError, http.client.HTTPException)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Path:
    return authority.issue("server")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client certificate of another authority."""
    return Authority(tmp_path_factory.mktemp("tls") / "other").issue("client")


def options(server: Path, **more: object) -> HttpTlsOptions:
    return HttpTlsOptions.model_validate({"certificate": str(server), "key": str(server), **more})


@contextmanager
def started(tls: HttpTlsOptions, content: bytes = b"") -> Iterator[HttpEndpoint]:
    served = pages(Health(["ticks"]), lambda: ("text/plain", content))
    with HttpEndpoint("127.0.0.1:0", served, tls) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(server: Path) -> Iterator[HttpEndpoint]:
    with started(options(server)) as endpoint:
        yield endpoint


def address(endpoint: HttpEndpoint) -> tuple[str, int]:
    parts = urlsplit(endpoint.url)
    assert parts.scheme == "https"
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def trusting(authority: Authority, certificate: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.certificate)
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context


def get(endpoint: HttpEndpoint, context: ssl.SSLContext | None, path: str = "/livez") -> tuple[int, bytes]:
    """Status and content of a page; without a context over HTTP."""
    host, port = address(endpoint)
    if context is None:
        connection = http.client.HTTPConnection(host, port, timeout=10)
    else:
        connection = http.client.HTTPSConnection(host, port, timeout=10, context=context)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class TestServerCertificate:
    def test_page_is_served(self, endpoint, authority):
        assert get(endpoint, trusting(authority)) == (200, b"live\nticks: starting\n")

    def test_large_page_is_complete(self, server, authority):
        content = bytes(range(256)) * 20_000
        with started(options(server), content) as endpoint:
            assert get(endpoint, trusting(authority), "/metrics") == (200, content)

    def test_end_of_the_answer_is_announced(self, endpoint, authority):
        with (
            socket.create_connection(address(endpoint), timeout=10) as connection,
            trusting(authority).wrap_socket(
                connection, server_hostname="localhost", suppress_ragged_eofs=False
            ) as secured,
        ):
            secured.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            while secured.recv(65_536):  # raises if the connection is cut instead
                pass

    def test_client_without_tls_is_refused(self, endpoint, authority):
        with pytest.raises(REFUSED):
            get(endpoint, None)
        assert get(endpoint, trusting(authority))[0] == 200

    @pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
    def test_client_with_tls_1_1_is_refused(self, endpoint, authority, server):
        context = trusting(authority)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(REFUSED):
            get(endpoint, context)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert get(endpoint, context)[0] == 200
        assert server_context(options(server)).minimum_version is ssl.TLSVersion.TLSv1_2


class TestClientCertificates:
    @pytest.fixture
    def endpoint(self, server: Path, authority: Authority) -> Iterator[HttpEndpoint]:
        with started(options(server, client_ca=str(authority.certificate))) as endpoint:
            yield endpoint

    def test_client_of_the_authority_is_served(self, endpoint, authority):
        assert get(endpoint, trusting(authority, authority.issue("scraper")))[0] == 200

    def test_client_without_a_certificate_is_refused(self, endpoint, authority):
        with pytest.raises(REFUSED):
            get(endpoint, trusting(authority))

    def test_client_of_another_authority_is_refused(self, endpoint, authority, stranger):
        with pytest.raises(REFUSED):
            get(endpoint, trusting(authority, stranger))


class TestSlowClients:
    def test_handshakes_that_hang_do_not_delay_others(self, endpoint, authority):
        """One connection fewer than the limit: one of them sends nothing, the others the start of a handshake."""
        hanging = [socket.create_connection(address(endpoint), timeout=10) for _ in range(MAX_CONNECTIONS - 1)]
        try:
            for client in hanging[1:]:
                client.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert get(endpoint, trusting(authority))[0] == 200
        finally:
            for client in hanging:
                client.close()

    def test_handshake_has_a_time_limit(self, endpoint, monkeypatch):
        monkeypatch.setattr(module, "SILENCE_S", 0.1)
        before = threading.active_count()
        with socket.create_connection(address(endpoint), timeout=10) as client:
            assert client.recv(1) == b""
        assert reached(lambda: threading.active_count() == before, 10)

    def test_handshake_byte_by_byte_has_the_same_limit(self, endpoint, monkeypatch):
        monkeypatch.setattr(module, "SILENCE_S", 0.3)
        with socket.create_connection(address(endpoint), timeout=10) as client:
            client.sendall(b"\x16\x03\x01\x02\x00")

            def is_disconnected() -> bool:
                try:
                    client.sendall(b"\x01")
                except OSError:
                    return True
                return False

            assert reached(is_disconnected, 10)

    def test_slow_reader_is_disconnected(self, server, authority, monkeypatch):
        monkeypatch.setattr(module, "SILENCE_S", 60.0)
        monkeypatch.setattr(module, "CONNECTION_S", 0.3)
        with started(options(server), bytes(50_000_000)) as endpoint:
            before = threading.active_count()
            with (
                socket.create_connection(address(endpoint), timeout=10) as connection,
                trusting(authority).wrap_socket(connection, server_hostname="localhost") as client,
            ):
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                assert reached(lambda: threading.active_count() > before, 10)
                assert get(endpoint, trusting(authority))[0] == 200
                assert reached(lambda: threading.active_count() == before, 10)


class TestFiles:
    def test_renewed_certificate_is_used_without_a_restart(self, authority, tmp_path):
        used = tmp_path / "server.pem"
        shutil.copy(authority.issue("first"), used)
        with started(options(used)) as endpoint:
            first = self.served(endpoint)
            shutil.copy(authority.issue("second"), used)
            second = self.served(endpoint)
            used.write_text("half a certificate")
            assert (self.served(endpoint), first != second) == (second, True)

    def test_other_files_do_not_change_it(self, server, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with capture_logs() as lines, started(options(server)) as endpoint:
            self.served(endpoint)
            (tmp_path / "another").touch()
            self.served(endpoint)
        assert [line["event"] for line in lines if "certificate" in line["event"]] == []

    @staticmethod
    def served(endpoint: HttpEndpoint) -> str:
        return ssl.get_server_certificate(address(endpoint))

    @pytest.mark.parametrize("option", ["certificate", "key", "client_ca"])
    @pytest.mark.parametrize("content", [None, "no certificate"])
    def test_file_that_cannot_be_used_is_named(self, server, tmp_path, option, content):
        file = tmp_path / "file.pem"
        if content is not None:
            file.write_text(content)
            file.chmod(0o600)
        with (
            pytest.raises(ConfigError, match=rf'"{file}".*check service: {{http: {{tls: …}}}}'),
            started(options(server, **{option: str(file)})),
        ):
            pass

    def test_key_of_another_certificate_is_refused(self, server, authority):
        with pytest.raises(ConfigError, match="MISMATCH"):
            server_context(options(server, key=str(authority.issue("another"))))

    def test_key_with_a_password_is_refused_without_a_prompt(self, authority):
        with pytest.raises(ConfigError):
            server_context(options(authority.issue("encrypted", encrypted_with="p4ss")))

    def test_key_that_others_can_read_is_rejected(self, server, tmp_path):
        key = tmp_path / "key.pem"
        shutil.copy(server, key)
        for mode in (0o640, 0o604, 0o620):
            key.chmod(mode)
            with pytest.raises(ValidationError, match="chmod 600"):
                options(server, key=str(key))
        key.chmod(0o400)
        assert options(server, key=str(key)).key == str(key)


def test_address_of_other_machines_needs_tls_or_insecure(server):
    tls = {"certificate": str(server), "key": str(server)}
    assert HttpOptions.model_validate({"listen": "0.0.0.0:9464", "tls": tls}).insecure is False
    with pytest.raises(ValidationError, match="has no TLS"):
        HttpOptions.model_validate({"listen": "0.0.0.0:9464"})
