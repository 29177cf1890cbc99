r"""
Translates Java's regular expressions to ours.

Most syntax is the same. What is not:

- Named groups, `\Q…\E` and `\p{…}`.
- Line ends: in Java also `\r\n`, `\r`, U+0085, U+2028 and U+2029, for a dot, `$`, `\Z`, and with the flag m for `^`.
- `\w`, `\d`, `\s` and `(?i)` know ASCII only in Java, but `\b` all letters and digits.
- After an empty match, Java looks for the next one behind the next character.

Source: the documentation of java.util.regex.Pattern, and the results of Java 17.
"""

import re
import sys
from dataclasses import dataclass, field

from ingest.expressions import Pattern
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.flume.utf16 import joined

_FURTHER = r"\x85\u2028\u2029"  # line ends besides \n and \r
_VERTICAL = rf"\n-\r{_FURTHER}"
_BLANK = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_END = rf"(?=(?:\r\n|[\r{_FURTHER}]|(?<!\r)\n)?\Z)"
_ESCAPES = {
    "A": r"\A",
    "z": r"\Z",
    "b": r"(?u:\b)",
    "B": r"(?u:(?!\b))",  # unlike \B also in an empty text
    "e": r"\x1b",
    "h": f"[{_BLANK}]",
    "H": f"[^{_BLANK}]",
    "R": rf"(?:\r\n|[{_VERTICAL}])",
    "v": f"[{_VERTICAL}]",
    "V": f"[^{_VERTICAL}]",
}
_IN_CLASSES = {"e": r"\x1b", "h": _BLANK, "v": _VERTICAL}
_ORDINARY_IN_CLASSES = ("dot", "dollar", "caret", "group", "begin", "end", "bar", "many")  # tokens
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
_LETTERS_OF_BOTH = frozenset("dDsSwWntrfvax")
_LETTERS_OF_ASCII = frozenset("dDsSwW")
_FLAGS = frozenset("imsd-")
_NOT_REPEATED = re.compile(r"(?![*?]|\{0)")
_EMPTY = frozenset("AzbB123456789")  # escapes that need no character
_CONSUMING = frozenset(["(", "(?:", "(?>"])  # groups; the others look ahead or behind

_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    |\\p\{(?P<property>\w+)\}|\\P\{(?P<other>\w+)\}
    |\\k<(?P<reference>\w+)>
    |(?P<halves>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})
    |\\u(?P<utf16>[0-9a-fA-F]{4})
    |\\x\{(?P<code>[0-9a-fA-F]{1,6})\}
    |\\x(?P<latin>[89a-fA-F][0-9a-fA-F])
    |(?P<byte>\\x[0-9a-fA-F]{2})
    |\\0(?P<octal>[0-3]?[0-7]{1,2})
    |\\c(?P<control>.)
    |\\(?P<escaped>.)
    |\(\?<(?P<group>[A-Za-z]\w*)>
    |\(\?(?P<flags>[a-zA-Z]+(?:-[a-zA-Z]*)?|-[a-zA-Z]*)(?P<scope>[:)])
    |(?P<begin>\((?:\?(?:[:=!>]|<[=!]))?)|(?P<end>\))|(?P<bar>\|)
    |(?P<many>(?:[*?+]|\{[0-9]+(?:,[0-9]*)?\})[?+]?)
    |(?P<dot>\.)|(?P<dollar>\$)|(?P<caret>\^)
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


@dataclass(frozen=True, slots=True)
class _Flags:
    r"""The flags at a position: a dot matches line ends, `^` and `$` match at lines, and only `\n` ends a line."""

    is_dotall: bool = False
    is_multiline: bool = False
    is_unix: bool = False

    def with_those(self, flags: str) -> "_Flags":
        """These flags, changed by those of a group, such as `m-s`."""
        on, _, off = flags.partition("-")

        def changed(flag: str, *, held: bool) -> bool:
            return (held or flag in on) and flag not in off

        return _Flags(
            changed("s", held=self.is_dotall), changed("m", held=self.is_multiline), changed("d", held=self.is_unix)
        )


@dataclass(slots=True)
class _State:
    """
    The state of a translation at a position.

    Attributes:
        heads: flags for all of the translation.
        is_class: whether the position is in a class.
        flags: the flags that hold, those of the innermost group last.
        needs: for each open group, for each of its branches, whether it needs a character.
        kinds: how each open group begins.
    """

    heads: set[str]
    is_class: bool = False
    flags: list[_Flags] = field(default_factory=lambda: [_Flags()])
    needs: list[list[bool]] = field(default_factory=lambda: [[False]])
    kinds: list[str] = field(default_factory=list)

    def begin(self, kind: str, flags: str = "") -> None:
        """A group begins."""
        self.flags.append(self.flags[-1].with_those(flags))
        self.needs.append([False])
        self.kinds.append(kind)

    def end(self, *, is_needed: bool) -> None:
        """A group ends; the innermost one of all, which has no beginning, remains."""
        if self.kinds:
            is_needed = all(self.needs.pop()) and is_needed and self.kinds.pop() in _CONSUMING
            self.flags.pop()
            self.needs[-1][-1] |= is_needed


def pattern_of(java: str, flags: str = "") -> Pattern:
    """
    Translate an expression, for its first match in a text.

    Args:
        java: the expression.
        flags: flags for all of it: `i` to ignore case, `s` for a dot that matches line ends.

    Raises:
        UntranslatableError: it has no equivalent, or is not valid.
    """
    return _translated(java, flags, "{}")


def in_full(java: str, flags: str = "") -> Pattern:
    """
    Translate an expression, anchored so that it matches only a whole text.

    Raises:
        UntranslatableError: it has no equivalent.
    """
    return _translated(java, flags, r"\A(?:{})\Z")


def each_of(java: str) -> Pattern:
    """
    Translate an expression, for all its matches in a text.

    Raises:
        UntranslatableError: it has no equivalent.
    """
    return _translated(java, "", "{}", "(?>{})")


def separator_of(java: str) -> Pattern:
    """
    Translate an expression that splits a text; an empty match at its start makes no piece.

    Raises:
        UntranslatableError: it has no equivalent.
    """
    return _translated(java, "", "{}", r"(?>{})(?!\A)")


def _translated(java: str, flags: str, form: str, form_of_empty: str = "") -> Pattern:
    """
    Translate an expression.

    Args:
        java: the expression.
        flags: flags for all of it, `i` and `s`.
        form: is filled with the translation.
        form_of_empty: the same for an expression that may match nothing. It matches as one unit, so that there is no
            other match where an empty one was found.
    """
    state = _State(heads={flag for flag in flags if flag in "is"})
    state.flags = [_Flags().with_those(flags)]
    pieces: list[str] = []
    columns: list[int] = []  # for each character of the translation the column in the original
    if "i" in flags:
        state.heads.add("a")
    for token in _TOKEN.finditer(java):
        if token["escaped"] in _LETTERS_OF_ASCII or "i" in (token["flags"] or ""):
            state.heads.add("a")
        if token["flags"] is not None and not state.is_class:
            piece = _flags(token, state, is_first=not any(pieces))
        else:
            piece = _in_class(token, state) if state.is_class else _outside(token, state)
        pieces.append(piece)
        columns += [token.start() + 1] * len(piece)
    head = f"(?{''.join(sorted(state.heads))})" if state.heads else ""
    text = "".join(pieces)
    try:
        found = Pattern.parse(head + text)  # before it is filled into a form, which could close one of its groups
    except ExpressionSyntaxError as error:
        place = error.column - 1 - len(head)
        column = len(java) + 1 if place >= len(columns) else columns[place] if place >= 0 else 1
        raise UntranslatableError(error.message, column) from error
    before, after = (form if all(state.needs[0]) else form_of_empty or form).split("{}")
    return Pattern.parse(f"{head}{before}{text}{after}") if before else found


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


def _flags(token: re.Match[str], state: _State, *, is_first: bool) -> str:
    """The translation of flags: those of a group, or those for the rest of the group that contains them."""
    flags, is_group = token["flags"], token["scope"] == ":"
    on, _, off = flags.partition("-")
    if not set(flags) <= _FLAGS or ("i" in flags and not is_group and ("i" in off or not is_first)):
        message = "only the flags i, m, s and d are supported, and i only at the start of the expression or in a group"
        raise UntranslatableError(f'"{token[0]}" cannot be translated: {message}', token.start() + 1)
    if is_group:
        state.begin("(?:", flags)
        return f"(?{'i' * ('i' in on)}{'-i' * ('i' in off)}:"
    state.flags[-1] = state.flags[-1].with_those(flags)
    if is_first:
        state.heads |= {flag for flag in on if flag in "is"} - set(off)
    return ""


def _outside(token: re.Match[str], state: _State) -> str:
    structure = _structure(token, state)
    if structure is not None:
        return structure
    if token["dollar"] or token["caret"] or token["escaped"] == "Z":
        return _place(token[0], state.flags[-1])
    may_be_empty = token["quoted"] == "" or (token["escaped"] or "") in _EMPTY
    state.needs[-1][-1] |= _is_needed(token) and not may_be_empty
    if token["dot"]:
        return _dot(state)
    if token["property"] or token["other"]:
        return f"[{'^' if token['other'] else ''}{_property(token)}]"
    return _ESCAPES.get(token["escaped"]) or _either(token)


def _structure(token: re.Match[str], state: _State) -> str | None:
    """The translation of the start or end of a group, of a branch, a repetition or the start of a class, else None."""
    if token["begin"] or token["group"]:
        state.begin(token["begin"] or "(")
        return f"(?P<{token['group']}>" if token["group"] else token[0]
    if token["open"]:
        state.is_class = True
        return token["open"].replace("]", r"\]")
    if token["reference"]:
        return f"(?P={token['reference']})"
    if token["end"]:
        state.end(is_needed=_is_needed(token))
    elif token["bar"]:
        state.needs[-1].append(False)
    elif not token["many"]:
        return None
    return token[0]


def _is_needed(token: re.Match[str]) -> bool:
    """Whether what ends with a token is not followed by a repetition that may be none."""
    return _NOT_REPEATED.match(token.string, token.end()) is not None


def _dot(state: _State) -> str:
    flags = state.flags[-1]
    if flags.is_dotall:
        return "." if "s" in state.heads else "(?s:.)"
    if flags.is_unix:
        return r"[^\n]"
    return rf"[^\n\r{_FURTHER}]"


def _place(java: str, flags: _Flags) -> str:
    r"""The translation of `^`, `$` or `\Z`."""
    if java == "^":
        if not flags.is_multiline:
            return java
        before = r"(?<=\n)" if flags.is_unix else rf"(?<=[\n{_FURTHER}])|(?<=\r)(?!\n)"
        return rf"(?:(?!\Z)(?:\A|{before}))"
    if java == "$" and flags.is_multiline:
        return r"(?=\n|\Z)" if flags.is_unix else rf"(?=[\r{_FURTHER}]|(?<!\r)\n|\Z)"
    return r"(?=\n?\Z)" if flags.is_unix else _END


def _in_class(token: re.Match[str], state: _State) -> str:
    if token["close"]:
        state.is_class = False
        state.needs[-1][-1] |= _is_needed(token)
        return token[0]
    if token["open"] or token["both"]:
        raise UntranslatableError("a class inside a class cannot be translated", token.start() + 1)
    if token["other"] or token["reference"] or token["escaped"] in {*"RHVbB"}:
        raise UntranslatableError(f'"{token[0]}" inside a class cannot be translated', token.start() + 1)
    if token["property"]:
        return _property(token)
    if any(token[name] for name in _ORDINARY_IN_CLASSES):
        return token[0]
    return _IN_CLASSES.get(token["escaped"]) or _either(token)


def _either(token: re.Match[str]) -> str:
    """The translation of a token that is the same inside and outside of a class."""
    if token["quoted"] is not None:
        return re.escape(token["quoted"])
    for name, base in (("utf16", 16), ("code", 16), ("latin", 16), ("octal", 8)):
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
