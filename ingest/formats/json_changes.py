"""Text replacements that keep JSON valid."""

import json
import re
from collections.abc import Callable

from ingest.api.errors import DecorateError
from ingest.formats.json_text import read_json

Change = Callable[[bytes], bytes]

_BEGINS = re.compile(rb"[ \t\r\n]*+[{\[]")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = _STRING + rb"|[\w.+-]++"
_PIECE = re.compile(
    rb"(?P<key>%b)(?P<colon>\s*+:\s*+)(?P<value>%b)?+|(?P<alone>%b)" % (_STRING, _SCALAR, _SCALAR), re.DOTALL
)


def leaving_json(change: Change, replacement: str) -> Change:
    """
    Wrap a text replacement so that a JSON object or array stays valid.

    If the result for the whole text is not valid JSON, the replacement is applied piece by piece: to each member's name
    and value, and to each element of an array, also in nested objects and arrays. A changed number or literal gets
    quotes. Runs in linear time, with no overhead for text that does not change.

    Args:
        change: the replacement.
        replacement: value to use where the result for a piece is not valid JSON.
    """
    instead = json.dumps(replacement).encode()

    def value_of(value: bytes) -> bytes:
        quoted = _quoted(value)
        changed = change(quoted)
        if changed == quoted:
            return value
        return changed if _is_json(b"[%b]" % changed) else instead

    def piece_of(piece: re.Match[bytes]) -> bytes:
        key, colon, value, alone = piece.groups()
        if alone is not None:
            return value_of(alone)
        if value is None:
            return value_of(key) + colon
        quoted = _quoted(value)
        pair = key + colon + quoted
        changed = change(pair)
        if changed == pair:
            return piece[0]
        if not _is_json(b"{%b}" % changed):
            return value_of(key) + colon + instead
        return changed.removesuffix(quoted) + value if changed.endswith(colon + quoted) else changed

    def changed_json(text: bytes) -> bytes:
        changed = change(text)
        if changed == text or not _BEGINS.match(text) or _is_json(changed) or not _is_json(text):
            return changed
        first = _alike(text, changed)
        last = len(text) - _alike(text[first:][::-1], changed[first:][::-1])
        return _PIECE.sub(
            lambda piece: piece_of(piece) if piece.end() >= first and piece.start() <= last else piece[0], text
        )

    return changed_json


def _alike(one: bytes, other: bytes) -> int:
    """Length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _quoted(value: bytes) -> bytes:
    return value if value.startswith(b'"') else b'"%b"' % value


def _is_json(text: bytes) -> bool:
    try:
        read_json(text)
    except DecorateError:
        return False
    return True
