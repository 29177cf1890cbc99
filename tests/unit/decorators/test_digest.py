"""The digest decorator."""

import hashlib
from base64 import b64encode

import pytest

from decorators.hash import Algorithm, Digest

EMPTY_MD5 = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("body", [b"", b"hello", bytes(range(256))])
def test_raw_bytes_of_the_body(attributes_after, algorithm, body):
    found = attributes_after(Digest, f"{{algorithm: {algorithm}, attribute: d}}", body)
    assert found == {"d": hashlib.new(algorithm, body).digest()}


def test_md5_as_rfc_1321_has_it(attributes_after):
    found = attributes_after(Digest, "{algorithm: md5, attribute: d, encoding: hex}")
    assert found == {"d": EMPTY_MD5.encode()}


def test_base64_is_one_line(attributes_after):
    found = attributes_after(Digest, "{algorithm: sha512, attribute: d, encoding: base64}", b"x")
    assert found == {"d": b64encode(hashlib.sha512(b"x").digest())}
    assert b"\n" not in found["d"]


def test_digests_an_attribute(attributes_after):
    found = attributes_after(Digest, "{algorithm: md5, attribute: d, encoding: hex, source: s}", b"body", {"s": ""})
    assert found["d"] == EMPTY_MD5.encode()


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Digest, "{algorithm: md5, attribute: d, source: s}", b"x") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    code = refusal_of(Digest, "{algorithm: md5, attribute: d}", attributes={"d": "1"}, write_once=True)
    assert code == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{algorithm: crc32, attribute: d}", [("enum", ("algorithm",))]),
        ("{algorithm: md5, attribute: d, encoding: octal}", [("enum", ("encoding",))]),
        ("{attribute: d}", [("missing", ("algorithm",))]),
        ("{algorithm: md5}", [("missing", ())]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Digest, settings) == expected


def test_has_all_options_of_hash(attributes_after):
    settings = "{algorithm: md5, attributes: {s: d}, salt: x, encoding: hex}"
    assert attributes_after(Digest, settings, b"", {"s": ""})["d"] == b"9dd4e461268c8034f5c8564e155c67a6"
