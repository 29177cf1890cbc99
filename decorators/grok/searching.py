r"""
Search for the first match of a grok pattern, in linear time where the pattern begins with a run of characters.

`re` tries a pattern at every position. If the pattern begins with a run of unlimited length, such as `%{NOTSPACE}`,
each try in a run reads the rest of the run, which takes quadratic time. But where the pattern does not match at the
start of a run, it matches nowhere inside of it: a match would extend to the left, to the start. So the search
continues behind the run. It finds the same match as `re`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import AnyStr, NamedTuple, Protocol

from decorators.grok.ecs import ECS_LIBRARY
from decorators.grok.expansion import TOKEN, expanded
from decorators.grok.library import JAVA_START, LIBRARY, OF_LOCAL_PART, OF_URI_PATH
from ingest.expressions import Match, Pattern
from ingest.expressions.matching import compiled_like, like, searched

Search = Callable[[bytes], Match | None]
_Find = Callable[[AnyStr], re.Match[AnyStr] | None]


class _Searching(Protocol):
    """Makes the search of a compiled pattern, for bytes and for characters."""

    def __call__(self, found: re.Pattern[AnyStr]) -> _Find[AnyStr]: ...


_LABEL = r"\w[\w-]{0,62}"
_NO_LOCAL = f"[{OF_LOCAL_PART[2:]}"
_USER, _NOT_IN_USERS = r"[\w-]", rf"(?:(?![\w-]){OF_LOCAL_PART})"
_PATH = r"[\w%!$@:.,+~/-]"
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
    "HOSTNAME": _Run(_HOST, r"(?:\W|\B\w)*+"),
    "IPORHOST": _Run(_HOST, r"(?:[^\w:]|\B[^\W\d](?![0-9A-Fa-f]{0,3}:))*+", _BOUNDARIES),
    "EMAILLOCALPART": _Run(rf"{OF_LOCAL_PART}++(?:\.{OF_LOCAL_PART}++)*+", f"{_NO_LOCAL}*+"),
    "HTTPDUSER": _Run(rf"{_NOT_IN_USERS}++|{_USER}++(?:\.{_USER}++)*+", rf"(?:(?!\.){_NO_LOCAL})*+"),
    "USERNAME": _Run(r"[\w.-]++", r"[^\w.-]*+"),
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
    "URIPATH": _Run(f"/{OF_URI_PATH}*+", "[^/]*+"),
    "JAVACLASS": _Run(rf"(?:{JAVA_START}[\w$]*+\.?)++", r"[\x00-#%-@\[-^`{-\x7f]*+"),
}
_IN_BRACKETS = r"\[[^\]\\]*+(?:\\.[^\]\\]*+)*+"
_QUOTED = {quote: (rf"{quote}[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+", quote) for quote in "\"'`"}
_QUOTED_BRACKET = r'="[^"\\\[\]]*+(?:\\.[^"\\\[\]]*+)*+[\[\]]'
_BRACKETS = {"[": (_IN_BRACKETS, rf"\](?:{_IN_BRACKETS}\])*+")}
_ENCLOSED = {"QUOTEDSTRING": (_QUOTED, "(?!)"), "SYSLOG5424SD": (_BRACKETS, _QUOTED_BRACKET)}
_STRUCTURED = "SYSLOG5424SD"


def searching(text: str, patterns: Mapping[str, str], pattern: Pattern) -> Search:
    """
    A function that finds the first match of a pattern; for short texts the pattern's own search is faster.

    Args:
        text: the grok pattern.
        patterns: name -> grok pattern, for all patterns that it may refer to.
        pattern: its expansion.
    """
    library = next((each for each in (LIBRARY, ECS_LIBRARY) if each.items() <= patterns.items()), None)
    if library is None or "(?P=" in pattern.text:  # a reference compares with a match, which depends on its start
        return pattern.search
    beginning = tuple(_beginning(text, library))
    for name, after in beginning:
        run = _RUNS.get(name)
        if run is not None and (not run.ends or after in run.ends):
            return _choosing(pattern, _BehindRuns(run))
        if name in _ENCLOSED:
            return _choosing(pattern, _AtEnclosed(*_ENCLOSED[name]))
    if any(name == "SYSLOG5424PRI" for name, _ in beginning):
        return _choosing(pattern, _BeforeBrackets(expanded(text, {**patterns, _STRUCTURED: "(?!)"}).pattern.text))
    return pattern.search


def _choosing(pattern: Pattern, searching: _Searching) -> Search:
    return pattern.expression.choosing(searching, lambda found: searched(searching(found)))


def _beginning(text: str, library: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """
    The patterns of the library with which every match begins, from the outermost to the innermost.

    Yields:
        Name, and the character that follows the pattern, with its backslash; "" at the end of the text.
    """
    after = ""
    while not _has_alternatives(text):
        token = TOKEN.match(text)
        name = None if token is None else token["name"]
        if token is None or name is None or name not in library:
            return
        behind = _AFTER.match(text, token.end())
        after = (behind and behind[0]) or after
        if after in _REPEATS:
            return
        yield name, after
        text = library[name]


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


@dataclass(frozen=True, slots=True)
class _BehindRuns:
    """Continues the search behind each run."""

    run: _Run

    def __call__(self, found: re.Pattern[AnyStr]) -> _Find[AnyStr]:
        match = found.match
        skip = compiled_like(found, rf"(?:{self.run.skipped}|[\s\S]){self.run.rest}").match

        def search(text: AnyStr) -> re.Match[AnyStr] | None:
            result = match(text)
            at = 0
            while result is None and (skipped := skip(text, at)) is not None:
                at = skipped.end()
                result = match(text, at)
            return result

        return search


@dataclass(frozen=True, slots=True)
class _AtEnclosed:
    """
    Searches for a pattern that begins with text in quotes or brackets.

    One inside of another, which is escaped, ends where that ends. One that is not closed reaches to the end of the
    text, or to a backslash at the end of a line: as in the library, a backslash escapes no line feed.

    Attributes:
        enclosed: opening character -> pattern of the text up to the closing one, and of that one.
        other: a text with a match of this pattern is searched by `re`: what is enclosed may end at another character
            if the search begins inside of it.
    """

    enclosed: Mapping[str, tuple[str, str]]
    other: str

    def __call__(self, found: re.Pattern[AnyStr]) -> _Find[AnyStr]:
        match = found.match
        patterns = {
            like(found, begin): compiled_like(found, f"{opened}({end})?+").match
            for begin, (opened, end) in self.enclosed.items()
        }

        is_other = compiled_like(found, self.other).search

        def search(text: AnyStr) -> re.Match[AnyStr] | None:
            if is_other(text) is not None:
                return found.search(text)
            nearest = {begin: at for begin in patterns if (at := text.find(begin)) >= 0}
            while nearest:
                begin = min(nearest, key=nearest.__getitem__)
                at = nearest.pop(begin)
                result = match(text, at)
                if result is not None:
                    return result
                skipped = patterns[begin](text, at)
                assert skipped is not None  # noqa: S101 - for mypy: the opening character is there
                # the character that closes one may open the next one
                behind = skipped.end() + (1 if skipped[1] is None else -1)
                if (after := text.find(begin, behind)) >= 0:
                    nearest[begin] = after
            return None

        return search


@dataclass(frozen=True, slots=True)
class _BeforeBrackets:
    """
    Searches for a message of RFC 5424: after a bracket that is not closed, only matches without brackets are possible.

    Attributes:
        without: the regular expression of these.
    """

    without: str

    def __call__(self, found: re.Pattern[AnyStr]) -> _Find[AnyStr]:
        match, match_without = found.match, compiled_like(found, self.without).match
        opened = compiled_like(found, r"<[0-9]++>[0-9]++(?: ++\S++){5,6} ++(?=\[)").match
        whole = compiled_like(found, rf"(?s:{_IN_BRACKETS}\])").match
        begin = like(found, "<")

        def search(text: AnyStr) -> re.Match[AnyStr] | None:
            at = text.find(begin)
            is_closed = True
            while at >= 0:
                result = match(text, at) if is_closed else match_without(text, at)
                if result is not None:
                    return result
                if is_closed and (bracket := opened(text, at)) is not None:
                    is_closed = whole(text, bracket.end()) is not None
                at = text.find(begin, at + 1)
            return None

        return search
