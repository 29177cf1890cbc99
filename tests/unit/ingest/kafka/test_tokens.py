"""Tokens for oauthbearer: asked for as the standard says, kept, renewed."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from kafka.errors import KafkaConnectionError

from ingest.kafka.clients import client_options
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.tokens import ClientCredentials


@contextmanager
def login_server(answer):
    """An HTTP server that gives the same answer to all, and keeps what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((self.headers["Authorization"], body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer(len(asked)))

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def connection(url):
    return KafkaConnection.model_validate(
        {
            "brokers": "localhost:9092",
            "security": {
                "sasl": {
                    "mechanism": "oauthbearer",
                    "token_url": url,
                    "client_id": "in gest",
                    "client_secret": "s:t",
                    "scope": "kafka",
                }
            },
        }
    )


def tokens(url):
    return ClientCredentials(connection(url).security.sasl, None)


def lasting(seconds):
    return lambda count: json.dumps({"access_token": f"token{count}", "expires_in": seconds}).encode()


def test_a_token_is_asked_for_once_while_it_lasts():
    with login_server(lasting(3600)) as (url, asked):
        found = tokens(url)
        assert [found.token(), found.token()] == ["token1", "token1"]
    # base64 of in+gest:s%3At
    assert asked == [("Basic aW4rZ2VzdDpzJTNBdA==", "grant_type=client_credentials&scope=kafka")]


def test_a_token_about_to_end_is_renewed():
    with login_server(lasting(30)) as (url, _):
        found = tokens(url)
        assert [found.token(), found.token()] == ["token1", "token2"]


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"access_token": "x", "expires_in": "soon"}'])
def test_an_answer_without_a_token_is_a_failed_connection(answer):
    with login_server(lambda _: answer) as (url, _), pytest.raises(KafkaConnectionError):
        tokens(url).token()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://127.0.0.1:1/"])
def test_no_server_is_a_failed_connection_and_files_are_never_read(url):
    with pytest.raises(KafkaConnectionError):
        tokens(url).token()


def test_clients_get_tokens_only_for_oauthbearer():
    assert isinstance(
        client_options(connection("https://login.example.org/"))["sasl_oauth_token_provider"], ClientCredentials
    )
    plain = KafkaConnection.model_validate({"brokers": "localhost:9092"})
    assert "sasl_oauth_token_provider" not in client_options(plain)
