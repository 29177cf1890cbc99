"""Digests, checksums and encodings of bytes."""

import hashlib
import hmac
import zlib
from collections.abc import Callable

from ingest.expressions.encodings import READ, WRITE
from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter

Change = Callable[[bytes], bytes]

_ENCODINGS = ("hex", "base64", "base64url", "percent")
_FORMS = ("hex", "base64", "base64url", "bytes")


def _digest(algorithm: Callable[..., "hashlib._Hash"]) -> Callable[[str], Change]:
    def make(form: str) -> Change:
        if form == "hex":
            return lambda value: algorithm(value, usedforsecurity=False).hexdigest().encode("ascii")
        return _written(lambda value: algorithm(value, usedforsecurity=False).digest(), form)

    return make


def _hmac(key: bytes, form: str) -> Change:
    return _written(lambda value: hmac.digest(key, value, "sha256"), form)


def _written(digest: Change, form: str) -> Change:
    if form == "bytes":
        return digest
    write = WRITE[form]
    return lambda value: write(digest(value))


def _encode(form: str) -> Change:
    return WRITE[form]


def _decode(form: str) -> Change:
    return READ[form]


_VALUE = Parameter("value", Kind.VALUE, "the input")
_FORM = Parameter(
    "form",
    Kind.CHOICE,
    "encoding of the digest; hex if left out",
    required=False,
    default="hex",
    choices=_FORMS,
)

FUNCTIONS = (
    Function(
        "md5",
        "The MD5 digest.",
        _digest(hashlib.md5),
        (_VALUE, _FORM),
        (
            FunctionExample("%{md5(id)}", "900150983cd24fb0d6963f7d28e17f72", {"id": "abc"}),
            FunctionExample("%{md5('abc', 'bytes')}", bytes.fromhex("900150983cd24fb0d6963f7d28e17f72")),
        ),
    ),
    Function(
        "sha1",
        "The SHA-1 digest.",
        _digest(hashlib.sha1),
        (_VALUE, _FORM),
        (
            FunctionExample("%{sha1(id)}", "a9993e364706816aba3e25717850c26c9cd0d89d", {"id": "abc"}),
            FunctionExample("%{sha1(id, 'base64')}", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", {"id": "abc"}),
        ),
    ),
    Function(
        "sha256",
        "The SHA-256 digest.",
        _digest(hashlib.sha256),
        (_VALUE, _FORM),
        (
            FunctionExample(
                "%{sha256(id)}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", {"id": "abc"}
            ),
            FunctionExample("%{substring(sha256(id), 0, 8)}", "ba7816bf", {"id": "abc"}),
        ),
    ),
    Function(
        "hmac_sha256",
        "The HMAC-SHA-256 of the value: equal for equal values, and guesses cannot be checked without the key.",
        _hmac,
        (_VALUE, Parameter("key", Kind.TEXT, "the key, such as '${secret:pepper}'", minimum=1), _FORM),
        (
            FunctionExample(
                "%{hmac_sha256(text, 'Jefe')}",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                {"text": "what do ya want for nothing?"},
            ),
            FunctionExample("%{substring(hmac_sha256(user, 'pepper'), 0, 8)}", "62ac51de", {"user": "ann"}),
            FunctionExample("%{byte_length(hmac_sha256(user, 'pepper', 'bytes'))}", "32", {"user": "ann"}),
        ),
    ),
    Function(
        "crc32",
        "The CRC-32 checksum, in eight hexadecimal digits.",
        lambda: lambda value: b"%08x" % zlib.crc32(value),
        (_VALUE,),
        (FunctionExample("%{crc32(id)}", "352441c2", {"id": "abc"}), FunctionExample("%{crc32('')}", "00000000")),
    ),
    Function(
        "encode",
        "Encodes bytes as text.",
        _encode,
        (_VALUE, Parameter("form", Kind.CHOICE, "the encoding", choices=_ENCODINGS)),
        (
            FunctionExample("%{encode(id, 'hex')}", "616263", {"id": "abc"}),
            FunctionExample("%{encode(id, 'base64')}", "YWJj", {"id": "abc"}),
            FunctionExample("%{encode(q, 'percent')}", "a%20%26%20b", {"q": "a & b"}),
        ),
    ),
    Function(
        "decode",
        "Decodes text to bytes. `percent` leaves a plus sign unchanged, and a percent sign without two hexadecimal "
        "digits after it.",
        _decode,
        (_VALUE, Parameter("form", Kind.CHOICE, "the encoding", choices=_ENCODINGS)),
        (
            FunctionExample("%{decode('00ff', 'hex')}", b"\x00\xff"),
            FunctionExample("%{decode(id, 'base64')}", "abc", {"id": "YWJj"}),
            FunctionExample("%{decode(q, 'percent')}", "a & b", {"q": "a%20%26%20b"}),
            FunctionExample("%{decode(id, 'hex')}", attributes={"id": "xyz"}, error="bad_encoding"),
        ),
    ),
)
