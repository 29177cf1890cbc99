"""Tokens for oauthbearer: requested as RFC 6749 says, cached and renewed."""

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
def login_server(answer, redirect=None):
    """An HTTP server that records its requests and gives each the same answer or a redirect."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            requests.append((self.headers["Authorization"], body))
            self.send_response(200 if redirect is None else 302)
            if redirect is not None:
                self.send_header("Location", redirect)
            self.end_headers()
            self.wfile.write(answer(len(requests)))

        do_GET = do_POST  # noqa: N815 - a redirect turns POST into GET

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token", requests
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


def valid_for(seconds):
    return lambda count: json.dumps({"access_token": f"token{count}", "expires_in": seconds}).encode()


def test_token_is_requested_once_while_it_is_valid():
    with login_server(valid_for(3600)) as (url, requests):
        found = tokens(url)
        assert [found.token(), found.token()] == ["token1", "token1"]
    # base64 of in+gest:s%3At
    assert requests == [("Basic aW4rZ2VzdDpzJTNBdA==", "grant_type=client_credentials&scope=kafka")]


def test_token_about_to_expire_is_renewed():
    with login_server(valid_for(30)) as (url, _):
        found = tokens(url)
        assert [found.token(), found.token()] == ["token1", "token2"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 9000,
        b'{"access_token": null}',
        b'{"access_token": ["x"], "expires_in": 60}',
        *(
            b'{"access_token": "x", "expires_in": %s}' % lifetime
            for lifetime in (b'"soon"', b"null", b"NaN", b'"nan"', b'"inf"', b"1e999", b"9" * 400)
        ),
    ],
)
def test_response_without_a_token_is_a_connection_error(answer):
    with login_server(lambda _: answer) as (url, _), pytest.raises(KafkaConnectionError):
        tokens(url).token()


def test_large_response_is_refused():
    with (
        login_server(lambda _: b" " * 2_000_000 + b'{"access_token": "x", "expires_in": 1}') as (url, _),
        pytest.raises(KafkaConnectionError, match="more than 1024 KiB"),
    ):
        tokens(url).token()


def test_unreachable_server_is_a_connection_error():
    with pytest.raises(KafkaConnectionError):
        tokens("http://127.0.0.1:1/").token()


def test_clients_get_tokens_only_for_oauthbearer():
    assert isinstance(
        client_options(connection("https://login.example.org/"))["sasl_oauth_token_provider"], ClientCredentials
    )
    plain = KafkaConnection.model_validate({"brokers": "localhost:9092"})
    assert "sasl_oauth_token_provider" not in client_options(plain)


def test_redirect_is_not_followed_with_the_client_secret():
    answer = valid_for(3600)
    with login_server(answer) as (other, requests_to_other), login_server(answer, redirect=other) as (url, _):
        with pytest.raises(KafkaConnectionError, match="302"):
            tokens(url).token()
        assert requests_to_other == []
