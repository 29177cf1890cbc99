"""TLS of clients: bytes that arrive together with the end of the connection."""

import select
import socket
import ssl
import threading
from pathlib import Path

import pytest

from ingest.kafka.clients import client_options
from ingest.kafka.settings import KafkaConnection

CERTIFICATE = Path(__file__).resolve().parents[3] / "support" / "certificates" / "localhost.pem"
REASON = b"x" * 10_000


def read_once(client: ssl.SSLSocket) -> tuple[bytes, bool]:
    """What a read of kafka-python finds: all bytes that are there, and whether the connection has ended."""
    select.select([client], [], [], 10)
    found = []
    while True:
        try:
            part = client.recv(4096)
        except ssl.SSLWantReadError:
            return b"".join(found), False
        if not part:
            return b"".join(found), True
        found.append(part)


@pytest.fixture
def client():
    """A client whose server has sent the reason and has closed the connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with context.wrap_socket(server.accept()[0], server_side=True) as accepted:
                accepted.sendall(REASON)

        thread = threading.Thread(target=serve)
        thread.start()
        address = server.getsockname()
        options = {"brokers": f"localhost:{address[1]}", "security": {"tls": {"ca_file": str(CERTIFICATE)}}}
        trusting = client_options(KafkaConnection.model_validate(options))["ssl_context"]
        with trusting.wrap_socket(socket.create_connection(address, 10), server_hostname="localhost") as connected:
            thread.join()
            connected.setblocking(False)
            yield connected


def test_bytes_before_the_end_are_read_first(client):
    found = b""
    reads = []
    while True:
        part, has_ended = read_once(client)
        found += part
        reads.append((len(part) > 0, has_ended))
        if has_ended:
            break
    assert found == REASON
    assert (True, True) not in reads
