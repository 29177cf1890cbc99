"""Tokens and keys of secrets: what they look like in text, and in the names of attributes."""

import re
from enum import Enum

from ingest.api.notation import name_to_bytes

# A closing quote has as many backslashes before it as the opening one: 1 inside a JSON string, 3 inside a JSON string
# in a JSON string, then 7. In front of those, each 2, 4, 8 or 16 backslashes belong to the value. For each kind of
# quote, only one search runs to the end of the text: any later opening quote would close the earlier one.
_QUOTED = rb"(\\{0,7}+)([\"'])((?s:.*?)(?<!\\)(?:\1\1\\\\)*+)\1\2"
_BARE = rb"[^\s\"'\\&,;<>(){}\[\]]++"
_VALUE = rb"\\*[\"']?\s*+[:=]\s*+(?:%b|\\*[\"']?(?:bearer\s++)?(%b|[(\[{<]++%b[)\]}>]?))" % (_QUOTED, _BARE, _BARE)
_KEY = rb"(?:(?:api|access|secret)[_-]?key|token|secret|passw(?:or)?d)"
_NAME = re.compile(rb"(?i)(?:%b|(authorization))\Z" % _KEY)  # for the names of attributes
# RFC 9110, 11.4: after a scheme, one token, or parameters; a parameter of AWS has semicolons, its older token a colon.
# Groups are not for here: Python 3.11 gives wrong spans of groups in possessive repetitions.
_QUOTES = (
    rb"\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\""
    rb"|\\\"(?:[^\"\\]++|\\{4}|\\{3}\"|\\{1,2}(?![\"\\]))*+\\\""  # in a JSON string
    rb"|\\{3,}+\"[^\"]*+\"|'[^']*+'"
)
_PARAMETERS = rb"(?:[\w-]++=(?:%b|(?!=)[^\s\"'\\,<>(){}\[\]]++)(?:\s*+,\s*+(?=[\w-]++=))?+)++" % _QUOTES
_SCHEME = rb"authorization\\*[\"']?\s*+[:=]\s*+\\*[\"']?[\w-]++\s++"
TOKENS = (
    (
        (b"bearer", b"authorization"),
        re.compile(rb"(?i)(?:%b(%b|[\w.~+/:-]{6,}+=*+)|\bbearer\s++([\w.~+/-]{6,}+=*+))" % (_SCHEME, _PARAMETERS)),
    ),
    (
        (b"key", b"token", b"secret", b"passw"),
        re.compile(rb"(?i)" + _KEY + _VALUE),
    ),
    # the first part ends before the start of another token
    ((b"eyj",), re.compile(rb"\b(eyJ(?:\w++|-(?!eyJ))++\.eyJ[\w-]++\.[\w-]*+)")),
    (
        (b"akia", b"asia", b"gh", b"xox", b"k_live_", b"k_test_"),
        re.compile(
            rb"\b((?:AKIA|ASIA)[A-Z0-9]{16}\b|gh[pousr]_\w{30,}+|xox[abeoprs]-[\w-]{10,}+|[rs]k_(?:live|test)_\w{16,}+)"
        ),
    ),
)
"""Substrings in lower case, one of which every match contains; the pattern, whose last group is the secret."""


class Key(Enum):
    """What an attribute's name says about its value: nothing, a secret, or a header with a secret."""

    NONE = 0
    WHOLE = 1
    HEADER = 2


def key_of(name: str) -> Key:
    """What the name of an attribute says about its value."""
    found = _NAME.search(name_to_bytes(name))
    if found is None:
        return Key.NONE
    return Key.WHOLE if found[1] is None else Key.HEADER
