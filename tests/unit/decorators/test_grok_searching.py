"""The search of the grok decorator finds the matches of `re`, with few attempts."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.grok import Grok
from decorators.grok.expansion import expanded
from decorators.grok.library import LIBRARY
from decorators.grok.searching import searching
from ingest.expressions.matching import CharacterMatch, Expression

BEGINNINGS = (
    *("HOSTNAME", "IPORHOST", "SYSLOGHOST", "HOSTPORT", "EMAILLOCALPART", "EMAILADDRESS", "HTTPDUSER", "USER"),
    *("NOTSPACE", "PROG", "SYSLOG5424PRINTASCII", "INT", "SPACE", "DATA", "GREEDYDATA", "URIPROTO", "URI"),
    *("UNIXPATH", "URIPATH", "JAVACLASS", "QS", "SYSLOG5424SD", "SYSLOG5424LINE", "JAVASTACKTRACEPART"),
    *("COMMONAPACHELOG", "COMBINEDAPACHELOG"),
)
ENDS = ("", " x", ":1", r"\.b", r"\[", "x", "$", "@", "%{GREEDYDATA}z")
LINE = ' - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1'
PIECES = (
    *"a_1.:/@[]'`%+={$- \t\n\\\"",
    "\\\n",
    *("b1", "::", "1.2.3.4", "fe80::1%e", "a.b.c.", "foo.bar-baz.", "x@y.z", "http://", "at ", "A.b(c:1)", "\\]"),
    *(
        "a" * 64,
        "b-" + "c" * 62,
        LINE,
        LINE.replace("200", "x"),
        ' "-" "m"',
        '"a\\"b"',
        "é",
        "é_b.ü-c",
        "\u3000",
        "٣",
        '[a b="c"]',
        '[a b="]" c="[d]"]',
        '="]',
        "[a",
    ),
    *("<1>1", " - - - - -", " - - - - ", "2020-01-01T00:00:00Z", " 2020-01-01 00:00:00"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map(lambda pieces: "".join(pieces).encode())


@pytest.mark.parametrize("name", BEGINNINGS)
@given(end=st.sampled_from(ENDS), text=TEXTS)
def test_finds_the_match_of_re(name, end, text):
    pattern = expanded(f"%{{{name}:value}}{end}", LIBRARY).pattern
    found, expected = searching(f"%{{{name}:value}}{end}", LIBRARY, pattern)(text), pattern.search(text)
    assert _place(found) == _place(expected)


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [("%{QS}z", b'"a\\\n\\"b"z', (5, 9)), ("%{SYSLOG5424SD}z", b"[a\\\n[b]z", (4, 8))],
)
def test_a_backslash_at_the_end_of_a_line_ends_what_is_not_closed(pattern, text, span):
    plain = expanded(pattern, LIBRARY).pattern
    found, expected = searching(pattern, LIBRARY, plain)(text), plain.search(text)
    assert _place(found) == _place(expected)
    assert found.span() == span


@pytest.mark.parametrize(
    ("pattern", "text", "most"),
    [
        ("%{COMMONAPACHELOG}", "a." * 1000, 3),
        ("%{COMBINEDAPACHELOG}", "1.1." * 1000 + " - -", 5),
        ("%{HOSTPORT}", "a.b-c." * 1000, 4),
        ("%{IPORHOST:client} %{WORD}", "a." * 1000, 3),
        ("%{SYSLOGHOST}\\[", "a." * 1000, 3),
        ("%{EMAILADDRESS}", "a." * 1000, 3),
        ("%{HTTPDUSER} x", "=" * 1000, 3),
        ("%{URI}", "http" * 1000, 3),
        ("%{NOTSPACE:path} x", "a/" * 1000, 3),
        ("%{USERNAME} x", "a." * 1000, 3),
        ("%{PROG}x:", "a-" * 1000, 3),
        ("%{INT} x", "1" * 1000, 3),
        ("%{GREEDYDATA}x\\ny", "a" * 1000 + "\n" + "a" * 1000, 5),
        ("%{DATA}x", "a" * 1000, 3),
        ("%{UNIXPATH} x", "/" * 1000, 3),
        ("%{URIPATHPARAM} x", "/a" * 1000, 3),
        ("%{JAVACLASS}:", "a.b1." * 1000, 3),
        ("%{JAVASTACKTRACEPART}", " \t" * 1000, 3),
        ("%{QS}", '\\"' * 1000 + "\\'" * 1000, 2),
        ("%{QS} x", '"' + '\\"' * 1000 + '"', 2),
        ("%{SYSLOG5424SD}", "[" * 1000, 1),
        ("%{SYSLOG5424SD} x", "[a]" * 1000 + "[", 2),
        ("%{SYSLOG5424SD} x", "[" * 1000 + "\\\n[a]", 2),
        ("%{SYSLOG5424LINE}", "<1>1 - - - - - [" * 1000, 1),
        ("%{SYSLOG5424BASE}x", "<1>1 2020-01-01 00:00:00 - - - - [" * 1000, 1),
    ],
)
def test_takes_few_attempts(pattern, text, most):
    """An attempt reads the rest of a run, so one for each position would take quadratic time."""
    expression = expanded(pattern, LIBRARY).pattern.expression
    for in_bytes in (_Counted(expression.in_bytes), None):
        in_text = _Counted(re.compile(expression.in_bytes.pattern.decode()))
        plain = replace(
            expanded(pattern, LIBRARY).pattern, expression=Expression(0, {}, in_bytes, in_bytes, lambda c=in_text: c)
        )
        assert searching(pattern, LIBRARY, plain)(text.encode()) is None
        assert 1 <= (in_bytes or in_text).attempts <= most


class _Counted:
    """A compiled pattern that counts its attempts."""

    def __init__(self, compiled):
        self.pattern = compiled.pattern
        self.attempts = 0
        self._match = compiled.match

    def match(self, *arguments):
        self.attempts += 1
        return self._match(*arguments)


def _place(match):
    if match is None:
        return None
    return (match.in_text if isinstance(match, CharacterMatch) else match).span(), match.groups()


@pytest.mark.parametrize(
    "pattern",
    [
        "^%{NOTSPACE}",
        "x%{NOTSPACE}",
        "%{NOTSPACE}|x",
        "(%{NOTSPACE}|x)",
        "%{NOTSPACE}?x",
        "%{NOTSPACE}{0}x",
        "%{IPORHOST}x",
        "%{IPORHOST}%{WORD}",
        "%{NOTSPACE:a} \\k<a>",
        "%{IP} x",
    ],
)
def test_any_other_pattern_is_searched_by_re(pattern):
    plain = expanded(pattern, LIBRARY).pattern
    assert searching(pattern, LIBRARY, plain) is plain.search


def test_own_definitions_are_not_those_of_the_library():
    patterns = LIBRARY | {"IPV4": "x y"}
    plain = expanded("%{IPORHOST} -", patterns).pattern
    assert searching("%{IPORHOST} -", patterns, plain) is plain.search


def test_a_long_text_is_searched_in_linear_time(attributes_after, refusal_of):
    settings = "{patterns: ['%{COMMONAPACHELOG}']}"
    assert refusal_of(Grok, settings, b"a." * 8000) == "no_match"
    line = ("x" * 300 + ": 10.0.0.1" + LINE).encode()
    assert attributes_after(Grok, settings, line)["clientip"] == b"10.0.0.1"
