r"""
Translates Java's regular expressions to ours.

Most syntax is the same. The exceptions are named groups, `\Q…\E`, `\p{…}`, line terminators (only `\n` here, also `\r`
in Java), and `\w`, `\d`, `\s` and `(?i)`, which know ASCII only in Java.

Source: the documentation of java.util.regex.Pattern.
"""

import re
import sys
from dataclasses import dataclass

from ingest.expressions import Pattern
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.flume.utf16 import joined

_NO_LINE_END = r"[^\n\r]"
_LINE_END = r"(?:\r\n|[\n\r])"
_VERTICAL = r"\n-\r\x85\u2028\u2029"
_ESCAPES = {
    "A": r"\A",
    "z": r"\Z",
    "Z": rf"(?={_LINE_END}?\Z)",
    "e": r"\x1b",
    "h": r"[ \t]",
    "H": r"[^ \t]",
    "R": rf"(?:\r\n|[{_VERTICAL}])",
    "v": rf"[{_VERTICAL}]",
}
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r"\s",
}
_SURROGATES = range(0xD800, 0xE000)
_LETTERS_OF_BOTH = frozenset("dDsSwWbBntrfvax")
_LETTERS_OF_ASCII = frozenset("dDsSwW")
_FLAGS_OF_BOTH = frozenset("ims")
_FLAGS_OF_GROUPS = frozenset("i-")

_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    |\\p\{(?:Is)?(?P<property>\w+)\}|\\P\{(?:Is)?(?P<other>\w+)\}
    |\\k<(?P<reference>\w+)>
    |(?P<halves>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})
    |\\u(?P<utf16>[0-9a-fA-F]{4})
    |\\x\{(?P<code>[0-9a-fA-F]{1,6})\}
    |\\0(?P<octal>[0-3]?[0-7]{1,2})
    |\\c(?P<control>.)
    |\\(?P<escaped>.)
    |\(\?<(?P<group>[A-Za-z]\w*)>
    |\(\?(?P<flags>[a-zA-Z]+(?:-[a-zA-Z]*)?|-[a-zA-Z]*)(?P<scope>[:)])
    |(?P<dot>\.)|(?P<dollar>\$)
    |(?P<open>\[\^?\]?)|(?P<close>\])|(?P<both>&&)
    |(?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)


_REPLACEMENT = re.compile(
    r"\\(?P<escaped>.)|\$\{(?P<name>[A-Za-z]\w*)\}|\$(?P<digits>[0-9]{1,9})|[$\\]", re.DOTALL | re.ASCII
)


class UntranslatableError(ValueError):
    """
    A part of the expression has no equivalent.

    Attributes:
        column: column of the part, from 1.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


@dataclass(slots=True)
class _State:
    """The state of a translation at a position."""

    is_class: bool = False
    is_dotall: bool = False
    is_multiline: bool = False


def pattern_of(java: str, flags: str = "") -> Pattern:
    """
    Translate an expression.

    Args:
        java: the expression.
        flags: flags for all of it: `i` to ignore case, `s` for a dot that matches line terminators.

    Raises:
        UntranslatableError: it has no equivalent, or is not valid.
    """
    state = _State(is_dotall="s" in flags)
    pieces: list[str] = []
    columns: list[int] = []  # for each character of the translation the column in the original
    global_flags = set(flags)
    is_of_ascii = "i" in flags
    for token in _TOKEN.finditer(java):
        is_of_ascii |= token["escaped"] in _LETTERS_OF_ASCII or "i" in (token["flags"] or "")
        if token["flags"] is not None and not state.is_class:
            piece = _flags(token, state, global_flags)
        else:
            piece = _in_class(token, state) if state.is_class else _outside(token, state)
        pieces.append(piece)
        columns += [token.start() + 1] * len(piece)
    if is_of_ascii:
        global_flags.add("a")
    head = f"(?{''.join(sorted(global_flags))})" if global_flags else ""
    text = head + "".join(pieces)
    try:
        return Pattern.parse(text)
    except ExpressionSyntaxError as error:
        place = error.column - 1 - len(head)
        column = len(java) + 1 if place >= len(columns) else columns[place] if place >= 0 else 1
        raise UntranslatableError(error.message, column) from error


def in_full(java: str, flags: str = "") -> Pattern:
    """
    Translate an expression, anchored so that it matches only a whole text.

    Raises:
        UntranslatableError: it has no equivalent.
    """
    inner = pattern_of(java, flags).text
    head = re.match(r"\(\?[a-z]+\)", inner)
    flags_group = head[0] if head else ""
    return Pattern.parse(rf"{flags_group}\A(?:{inner.removeprefix(flags_group)})\Z")


def replacement_of(java: str, groups: int) -> str:
    """
    Translate a replacement.

    Args:
        java: the replacement, with `$1` for the first group.
        groups: number of groups of the expression.

    Raises:
        UntranslatableError: it refers to an unknown group.
    """

    def translated(token: re.Match[str]) -> str:
        if token["escaped"]:
            return token["escaped"].replace("\\", "\\\\")
        if token["name"]:
            return f"\\g<{token['name']}>"
        digits = token["digits"]
        if not digits or int(digits[0]) > groups:
            raise UntranslatableError(f'"{token[0]}" is not a group of the expression', token.start() + 1)
        length = 1  # Java reads as many digits as form the number of a group
        while length < len(digits) and int(digits[: length + 1]) <= groups:
            length += 1
        return f"\\g<{digits[:length]}>{digits[length:]}"

    return _REPLACEMENT.sub(translated, java)


def _flags(token: re.Match[str], state: _State, global_flags: set[str]) -> str:
    """Add leading flags to the global ones; return the translation of the flags of a group."""
    flags, is_group = set(token["flags"]), token["scope"] == ":"
    if is_group and flags <= _FLAGS_OF_GROUPS:
        return token[0]
    if is_group or token.start() != 0 or not flags <= _FLAGS_OF_BOTH:
        message = "only i, m and s at the start of the expression, and i in a group, are supported"
        raise UntranslatableError(f'"{token[0]}" cannot be translated: {message}', token.start() + 1)
    global_flags |= flags
    state.is_dotall |= "s" in global_flags
    state.is_multiline |= "m" in global_flags
    return ""


def _outside(token: re.Match[str], state: _State) -> str:
    if token["dot"]:
        return "." if state.is_dotall else _NO_LINE_END
    if token["dollar"]:
        return "$" if state.is_multiline else _ESCAPES["Z"]
    if token["open"]:
        state.is_class = True
        return token["open"].replace("]", r"\]")
    if token["property"] or token["other"]:
        return f"[{'^' if token['other'] else ''}{_property(token)}]"
    for name, form in (("group", "(?P<%s>"), ("reference", "(?P=%s)")):
        if token[name]:
            return form % token[name]
    return _ESCAPES.get(token["escaped"]) or _either(token)


def _in_class(token: re.Match[str], state: _State) -> str:
    if token["close"]:
        state.is_class = False
        return token[0]
    if token["open"] or token["both"]:
        raise UntranslatableError("a class inside a class cannot be translated", token.start() + 1)
    if token["property"]:
        return _property(token)
    if token["other"] or token["reference"] or token["escaped"] in {"R", "H", "b", "B"}:
        raise UntranslatableError(f'"{token[0]}" inside a class cannot be translated', token.start() + 1)
    if token["escaped"] == "h":
        return r" \t"
    if token["escaped"] == "v":
        return _VERTICAL
    if token["escaped"] == "e":
        return r"\x1b"
    return token[0] if token["dot"] or token["dollar"] or token["group"] else _either(token)


def _either(token: re.Match[str]) -> str:
    """The translation of a token that is the same inside and outside of a class."""
    if token["quoted"] is not None:
        return re.escape(token["quoted"])
    for name, base in (("utf16", 16), ("code", 16), ("octal", 8)):
        if token[name]:
            return re.escape(_character(token, int(token[name], base)))
    if token["halves"]:
        high, low = token["halves"][2:6], token["halves"][8:]
        return joined(chr(int(high, 16)) + chr(int(low, 16)))
    if token["control"]:
        return f"\\x{ord(token['control']) ^ 64:02x}"
    escaped = token["escaped"]
    if escaped is None:
        return token[0]
    if escaped.isascii() and escaped.isalpha() and escaped not in _LETTERS_OF_BOTH:
        raise UntranslatableError(f'"\\{escaped}" cannot be translated', token.start() + 1)
    return token[0] if escaped.isascii() else str(escaped)


def _character(token: re.Match[str], code: int) -> str:
    if code > sys.maxunicode or code in _SURROGATES:
        raise UntranslatableError(f'"{token[0]}" is not a character', token.start() + 1)
    return chr(code)


def _property(token: re.Match[str]) -> str:
    name = token["property"] or token["other"]
    if name not in _CLASSES:
        raise UntranslatableError(f'"{token[0]}" cannot be translated', token.start() + 1)
    return _CLASSES[name]
