"""Changes of a text that leave it JSON."""

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
    A change of texts that leaves JSON what it is: an object or an array that would no longer be one is changed piece by
    piece.

    A piece is a member's name with its value, or a value of an array. A number or a word that is changed gets quotes,
    unless all of the text is JSON without them; a value that is an object or an array is looked at in its own pieces.
    The time is linear, and a text in which nothing changes costs what the change does.

    Args:
        change: of any text.
        replacement: what takes the place of a value that cannot be changed otherwise.
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
    """How many bytes two texts have in common at their beginning."""
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
