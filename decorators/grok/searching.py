r"""
Search for the first match of a grok pattern, in linear time where the pattern begins with a run of characters.

`re` tries a pattern at every position. If the pattern begins with a run of unlimited length, such as `%{NOTSPACE}`,
each try in a run reads the rest of the run, which takes quadratic time. But where the pattern does not match at the
start of a run, it matches nowhere inside of it: a match would extend to the left, to the start. So the search
continues behind the run. It finds the same match as `re`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from decorators.grok.expansion import TOKEN, expanded
from decorators.grok.library import LIBRARY
from ingest.expressions import Match, Pattern

Search = Callable[[bytes], Match | None]
MatchAt = Callable[..., Match | None]
"""Matches a text, from a position on."""

_LABEL = "[0-9A-Za-z][0-9A-Za-z-]{0,62}"
_LOCAL = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_USER, _NOT_IN_USERS = "[A-Za-z0-9_-]", "[!#$%&'*+/=?^`{|}~]"
_PATH, _URI_PATH = r"[\w%!$@:.,+~/-]", "[A-Za-z0-9$.+!*'(){},~:;=@#%&_/-]"
_AFTER = re.compile(r"(?:\\[^A-Za-z0-9_]|[\s\S])?")
_BOUNDARIES = frozenset(" :;,\"'=<>@/-").union(rf"\{character}" for character in "[](){}.|+*?/-")  # behind an address
_REPEATS = frozenset("?*+{")


class _Run(NamedTuple):
    """
    How a pattern of the library begins.

    Attributes:
        skipped: from the start of a match on, inside of which no longer match can begin.
        rest: what cannot be the start of a match, to be skipped as well.
        ends: the characters of which one must follow it in the text of the pattern; any may if there is none.
    """

    skipped: str
    rest: str = ""
    ends: frozenset[str] = frozenset()


# the last label is not skipped: a label is limited to 63 characters, so one that is longer may begin inside of another
_HOST = rf"\b(?:{_LABEL}\.)++"
_RUNS = {
    "HOSTNAME": _Run(_HOST, r"(?:[^0-9A-Za-z]|\B[0-9A-Za-z])*+"),
    "IPORHOST": _Run(_HOST, r"(?:[^0-9A-Za-z:]|\B[A-Za-z](?![0-9A-Fa-f]{0,3}:))*+", _BOUNDARIES),
    "EMAILLOCALPART": _Run(rf"{_LOCAL}++(?:\.{_LOCAL}++)*+", f"[^{_LOCAL[1:]}*+"),
    "HTTPDUSER": _Run(rf"{_NOT_IN_USERS}++|{_USER}++(?:\.{_USER}++)*+", f"[^.{_LOCAL[1:]}*+"),
    "USERNAME": _Run("[A-Za-z0-9._-]++", "[^A-Za-z0-9._-]*+"),
    "NOTSPACE": _Run(r"\S++", r"\s*+"),
    "PROG": _Run(r"[!-Z\\^-~]++", r"[^!-Z\\^-~]*+"),
    "SYSLOG5424PRINTASCII": _Run("[!-~]++", "[^!-~]*+"),
    "INT": _Run("[+-]?[0-9]++", "[^0-9+-]*+"),
    "JAVASTACKTRACEPART": _Run(r"\s++", r"[^\sa]*+"),
    "SPACE": _Run(r"\s++"),
    "DATA": _Run(r"[^\n]++"),
    "GREEDYDATA": _Run(r"[^\n]++"),
    "URIPROTO": _Run("[A-Za-z][A-Za-z0-9+.-]*+", "[^A-Za-z]*+"),
    "UNIXPATH": _Run(rf"/{_PATH}*+(?:\\[^\n]{_PATH}*+)*+", "[^/]*+"),
    "URIPATH": _Run(f"/{_URI_PATH}*+", "[^/]*+"),
    "JAVACLASS": _Run(r"(?:[A-Za-z_$][\w$]*+\.?)++", "[^A-Za-z_$]*+"),
}
_IN_BRACKETS = r"\[[^\]\\]*+(?:\\.[^\]\\]*+)*+"
_QUOTED = {quote: (rf"{quote}[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+", quote) for quote in "\"'`"}
_BRACKETS = {"[": (_IN_BRACKETS, rf"\](?:{_IN_BRACKETS}\])*+")}
_ENCLOSED = {"QUOTEDSTRING": _QUOTED, "SYSLOG5424SD": _BRACKETS}
_STRUCTURED = "SYSLOG5424SD"


def searching(text: str, patterns: Mapping[str, str], pattern: Pattern) -> Search:
    """
    A function that finds the first match of a pattern; for short texts the pattern's own search is faster.

    Args:
        text: the grok pattern.
        patterns: name -> grok pattern, for all patterns that it may refer to.
        pattern: its expansion.
    """
    is_known = all(patterns[name] == known for name, known in LIBRARY.items())
    if not is_known or "(?P=" in pattern.text:  # a reference compares with a match, which depends on its start
        return pattern.search
    beginning = tuple(_beginning(text))
    for name, after in beginning:
        run = _RUNS.get(name)
        if run is not None and (not run.ends or after in run.ends):
            return _behind_runs(pattern.match, run)
        if name in _ENCLOSED:
            return _at_enclosed(pattern.match, _ENCLOSED[name])
    if any(name == "SYSLOG5424PRI" for name, _ in beginning):
        return _before_brackets(pattern.match, expanded(text, {**patterns, _STRUCTURED: "(?!)"}).pattern.match)
    return pattern.search


def _beginning(text: str) -> Iterator[tuple[str, str]]:
    """
    The patterns of the library with which every match begins, from the outermost to the innermost.

    Yields:
        Name, and the character that follows the pattern, with its backslash; "" at the end of the text.
    """
    after = ""
    while not _has_alternatives(text):
        token = TOKEN.match(text)
        name = None if token is None else token["name"]
        if token is None or name not in LIBRARY:
            return
        behind = _AFTER.match(text, token.end())
        after = (behind and behind[0]) or after
        if after in _REPEATS:
            return
        yield name, after
        text = LIBRARY[name]


def _has_alternatives(text: str) -> bool:
    """Whether a pattern has alternatives that are in no group."""
    depth = 0
    for token in TOKEN.finditer(text):
        if token.lastgroup in {"open", "group", "special"} or token["end"] == ":":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        elif token[0] == "|" and not depth:
            return True
    return False


def _behind_runs(match: MatchAt, run: _Run) -> Search:
    skip = re.compile(rf"(?:{run.skipped}|[\s\S]){run.rest}".encode()).match

    def search(text: bytes) -> Match | None:
        found = match(text)
        at = 0
        while found is None and (skipped := skip(text, at)) is not None:
            at = skipped.end()
            found = match(text, at)
        return found

    return search


def _at_enclosed(match: MatchAt, enclosed: Mapping[str, tuple[str, str]]) -> Search:
    """
    Search for a pattern that begins with text in quotes or brackets.

    One inside of another, which is escaped, ends where that ends. One that is not closed reaches to the end of the
    text, or to a backslash at the end of a line: as in the library, a backslash escapes no line feed.

    Args:
        match: matches the pattern.
        enclosed: opening character -> pattern of the text up to the closing one, and of that one.
    """
    patterns = {
        begin.encode(): re.compile(f"{opened}({end})?+".encode()).match for begin, (opened, end) in enclosed.items()
    }

    def search(text: bytes) -> Match | None:
        nearest = {begin: at for begin in patterns if (at := text.find(begin)) >= 0}
        while nearest:
            begin = min(nearest, key=nearest.__getitem__)
            at = nearest.pop(begin)
            found = match(text, at)
            if found is not None:
                return found
            skipped = patterns[begin](text, at)
            assert skipped is not None  # noqa: S101 - for mypy: the opening character is there
            # the character that closes one may open the next one
            behind = skipped.end() + (1 if skipped[1] is None else -1)
            if (after := text.find(begin, behind)) >= 0:
                nearest[begin] = after
        return None

    return search


def _before_brackets(match: MatchAt, match_without: MatchAt) -> Search:
    """After a bracket that is not closed, only matches without brackets are possible."""
    opened = re.compile(rb"<[0-9]++>[0-9]++(?: \S++){5,6} (?=\[)").match
    whole = re.compile(rf"{_IN_BRACKETS}\]".encode(), re.DOTALL).match

    def search(text: bytes) -> Match | None:
        at = text.find(b"<")
        is_closed = True
        while at >= 0:
            found = match(text, at) if is_closed else match_without(text, at)
            if found is not None:
                return found
            if is_closed and (bracket := opened(text, at)) is not None:
                is_closed = whole(text, bracket.end()) is not None
            at = text.find(b"<", at + 1)
        return None

    return search
