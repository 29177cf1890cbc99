"""Options of clients: invalid ones are reported before any connection."""

import logging
import socket
import ssl
from contextlib import closing

import crc32c
import kafka
import kafka.record.util
import pytest

from ingest.api import Disposition, SourceError, SourceUnavailableError
from ingest.kafka import clients
from ingest.kafka.clients import admin_client, client_options
from ingest.kafka.settings import KafkaConnection


def options(**tls):
    return client_options(KafkaConnection.model_validate({"brokers": "k1:9093", "security": {"tls": tls}}))


def test_certificate_and_host_name_are_always_checked():
    context = options()["ssl_context"]
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert [name for name in options() if name.startswith("ssl_")] == ["ssl_context"]


def test_without_tls_there_is_no_ssl_context():
    assert "ssl_context" not in client_options(KafkaConnection.model_validate({"brokers": "localhost:9092"}))


@pytest.mark.parametrize(
    ("sasl", "has_tokens"),
    [
        ({"mechanism": "plain", "username": "u", "password": "p"}, False),
        ({"mechanism": "oauthbearer", "token_url": "https://idp/token", "client_id": "c", "client_secret": "s"}, True),
    ],
)
def test_only_oauth_has_a_provider_of_tokens(sasl, has_tokens):
    security = {"sasl": sasl, "tls": {}}
    found = client_options(KafkaConnection.model_validate({"brokers": "k1:9093", "security": security}))
    assert ("sasl_oauth_token_provider" in found) == has_tokens


def test_cluster_that_refuses_connections_has_no_name_of_an_exception(monkeypatch):
    monkeypatch.setattr(clients, "ANSWER_MS", 500)
    with closing(socket.socket()) as unused:  # bound and not listening: every connection is refused
        unused.bind(("127.0.0.1", 0))
        brokers = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(SourceUnavailableError) as caught:
            admin_client(KafkaConnection.model_validate({"brokers": brokers}))
    assert caught.value.message == f'no broker at "{brokers}" accepts connections: connection refused'


@pytest.mark.parametrize(
    "last", [kafka.errors.KafkaTimeoutError("no"), kafka.errors.KafkaConnectionError("Connection timed out")]
)
def test_reason_is_not_the_attempt_that_the_end_of_all_attempts_cut_short(monkeypatch, last):
    def failing_client(**_options):
        for reason in (kafka.errors.KafkaConnectionError("111 ECONNREFUSED"), last):
            logging.getLogger("kafka.net.manager").warning(
                "Bootstrap connection to %s failed: %s", "bootstrap-0", reason
            )
        raise kafka.errors.KafkaTimeoutError("Unable to bootstrap")

    monkeypatch.setattr(clients, "KafkaAdminClient", failing_client)
    with pytest.raises(
        SourceUnavailableError, match=r'^no broker at "127.0.0.1:1" accepts connections: connection refused'
    ):
        admin_client(KafkaConnection.model_validate({"brokers": "127.0.0.1:1"}))


@pytest.mark.parametrize("option", ["ca_file", "key_file"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_error_names_the_file_that_cannot_be_used(tmp_path, option, content):
    path = tmp_path / "file.pem"
    if content is not None:
        path.write_text(content)
        path.chmod(0o600)
    with pytest.raises(SourceError, match=r"file\.pem") as caught:
        options(**{option: str(path)})
    assert caught.value.disposition is Disposition.STOP


def test_checksums_of_records_are_computed_in_c_with_the_extra_crc32c():
    """As the guide to the sink kafka says: the client takes the package's function if it is installed."""
    assert kafka.record.util.calc_crc32c.__defaults__ == (crc32c.crc32c,)
    assert kafka.record.util.calc_crc32c(b"123456789") == kafka.record.util.crc32c_py(b"123456789") == 0xE3069283
