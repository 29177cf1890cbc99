"""Values as YAML in one line, such that `ingest.config` reads the same again."""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from ingest.config.scalars import resolve

# what surely needs no quotes, neither here nor in brackets; what begins as a number has them, but sizes and addresses
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./%()=+$-]*( [A-Za-z0-9_./%()=+$-]+)*|[0-9][0-9.]*[A-Za-z%]*")
MAX_PLAIN_KEY = 1_000  # characters; less than 1,024, for the colon has to stand within them
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def flow(value: object, text: Callable[[str], str] | None = None) -> str:
    """
    A value, lists and mappings in brackets.

    Args:
        value: text, numbers, truth values, None, and lists and mappings of them.
        text: how text that is a value is written; with quotes only where it needs them when left out.
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
    """A key of a mapping in brackets; YAML wants a question mark before one that is longer than 1,024 characters."""
    written = plain_or_quoted(text)
    return written if len(written) <= MAX_PLAIN_KEY else f"? {written} "


def plain_or_quoted(text: str) -> str:
    """
    Text, with quotes only where it would be taken for something else.

    What has a backslash in it, as patterns have, stands between single quotes, so that it looks as it is.
    """
    if _PLAIN.fullmatch(text) and isinstance(resolve(text), str):
        return text
    return single_quoted(text) if "\\" in text and "'" not in text and text.isprintable() else quoted(text)


def literal(text: str) -> str:
    """Text that is a value, for a file in which `${` begins a variable; keys are taken as they are."""
    return text.replace("${", "$${")


def single_quoted(text: str) -> str:
    """Text between single quotes, where nothing is escaped: it must be printable."""
    return "'" + text.replace("'", "''") + "'"


def quoted(text: str) -> str:
    """Text between double quotes; whatever cannot be seen is escaped."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
