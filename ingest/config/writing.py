"""Writes values as YAML in one line, so that `ingest.config` reads them back unchanged."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingest.config.scalars import resolve

# text that never needs quotes, also in brackets: words and paths, and of text that starts with a digit sizes and IPs
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./%()=+$-]*( [A-Za-z0-9_./%()=+$-]+)*|[0-9][0-9.]*[A-Za-z%]*")
MAX_PLAIN_KEY = 1_000  # characters; YAML limits a simple key to 1,024 with its colon
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def flow(value: object, text: Callable[[str], str] | None = None) -> str:
    """
    A value in flow style.

    Args:
        value: text, numbers, booleans, None, and lists and mappings of them.
        text: writes a text value; by default `plain_or_quoted`.
    """
    write = text or plain_or_quoted
    match value:
        case str():
            return write(value)
        case Mapping():
            return "{" + ", ".join(f"{_key(str(key))}: {flow(each, text)}" for key, each in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(flow(each, text) for each in value) + "]"
        case float():
            return repr(value).replace("inf", ".inf").replace("nan", ".nan")
        case _:
            return json.dumps(value)


def _key(text: str) -> str:
    """A key in flow style; YAML requires a question mark before one of more than 1,024 characters."""
    written = plain_or_quoted(text)
    return written if len(written) <= MAX_PLAIN_KEY else f"? {written} "


def plain_or_quoted(text: str) -> str:
    """
    Text, with quotes only where it needs them.

    Text with a backslash, such as a pattern, gets single quotes, which need no escaping.
    """
    if _PLAIN.fullmatch(text) and isinstance(resolve(text), str):
        return text
    return single_quoted(text) if "\\" in text and "'" not in text and text.isprintable() else quoted(text)


def literal(value: object) -> Any:
    """A value with each `${` in its texts escaped, so that no variable is expanded; keys need no escaping."""
    match value:
        case str():
            return value.replace("${", "$${")
        case dict():
            return {key: literal(each) for key, each in value.items()}
        case list():
            return [literal(each) for each in value]
        case _:
            return value


def single_quoted(text: str) -> str:
    """Text between single quotes; it must be printable, because nothing can be escaped."""
    return "'" + text.replace("'", "''") + "'"


def quoted(text: str) -> str:
    """Text between double quotes; characters that are not printable are escaped."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
