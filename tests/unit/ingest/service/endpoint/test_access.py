"""Which requests may change something."""

import stat
from http import HTTPStatus
from pathlib import Path

import pytest

from ingest.api import IntegrityError
from ingest.service.endpoint.access import Access, made_token, token_file

TOKEN = "a-token-of-32-characters-or-so"  # noqa: S105 - of these tests
ACCESS = Access(TOKEN, host="127.0.0.1", is_private=True)
BEARER = f"Bearer {TOKEN}"
DAMAGED = ["[::1", "::1]", "::1", "[::1]x", "[v1.x]", "u@127.0.0.1", "127.0.0.1/x", "127.0.0.1:x", "127.0.0.1\r\n :1"]
"""Headers `Host` without a host."""


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9464", "localhost:9464", "[::1]:9464", "10.0.0.7", "LOCALHOST", "[fe80::1%eth0]:1"]
)
def test_addresses_and_localhost_are_names_of_the_service(host: str):
    assert ACCESS.refusal(host=host, origin=None, authorization=BEARER) is None


@pytest.mark.parametrize(
    "host", ["evil.example:9464", "", "localhost.evil.example", "127.0.0.1.evil.example", *DAMAGED]
)
def test_other_names_are_refused_even_with_the_token(host: str):
    refusal = ACCESS.refusal(host=host, origin=None, authorization=BEARER)
    assert refusal is not None
    assert (refusal.status, refusal.text) == (HTTPStatus.FORBIDDEN, f'"{host}" is not a name of this service')


@pytest.mark.parametrize(("origin", "is_allowed"), [
    ("http://127.0.0.1:9464", True),
    ("http://evil.example", False),
    ("http://127.0.0.1:8080", False),
    ("null", False),
    ("http://[", False),
])  # fmt: skip
def test_pages_of_other_sites_are_refused(origin: str, is_allowed: bool):
    refusal = ACCESS.refusal(host="127.0.0.1:9464", origin=origin, authorization=BEARER)
    assert (refusal is None) is is_allowed


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \N{SNOWMAN}", f"{BEARER} x"]
)
def test_wrong_tokens_are_refused(authorization: str):
    refusal = ACCESS.refusal(host="localhost", origin=None, authorization=authorization)
    assert refusal is not None
    assert refusal.status is HTTPStatus.UNAUTHORIZED
    assert TOKEN not in refusal.text


def test_no_token_travels_in_clear_to_another_machine():
    access = Access(TOKEN, host="10.0.0.7", is_private=False)
    refusal = access.refusal(host="10.0.0.7:9464", origin=None, authorization=BEARER)
    assert refusal is not None
    assert "no TLS" in refusal.text


def test_token_is_written_once_and_readable_only_by_its_user(tmp_path: Path):
    token = made_token(tmp_path)
    assert made_token(tmp_path) == token
    assert len(token) >= 32
    assert stat.S_IMODE(token_file(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(token_file(tmp_path).parent.stat().st_mode) == 0o700


def test_emptied_token_file_is_refused(tmp_path: Path):
    made_token(tmp_path)
    token_file(tmp_path).write_text("")
    with pytest.raises(IntegrityError, match="has no token"):
        made_token(tmp_path)


def test_token_file_with_characters_that_cannot_be_sent_is_refused(tmp_path: Path):
    made_token(tmp_path)
    token_file(tmp_path).write_text("ein Schlüssel ohne ASCII", encoding="utf-8")
    with pytest.raises(IntegrityError, match="other characters than printable ASCII"):
        made_token(tmp_path)
    token_file(tmp_path).write_text("  a-token-between-blanks\n")
    assert made_token(tmp_path) == "a-token-between-blanks"
