"""Requests from JSON."""

import pytest

from ingest.api import ConfigError, Model
from ingest.service.request import request_of


class Wanted(Model):
    table: str = "t"
    at: tuple[int, ...] = ()


def test_content_of_a_request():
    assert request_of(Wanted, b'{"table": "x", "at": [1]}', "send JSON") == Wanted(table="x", at=(1,))
    assert request_of(Wanted, b"", "send JSON") == Wanted()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{"at": [1, "b"]}', r"at\.1: "), (b"[]", "the request: "), (b"{", "the request: Invalid JSON")],
)
def test_wrong_content(content: bytes, message: str):
    with pytest.raises(ConfigError, match=message) as raised:
        request_of(Wanted, content, 'send JSON as {"table": NAME}')
    assert raised.value.hint == 'send JSON as {"table": NAME}'
