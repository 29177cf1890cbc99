"""Tokens for brokers that require oauthbearer."""

import math
import ssl
import threading
import time
import urllib.parse
from base64 import b64encode

import orjson
from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from ingest.http import Answer, CallFailedError, call
from ingest.kafka.settings import SaslSettings, TlsSettings, revealed

_TIMEOUT_S = 5
_MAX_BYTES = 1 << 20  # of an answer; a token with many claims takes some KiB
_OK = range(200, 300)
_RENEW_BEFORE_S = 60  # a token that expires during the handshake would fail the connection


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """
    Tokens of a login server, requested with the client's id and secret, and cached until they are about to expire.

    Called by threads of the client, for each new connection.

    Source: RFC 6749, section 4.4.
    """

    def __init__(self, sasl: SaslSettings, tls: TlsSettings | None) -> None:
        super().__init__()
        self._sasl = sasl
        self._ca_file = None if tls is None else tls.ca_file
        self._lock = threading.Lock()
        self._token = ""
        self._ends_at_s = 0.0

    def token(self) -> str:
        """
        A token that is valid for at least a minute.

        Raises:
            KafkaConnectionError: the login server issues none now; kafka-python retries.
        """
        with self._lock:
            if time.monotonic() >= self._ends_at_s - _RENEW_BEFORE_S:
                requested_at_s = time.monotonic()
                self._token, lifetime_s = self._fetch()
                self._ends_at_s = requested_at_s + lifetime_s
            return self._token

    def _fetch(self) -> tuple[str, float]:
        form = {"grant_type": "client_credentials"}
        if self._sasl.scope is not None:
            form["scope"] = self._sasl.scope
        url = self._sasl.token_url or ""
        headers = {"Authorization": f"Basic {self._credentials()}", "Accept": "application/json"}
        try:
            answer = call(
                url,
                data=urllib.parse.urlencode(form).encode(),
                headers=headers,
                trusted=ssl.create_default_context(cafile=self._ca_file),
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_BYTES,
            )
            return _token_in(answer)
        except (CallFailedError, OSError, ValueError, LookupError, TypeError) as error:
            raise KafkaConnectionError(f'no token from "{url}": {error}') from error

    def _credentials(self) -> str:
        name, secret = self._sasl.client_id or "", revealed(self._sasl.client_secret)
        return b64encode(f"{urllib.parse.quote_plus(name)}:{urllib.parse.quote_plus(secret)}".encode()).decode()


def _token_in(answer: Answer) -> tuple[str, float]:
    """
    A token, and its lifetime in seconds.

    Raises:
        ValueError, LookupError, TypeError: the answer has none.
    """
    if answer.status not in _OK:
        raise ValueError(f"HTTP Error {answer.status}: {answer.reason}")
    found = orjson.loads(answer.content)
    token, lifetime_s = found["access_token"], float(found.get("expires_in", 0))
    if not isinstance(token, str) or not math.isfinite(lifetime_s):
        raise TypeError("the answer has no token with a lifetime")
    return token, lifetime_s
