r"""Bytes and names in JSON: text if they are UTF-8, else `{"b64": …}`; bytes as users write them, with `\xNN`."""

import base64
import re
import reprlib
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from ingest.api.errors import ConfigError, DecodeError

Notation = str | dict[str, str]

_MAX_NAME_BYTES = 127  # in a message; the length of the longest family name
_MAX_VALUE_BYTES = 60
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_BAD_ESCAPE = re.compile(r"\\x(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)


class BadNotationError(DecodeError):
    """A value in JSON is neither a string nor {"b64": "…"}."""

    code = "bad_notation"
    remedy = 'Write a string, or {"b64": "…"} with valid base64.'


def to_notation(value: bytes) -> Notation:
    """The JSON form of bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode("ascii")}


def shown(*names: bytes) -> str:
    """Names for a message, in quotes: characters that are not printable are escaped, a cut name ends with "…"."""
    return ", ".join(_start(name, _MAX_NAME_BYTES) for name in names)


def shown_start(value: bytes) -> str:
    """The start of a value of any length for a message, in the form of `shown`."""
    return _start(value, _MAX_VALUE_BYTES)


def from_notation(notation: object) -> bytes:
    """
    Bytes of a JSON form.

    A subclass of str is refused: it is a number as written.

    Raises:
        DecodeError: it is neither text nor `{"b64": …}` with base64 in it.
    """
    match notation:
        case str() if type(notation) is str:
            return name_to_bytes(notation)
        case {"b64": str(text), **rest} if not rest and type(text) is str:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError as error:  # not binascii.Error: characters beyond ASCII raise a plain ValueError
                raise BadNotationError(f'"{text}" is not base64: {error}') from error
        case _:
            raise BadNotationError(
                f"{reprlib.repr(notation)} is neither text nor bytes",  # shortened: it may have any length and depth
                hint='write a string, or {"b64": "…"} for bytes',
            )


Notated = Annotated[bytes, PlainValidator(from_notation), PlainSerializer(to_notation)]
"""Bytes that a stored record has in their JSON form."""


def from_readable(text: str) -> bytes:
    r"""
    The bytes of an argument: `\xNN` is a byte, all other text is UTF-8; a backslash before an `x` is `\x5c`.

    Raises:
        ConfigError: `\x` without two hexadecimal digits.
    """
    bad = _BAD_ESCAPE.search(text)
    if bad is not None:
        raise ConfigError(
            f'"{text}" has "{bad[0]}" at character {bad.start() + 1}, which is no byte',
            hint=r"write \xNN with two hexadecimal digits, and \x5c for a backslash before an x",
        )
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), name_to_bytes(text))


def readable(value: bytes) -> str:
    r"""
    Bytes as text on one line, with `\xNN` for what is not printable; the inverse of `from_readable`.

    A backslash before an `x` becomes `\x5C`, all other backslashes are literal. Letters among the digits are capital,
    as HBase's shell prints them; it reads no others.
    """
    text = value.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\x" not in text:
        return text
    return "".join(_printable(character, escape=text.startswith("\\x", place)) for place, character in enumerate(text))


def name_to_bytes(name: str) -> bytes:
    """Bytes of an attribute name; lone surrogates become the bytes they stand for."""
    try:
        return name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogateescape" if _is_escaped(name) else "surrogatepass")


def name_from_bytes(value: bytes) -> str:
    """Attribute name of any bytes; bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    return value.decode("utf-8", "surrogateescape")


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _start(value: bytes, most: int) -> str:
    quoted = f'"{_visible(value[:most].decode("utf-8", "backslashreplace"))}"'
    return quoted if len(value) <= most else f"{quoted}…"


def _is_escaped(name: str) -> bool:
    return all(not "\ud800" <= character <= "\udfff" or "\udc80" <= character <= "\udcff" for character in name)


def _printable(character: str, *, escape: bool) -> str:
    if character.isprintable() and not escape:
        return character
    return "".join(f"\\x{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
